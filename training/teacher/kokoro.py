"""Kokoro-82M as a small batchable torch module; `teacher.port` fills it from the fp32 ONNX file.

`Kokoro.acoustic_features` turns phoneme ids and styles into the tensors at the generator's input (features, F0, style);
`Generator` is the iSTFTNet vocoder that the head replaces. A batch shares one phoneme string and durations.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SAMPLE_RATE = 24000
FRAME = 300
"""Samples per feature frame (80 frames a second)."""
STYLE = 128
"""The style's first half conditions decoder and generator, the second half prosody."""


class AdaIN(nn.Module):
    """Instance norm over the whole utterance, then a gain and offset from the style."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.fc = nn.Linear(STYLE, 2 * channels)

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        gain, offset = self.fc(style)[:, :, None].chunk(2, dim=1)
        return torch.addcmul(offset, 1 + gain, F.instance_norm(x, eps=1e-5))


class AdaResBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, upsample: bool = False) -> None:
        super().__init__()
        self.norm1, self.norm2 = AdaIN(inputs), AdaIN(outputs)
        self.conv1 = nn.Conv1d(inputs, outputs, 3, padding=1)
        self.conv2 = nn.Conv1d(outputs, outputs, 3, padding=1)
        self.conv1x1 = nn.Conv1d(inputs, outputs, 1, bias=False) if inputs != outputs else None
        self.pool = nn.ConvTranspose1d(inputs, inputs, 3, 2, 1, 1, groups=inputs) if upsample else None

    def forward(self, x: Tensor, style: Tensor, second: Tensor | None = None) -> Tensor:
        """`second` is the style of the second norm, where it is not the first's."""
        y = F.leaky_relu(self.norm1(x, style), 0.2)
        if self.pool is not None:
            y, x = self.pool(y), x.repeat_interleave(2, dim=2)
        y = self.conv2(F.leaky_relu(self.norm2(self.conv1(y), style if second is None else second), 0.2))
        if self.conv1x1 is not None:
            x = self.conv1x1(x)
        return (x + y) / math.sqrt(2)


class SnakeBlock(nn.Module):
    """Three dilated residual pairs with the periodic activation x + sin²(αx)/α."""

    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__()
        dilations = (1, 3, 5)
        self.convs1 = nn.ModuleList(
            nn.Conv1d(channels, channels, kernel, dilation=d, padding=d * (kernel - 1) // 2) for d in dilations
        )
        self.convs2 = nn.ModuleList(nn.Conv1d(channels, channels, kernel, padding="same") for _ in dilations)
        self.adain1 = nn.ModuleList(AdaIN(channels) for _ in dilations)
        self.adain2 = nn.ModuleList(AdaIN(channels) for _ in dilations)
        self.alpha1 = nn.ParameterList(torch.ones(1, channels, 1) for _ in dilations)
        self.alpha2 = nn.ParameterList(torch.ones(1, channels, 1) for _ in dilations)

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        for i in range(len(self.convs1)):
            y = self.convs1[i](snake(self.adain1[i](x, style), self.alpha1[i]))
            x = x + self.convs2[i](snake(self.adain2[i](y, style), self.alpha2[i]))
        return x


def snake(x: Tensor, alpha: Tensor) -> Tensor:
    return x + torch.sin(alpha * x).square() / alpha


class HarmonicSource(nn.Module):
    """Nine sines locked to F0, weighted and squashed. The ONNX graph adds no noise, so neither does this."""

    HARMONICS = 9

    def __init__(self) -> None:
        super().__init__()
        self.l_linear = nn.Linear(self.HARMONICS, 1)

    def forward(self, f0: Tensor) -> Tensor:
        harmonic = torch.arange(1, self.HARMONICS + 1, device=f0.device, dtype=torch.float64)
        cycles = torch.cumsum(f0.double() / SAMPLE_RATE, dim=1)[:, None] * harmonic[:, None] * FRAME
        phase = 2 * math.pi * F.interpolate(cycles, scale_factor=FRAME, mode="linear")
        voiced = (f0 > 10).repeat_interleave(FRAME, dim=1)[:, None]
        sines = 0.1 * torch.sin(phase).float() * voiced
        return torch.tanh(self.l_linear(sines.transpose(1, 2))).squeeze(2)


class Generator(nn.Module):
    N_FFT, HOP, BINS = 20, 5, 11

    def __init__(self) -> None:
        super().__init__()
        self.m_source = HarmonicSource()
        self.noise_convs = nn.ModuleList([nn.Conv1d(22, 256, 12, 6, 3), nn.Conv1d(22, 128, 1)])
        self.noise_res = nn.ModuleList([SnakeBlock(256, 7), SnakeBlock(128, 11)])
        self.ups = nn.ModuleList([nn.ConvTranspose1d(512, 256, 20, 10, 5), nn.ConvTranspose1d(256, 128, 12, 6, 3)])
        self.resblocks = nn.ModuleList(SnakeBlock(c, k) for c in (256, 128) for k in (3, 7, 11))
        self.conv_post = nn.Conv1d(128, 22, 7, padding=3)
        self.register_buffer("window", torch.hann_window(self.N_FFT), persistent=False)
        self.register_buffer("inverse_basis", torch.zeros(22, 1, self.N_FFT))
        self.register_buffer("silent_angles", torch.zeros(self.BINS))

    def source_features(self, f0: Tensor) -> Tensor:
        """Magnitudes and angles of the source's short-time spectrum.

        Where the source is constant (unvoiced) most bins are zero, and the graph feeds the angle of rounding
        noise to its convolutions; `silent_angles` holds what ONNX Runtime gets there. DC and Nyquist are real.
        """
        spectrum = torch.stft(
            self.m_source(f0),
            self.N_FFT,
            self.HOP,
            window=self.window,
            pad_mode="reflect",
            return_complex=True,
        )
        magnitude, angle = spectrum.abs(), spectrum.angle()
        dc = torch.where(spectrum.real[:, :1] < 0, math.pi, 0.0)
        nyquist = torch.where(spectrum.real[:, -1:] < 0, -math.pi, 0.0)
        angle = torch.cat([dc, angle[:, 1:-1], nyquist], dim=1)
        angle = torch.where(magnitude < 1e-6, self.silent_angles[:, None], angle)
        return torch.cat([magnitude, angle], dim=1)

    def forward(self, x: Tensor, f0: Tensor, style: Tensor) -> Tensor:
        source = self.source_features(f0)
        for stage in range(2):
            x = self.ups[stage](F.leaky_relu(x, 0.1))
            if stage == 1:
                x = F.pad(x, (1, 0), mode="reflect")
            x = x + self.noise_res[stage](self.noise_convs[stage](source), style)
            x = sum(self.resblocks[3 * stage + i](x, style) for i in range(3)) / 3
        x = self.conv_post(F.leaky_relu(x))
        magnitude, phase = torch.exp(x[:, : self.BINS]), torch.sin(x[:, self.BINS :])
        parts = torch.cat([magnitude * torch.cos(phase), magnitude * torch.sin(phase)], dim=1)
        # The exported graph overlap-adds without dividing by the summed window, which makes it 1.5 times
        # louder; the first and last half window are cut.
        wave = F.conv_transpose1d(parts, self.inverse_basis, stride=self.HOP) * (self.N_FFT / self.HOP)
        return wave[:, 0, self.N_FFT // 2 : -self.N_FFT // 2]


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode = AdaResBlock(514, 1024)
        self.decode = nn.ModuleList([AdaResBlock(1090, 1024) for _ in range(3)] + [AdaResBlock(1090, 512, True)])
        self.F0_conv = nn.Conv1d(1, 1, 3, 2, 1)
        self.N_conv = nn.Conv1d(1, 1, 3, 2, 1)
        self.asr_res = nn.Sequential(nn.Conv1d(512, 64, 1))
        self.generator = Generator()

    def features(self, text: Tensor, f0: Tensor, energy: Tensor, style: Tensor) -> Tensor:
        """`style` is [B, 128], or [B, 10, 128] with a style for each norm."""
        styles = style.unbind(1) if style.dim() == 3 else [style] * 10
        curves = [self.F0_conv(f0[:, None]), self.N_conv(energy[:, None])]
        skip = [self.asr_res(text), *curves]
        x = self.encode(torch.cat([text, *curves], dim=1), *styles[:2])
        for i, block in enumerate(self.decode, start=1):
            x = block(torch.cat([x, *skip], dim=1), *styles[2 * i : 2 * i + 2])
        return x


class Albert(nn.Module):
    """PL-BERT: one transformer layer applied twelve times."""

    def __init__(self) -> None:
        super().__init__()
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(178, 128),
                "position_embeddings": nn.Embedding(512, 128),
                "token_type_embeddings": nn.Embedding(2, 128),
                "LayerNorm": nn.LayerNorm(128, eps=1e-12),
            }
        )
        layer = nn.Module()
        layer.attention = nn.ModuleDict({name: nn.Linear(768, 768) for name in ("query", "key", "value", "dense")})
        layer.attention["LayerNorm"] = nn.LayerNorm(768, eps=1e-12)
        layer.ffn, layer.ffn_output = nn.Linear(768, 2048), nn.Linear(2048, 768)
        layer.full_layer_layer_norm = nn.LayerNorm(768, eps=1e-12)
        group = nn.Module()
        group.albert_layers = nn.ModuleList([layer])
        self.encoder = nn.Module()
        self.encoder.embedding_hidden_mapping_in = nn.Linear(128, 768)
        self.encoder.albert_layer_groups = nn.ModuleList([group])

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """`mask` [B, 1, 1, N] is True where there is a token; None where nothing is padded."""
        embed = self.embeddings
        position = torch.arange(ids.shape[1], device=ids.device)
        x = embed["word_embeddings"](ids) + embed["position_embeddings"](position)[None]
        x = embed["LayerNorm"](x + embed["token_type_embeddings"].weight[0])
        x = self.encoder.embedding_hidden_mapping_in(x)
        layer = self.encoder.albert_layer_groups[0].albert_layers[0]
        attention = layer.attention
        for _ in range(12):
            q, k, v = (attention[n](x).unflatten(2, (12, 64)).transpose(1, 2) for n in ("query", "key", "value"))
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)
            x = attention["LayerNorm"](x + attention["dense"](mixed))
            x = layer.full_layer_layer_norm(x + layer.ffn_output(F.gelu(layer.ffn(x), approximate="tanh")))
        return x


class ChannelNorm(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x.transpose(1, 2), self.gamma.shape, self.gamma, self.beta).transpose(1, 2)


def bidirectional(inputs: int) -> nn.LSTM:
    return nn.LSTM(inputs, 256, batch_first=True, bidirectional=True)


class TextEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(178, 512)
        self.cnn = nn.ModuleList(
            nn.Sequential(nn.Conv1d(512, 512, 5, padding=2), ChannelNorm(512), nn.LeakyReLU(0.2)) for _ in range(3)
        )
        self.lstm = bidirectional(512)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids).transpose(1, 2)
        for layer in self.cnn:
            x = layer(x)
        return self.lstm(x.transpose(1, 2))[0].transpose(1, 2)


class AdaLayerNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(STYLE, 1024)

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        gain, offset = self.fc(style)[:, None].chunk(2, dim=2)
        return (1 + gain) * F.layer_norm(x, (512,)) + offset


class DurationEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstms = nn.ModuleList(m for _ in range(3) for m in (bidirectional(640), AdaLayerNorm()))

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        expanded = style[:, None].expand(-1, x.shape[1], -1)
        x = torch.cat([x, expanded], dim=2)
        for lstm, norm in zip(self.lstms[::2], self.lstms[1::2], strict=True):
            x = torch.cat([norm(lstm(x)[0], style), expanded], dim=2)
        return x


class Predictor(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.text_encoder = DurationEncoder()
        self.lstm, self.shared = bidirectional(640), bidirectional(640)
        self.duration_proj = nn.Module()
        self.duration_proj.linear_layer = nn.Linear(512, 50)
        self.F0, self.N = (
            nn.ModuleList([AdaResBlock(512, 512), AdaResBlock(512, 256, True), AdaResBlock(256, 256)]) for _ in "FN"
        )
        self.F0_proj, self.N_proj = nn.Conv1d(256, 1, 1), nn.Conv1d(256, 1, 1)

    def durations(self, encoded: Tensor) -> Tensor:
        return torch.sigmoid(self.duration_proj.linear_layer(self.lstm(encoded)[0])).sum(dim=2)

    def curves(self, encoded: Tensor, style: Tensor) -> tuple[Tensor, Tensor]:
        f0 = energy = self.shared(encoded)[0].transpose(1, 2)
        for f0_block, energy_block in zip(self.F0, self.N, strict=True):
            f0, energy = f0_block(f0, style), energy_block(energy, style)
        return self.F0_proj(f0).squeeze(1), self.N_proj(energy).squeeze(1)


class Kokoro(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bert = Albert()
        self.bert_encoder = nn.Linear(768, 512)
        self.predictor = Predictor()
        self.text_encoder = TextEncoder()
        self.decoder = Decoder()

    def acoustic_features(
        self,
        ids: Tensor,
        style: Tensor,
        speed: float = 1.0,
        f0_scale: Tensor | None = None,
        layer_offsets: Tensor | None = None,
    ) -> tuple:
        """Features, F0 and durations of one phoneme string in a batch of styles [B, 256].

        The batch shares the mean of its predicted durations, so that its items have one length.
        `layer_offsets` [B, 10, 128] are added to the timbre of each norm.
        """
        prosody = style[:, STYLE:]
        encoded = self.predictor.text_encoder(self.bert_encoder(self.bert(ids)).expand(len(style), -1, -1), prosody)
        frames = torch.round(self.predictor.durations(encoded).mean(dim=0) / speed).clamp(min=1).long()
        index = torch.repeat_interleave(torch.arange(len(frames), device=frames.device), frames)
        f0, energy = self.predictor.curves(encoded[:, index], prosody)
        if f0_scale is not None:
            f0 = f0 * f0_scale[:, None]
        text = self.text_encoder(ids)[:, :, index].expand(len(style), -1, -1)
        timbre = style[:, :STYLE] if layer_offsets is None else style[:, None, :STYLE] + layer_offsets
        return self.decoder.features(text, f0, energy, timbre), f0, frames

    def forward(self, ids: Tensor, style: Tensor, speed: float = 1.0) -> Tensor:
        features, f0, _ = self.acoustic_features(ids, style, speed)
        return self.decoder.generator(features, f0, style[:, :STYLE])
