"""The networks: phonemes and a voice in, samples out, no recurrent layers.

    tokens ──▶ Prosody ──▶ durations, summary of the curves               once a sentence
           └─▶ Prosody's frame blocks ──▶ F0 and energy                   window by window
    tokens ──▶ TextTower ──▶ articulation                                 window by window
    both, and the voice ──▶ Decoder ──▶ features ──▶ Head ──▶ samples     window by window

Only the attention of `Prosody` sees the whole sentence, at the rate of phonemes. Everything at the rate of frames is
convolutional: a window's result equals the whole clip's when `context` frames are given to either side. Padded
positions are zeroed before every convolution, so that a batch gives what each item alone gives.
"""

import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from head import model as shipped
from head.model import BINS, FEATURES, HOP, N_FFT, NOISE_FRAMES, SUBFRAMES, ConvNeXtBlock, HeadSize, pulse_train
from teacher.kokoro import STYLE
from teacher.styles import LAYERS

SYMBOLS = 178
VOCODER_EMBEDDING = HeadSize.condition
MASKS = SUBFRAMES * 4 * BINS
CURVE_SUMMARY = 5
SUMMARY = SYMBOLS + CURVE_SUMMARY + 1
PLACES = 5
MAX_POSITIONS = 512
"""Tokens, with the padding at both ends."""

Film = list[tuple[Tensor, Tensor]]
"""A gain and an offset for each block, [B, 1, C]."""


@dataclass(frozen=True)
class ProsodySize:
    width: int = 384
    inner: int = 1024
    heads: int = 6
    layers: int = 6
    kernel: int = 5
    frame_inner: int = 768
    frame_layers: int = 6
    frame_kernel: int = 9
    condition: int = 256


@dataclass(frozen=True)
class DecoderSize:
    text_width: int = 384
    text_inner: int = 768
    text_layers: int = 4
    width: int = 512
    inner: int = 1024
    layers: int = 6
    kernel: int = 5
    condition: int = 512


class MaskedBlock(ConvNeXtBlock):
    """The head's block, for batches of different lengths; gain and offset are optional."""

    def __init__(self, width: int, inner: int, kernel: int) -> None:
        super().__init__(HeadSize(width=width, inner=inner, kernel=kernel))

    def forward(self, x: Tensor, gain: Tensor | None, offset: Tensor | None, mask: Tensor | None) -> Tensor:
        """x [B, T, C]; gain, offset [B, 1, C]; mask [B, T, 1] or None where nothing is padded."""
        y = self.depthwise(x.transpose(1, 2)).transpose(1, 2)
        y = F.layer_norm(y, self.scale.shape)
        if gain is not None:
            y = y * gain + offset
        x = x + self.scale * self.contract(F.gelu(self.expand(y), approximate="tanh"))
        return x if mask is None else x * mask


class Attention(nn.Module):
    """Over the whole sentence, with rotary positions: only distances count, so long texts need not be learned."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        nn.init.zeros_(self.out.bias)
        half = width // heads // 2
        angle = torch.outer(torch.arange(MAX_POSITIONS).float(), 10000.0 ** (-torch.arange(half) / half))
        self.register_buffer("cosine", torch.cos(angle), persistent=False)
        self.register_buffer("sine", torch.sin(angle), persistent=False)

    def forward(self, x: Tensor, gain: Tensor, offset: Tensor, mask: Tensor | None) -> Tensor:
        """`mask` [B, 1, 1, T] is added to the scores."""
        batch, count, _ = x.shape
        size = self.width // self.heads
        y = F.layer_norm(x, (self.width,)) * gain + offset
        q, k, v = self.qkv(y).view(batch, count, 3, self.heads, size).permute(2, 0, 3, 1, 4).unbind(0)
        q, k = self._rotate(q, count), self._rotate(k, count)
        if torch.onnx.is_in_onnx_export():
            scores = q @ k.transpose(2, 3) / math.sqrt(size)
            mixed = torch.softmax(scores if mask is None else scores + mask, dim=3) @ v
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else mask.to(q.dtype))
        return x + self.out(mixed.transpose(1, 2).reshape(batch, count, self.width))

    def _rotate(self, x: Tensor, count: int) -> Tensor:
        cosine, sine = self.cosine[:count].to(x.dtype), self.sine[:count].to(x.dtype)
        a, b = x.chunk(2, dim=3)
        return torch.cat([a * cosine - b * sine, a * sine + b * cosine], dim=3)


class FilmLayer(nn.Module):
    """Gains and offsets for a stack of blocks, from one condition."""

    def __init__(self, condition: int, count: int, width: int) -> None:
        super().__init__()
        self.count, self.width = count, width
        self.linear = nn.Linear(condition, count * 2 * width)
        nn.init.normal_(self.linear.weight, std=0.01)
        nn.init.zeros_(self.linear.bias)

    def forward(self, condition: Tensor) -> Film:
        # Three dimensions: exported as MatMul, which can be quantised, not as Gemm.
        pairs = self.linear(condition[:, None]).view(-1, self.count, 2, 1, self.width)
        return [(1 + pairs[:, i, 0], pairs[:, i, 1]) for i in range(self.count)]


class InputNorm(nn.Module):
    """Subtracts a fixed mean and divides by a fixed scale; both are measured before training."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("scale", torch.ones(channels))

    def measure(self, values: Tensor) -> None:
        """`values` [N, channels]"""
        self.mean.copy_(values.mean(dim=0))
        self.scale.copy_(values.std(dim=0).clamp(min=1e-4))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.scale


def encode_place(place: Tensor, duration: Tensor) -> Tensor:
    """Where in its phoneme a frame lies. place, duration [B, T] in frames of 25 ms → [B, T, 5]"""
    place, duration = place.float() + 0.5, duration.float().clamp(min=1)
    after = duration - place
    parts = [place / duration, torch.log(duration), 1 / (1 + place), 1 / (1 + after), torch.log1p(place)]
    return torch.stack(parts, dim=2)


def expand_tokens(durations: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Token index and place in the token of each of `count` frames. durations [B, N], whole numbers."""
    ends = torch.cumsum(durations, dim=1)
    frame = torch.arange(count, device=durations.device)
    token = (frame[None, :, None] >= ends[:, None, :]).sum(dim=2).clamp(max=durations.shape[1] - 1)
    place = frame[None] - (ends - durations).gather(1, token)
    return token, place


class Prosody(nn.Module):
    """Durations of the phonemes; F0 and energy of the frames, given durations."""

    def __init__(self, size: ProsodySize | None = None) -> None:
        super().__init__()
        self.size = size = size or ProsodySize()
        self.style = InputNorm(STYLE)
        self.embedding = nn.Embedding(SYMBOLS, size.width)
        self.condition = nn.Linear(STYLE, size.condition)
        self.film = FilmLayer(size.condition, 2 * size.layers + size.frame_layers, size.width)
        self.attention = nn.ModuleList(Attention(size.width, size.heads) for _ in range(size.layers))
        self.blocks = nn.ModuleList(MaskedBlock(size.width, size.inner, size.kernel) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width)
        self.duration = nn.Linear(size.width, 1)
        self.place = nn.Linear(PLACES, size.width)
        self.entry = nn.Linear(size.width, size.width)
        self.frame_blocks = nn.ModuleList(
            MaskedBlock(size.width, size.frame_inner, size.frame_kernel) for _ in range(size.frame_layers)
        )
        self.frame_norm = nn.LayerNorm(size.width)
        self.curve = nn.Linear(size.width, 6)
        self.frame_context = size.frame_layers * (size.frame_kernel // 2)
        self.summary_entry = nn.Linear(size.width, size.condition)
        self.summary_exit = nn.Linear(size.condition, CURVE_SUMMARY)
        self.summary_norm = InputNorm(CURVE_SUMMARY)
        nn.init.normal_(self.embedding.weight, std=0.5)
        nn.init.constant_(self.duration.bias, 2.0)

    def make_film(self, style: Tensor) -> Film:
        """style [B, 128]: the half for prosody."""
        return self.film(F.silu(self.condition(self.style(style))))

    def encode(self, ids: Tensor, film: Film, mask: Tensor | None) -> Tensor:
        """ids [B, N]; mask [B, N], True where there is a token, or None."""
        x = self.embedding(ids)
        present = scores = None
        if mask is not None:
            present = mask[:, :, None].to(x.dtype)
            x = x * present
            scores = torch.zeros(mask.shape, device=x.device).masked_fill(~mask, -1e4)[:, None, None]
        for i, (attention, block) in enumerate(zip(self.attention, self.blocks, strict=True)):
            x = attention(x, *film[2 * i], None if scores is None else scores.to(x.dtype))
            x = block(x if present is None else x * present, *film[2 * i + 1], present)
        return self.norm(x)

    def predict_durations(self, encoded: Tensor) -> Tensor:
        """[B, N], in frames of 25 ms, not yet rounded."""
        return F.softplus(self.duration(encoded).squeeze(2))

    def predict_summary(self, encoded: Tensor, durations: Tensor) -> Tensor:
        """What `summarise_curves` will find. durations [B, N], zero where there is no token."""
        weights = durations.to(encoded.dtype)[:, :, None]
        pooled = (encoded * weights).sum(dim=1) / weights.sum(dim=1)
        normalised = self.summary_exit(F.silu(self.summary_entry(pooled))).float()
        return normalised * self.summary_norm.scale + self.summary_norm.mean

    def predict_curves(
        self, encoded: Tensor, token: Tensor, place: Tensor, duration: Tensor, film: Film, mask: Tensor | None
    ) -> Tensor:
        """Pitch height, voicing and energy [B, 2 T, 3] of the frames of 25 ms given, for `decode_curves`.

        token, place, duration [B, T]: of each frame, the index of its phoneme, its place in it, and how long that is.
        """
        text = self.entry(encoded).gather(1, token[:, :, None].expand(-1, -1, encoded.shape[2]))
        return self.finish_curves(text, place, duration, film[2 * self.size.layers :], mask)

    def finish_curves(self, text: Tensor, place: Tensor, duration: Tensor, film: Film, mask: Tensor | None) -> Tensor:
        """text [B, T, width]: the encoding of each frame's phoneme. A window needs `frame_context` to either side."""
        x = text + self.place(encode_place(place, duration).to(text.dtype))
        present = None if mask is None else mask[:, :, None].to(x.dtype)
        x = x if present is None else x * present
        for block, (gain, offset) in zip(self.frame_blocks, film, strict=True):
            x = block(x, gain, offset, present)
        return self.curve(self.frame_norm(x)).float().view(x.shape[0], -1, 3)


def decode_curves(outputs: Tensor, soft: bool = False) -> tuple[Tensor, Tensor]:
    """F0 in Hz (near zero where unvoiced) and energy, both [B, 2 T].

    `soft`, for training: F0 is lowered where voicing is in doubt. Speech needs a decision, since half of a pitch is
    heard as a break in the voice.
    """
    voicing = 4 * outputs[..., 1] if soft else 40 * (outputs[..., 1] + 0.25)
    # Voicing and height are predicted apart: their product falls to zero as sharply as the teacher's curve.
    f0 = 150 * torch.exp(outputs[..., 0].clamp(-2, 2)) * torch.sigmoid(voicing)
    return f0, 5 * outputs[..., 2]


class TextTower(nn.Module):
    """Articulation: a phoneme among its neighbours, independent of the voice."""

    def __init__(self, size: DecoderSize) -> None:
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, size.text_width)
        self.blocks = nn.ModuleList(
            MaskedBlock(size.text_width, size.text_inner, size.kernel) for _ in range(size.text_layers)
        )
        self.norm = nn.LayerNorm(size.text_width)
        self.context = size.text_layers * (size.kernel // 2)
        nn.init.normal_(self.embedding.weight, std=0.5)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """ids [B, N] → [B, N, width]"""
        x = self.embedding(ids)
        present = None if mask is None else mask[:, :, None].to(x.dtype)
        x = x if present is None else x * present
        for block in self.blocks:
            x = block(x, None, None, present)
        return self.norm(x)


def encode_curves(f0: Tensor, energy: Tensor) -> Tensor:
    """f0, energy [B, 2 T] → [B, T, 6]: both halves of each frame of 25 ms."""
    voiced = (f0 > 10).to(f0.dtype)
    pitch = torch.log(f0.clamp(min=10) / 150) * voiced
    return torch.stack([voiced, pitch, energy], dim=2).reshape(f0.shape[0], -1, 6)


def summarise_curves(f0: Tensor, energy: Tensor, mask: Tensor | None = None) -> Tensor:
    """Share of voiced frames, mean and spread of pitch, mean and spread of energy. [B, 2 T] twice → [B, 5]

    mask [B, 2 T] or None where nothing is padded.
    """
    present = torch.ones_like(f0) if mask is None else mask.to(f0.dtype)
    count = present.sum(dim=1)
    voiced = (f0 > 10).to(f0.dtype) * present
    pitch = torch.log(f0.clamp(min=10) / 150)
    share = voiced.sum(dim=1) / count
    mean = (pitch * voiced).sum(dim=1) / count / (share + 1e-3)
    spread = torch.sqrt(((pitch - mean[:, None]).square() * voiced).sum(dim=1) / count / (share + 1e-3) + 1e-6)
    energy_mean = (energy * present).sum(dim=1) / count
    energy_spread = torch.sqrt(((energy - energy_mean[:, None]).square() * present).sum(dim=1) / count + 1e-6)
    return torch.stack([share, mean, spread, energy_mean, energy_spread], dim=1)


def summarise(ids: Tensor, durations: Tensor, curves: Tensor) -> Tensor:
    """The utterance, for what the teacher's instance norms do: shares of the phonemes in its time, curves, length.

    ids, durations [B, N], durations zero where there is no token; curves [B, 5], of `summarise_curves` → [B, 184]
    """
    weights = durations.to(curves.dtype)
    total = weights.sum(dim=1, keepdim=True)
    shares = torch.zeros(len(ids), SYMBOLS, device=ids.device, dtype=curves.dtype).scatter_add(1, ids, weights)
    return torch.cat([10 * shares / total, curves, torch.log(total / 160)], dim=1)


class Decoder(nn.Module):
    """The text tower's output, F0, energy and the voice become the head's features and its statistics."""

    def __init__(self, size: DecoderSize | None = None) -> None:
        super().__init__()
        self.size = size = size or DecoderSize()
        self.text = TextTower(size)
        self.style = InputNorm(STYLE)
        self.summary = InputNorm(SUMMARY)
        self.energy = InputNorm(1)
        self.entry = nn.Linear(size.text_width + PLACES + 6, size.width)
        self.condition = nn.Linear(LAYERS * STYLE + SUMMARY, size.condition)
        self.film = FilmLayer(size.condition, size.layers, size.width)
        self.statistics = nn.Linear(size.condition, 2 * FEATURES)
        self.blocks = nn.ModuleList(MaskedBlock(size.width, size.inner, size.kernel) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width)
        self.features = nn.Linear(size.width, 2 * FEATURES)
        self.context = size.layers * (size.kernel // 2)

    def make_film(self, timbre: Tensor, summary: Tensor) -> tuple[Film, Tensor]:
        """timbre [B, 11, 128], of each norm of the teacher's decoder and of the vocoder → film, statistics [B, 1024]"""
        inputs = torch.cat([self.style(timbre).flatten(1), self.summary(summary).clamp(-5, 5)], dim=1)
        condition = F.silu(self.condition(inputs))
        return self.film(condition), self.statistics(condition)

    def forward(
        self, text: Tensor, place: Tensor, duration: Tensor, f0: Tensor, energy: Tensor, film: Film, mask: Tensor | None
    ) -> Tensor:
        """text [B, T, width] at 40 Hz, place, duration [B, T], f0, energy [B, 2 T] → features [B, 2 T, 512]"""
        curves = encode_curves(f0, (energy - self.energy.mean) / self.energy.scale)
        places = encode_place(place, duration)
        x = self.entry(torch.cat([text, places.to(text.dtype), curves.to(text.dtype)], dim=2))
        present = None if mask is None else mask[:, :, None].to(x.dtype)
        x = x if present is None else x * present
        for block, (gain, offset) in zip(self.blocks, film, strict=True):
            x = block(x, gain, offset, present)
        x = self.features(self.norm(x))
        return x.view(x.shape[0], -1, FEATURES)


class Head(shipped.Head):
    """The shipped head with fewer blocks: features come normalised, statistics are predicted, masks have an offset."""

    KEPT_BLOCKS = (0, 1, 2, 4, 6, 7)
    """Which of the shipped head's eight blocks it starts from."""

    def __init__(self, size: HeadSize | None = None, dense_transforms: bool = False) -> None:
        super().__init__(size or HeadSize(blocks=len(self.KEPT_BLOCKS)), dense_transforms)
        self.blocks = nn.ModuleList(
            MaskedBlock(self.size.width, self.size.inner, self.size.kernel) for _ in range(self.size.blocks)
        )
        if dense_transforms:
            self._fold_transforms()

    def _fold_transforms(self) -> None:
        """Halves of the matrices: cosines are even in time and sines odd, and so is the product with the window."""
        middle = N_FFT // 2
        parts = {
            "analysis_even": self.analysis[: middle + 1, :BINS],
            "analysis_odd": self.analysis[1:middle, BINS:],
            "synthesis_even": self.synthesis[:BINS, : middle + 1],
            "synthesis_odd": self.synthesis[BINS:, 1:middle],
        }
        for name, part in parts.items():
            self.register_buffer(name, part.contiguous(), persistent=False)

    def _analyse(self, wave: Tensor) -> tuple[Tensor, Tensor]:
        if not self.dense_transforms:
            return super()._analyse(wave)
        batch, middle = len(wave), N_FFT // 2
        frames = F.pad(wave, (225, 225))
        blocks = frames[:, : frames.shape[1] // HOP * HOP].view(batch, -1, HOP)
        count = blocks.shape[1] - 3
        frames = torch.cat([blocks[:, i : i + count] for i in range(4)], dim=2)
        before, after = frames[..., 1:middle], frames[..., middle + 1 :].flip(2)
        even = torch.cat([frames[..., :1], before + after, frames[..., middle : middle + 1]], dim=2)
        shape = (batch, count // SUBFRAMES, SUBFRAMES, BINS)
        return (even @ self.analysis_even).view(shape), ((before - after) @ self.analysis_odd).view(shape)

    def _synthesise(self, real: Tensor, imaginary: Tensor) -> Tensor:
        if not self.dense_transforms:
            return super()._synthesise(real, imaginary)
        middle = N_FFT // 2
        even, odd = real.flatten(1, 2) @ self.synthesis_even, imaginary.flatten(1, 2) @ self.synthesis_odd
        inner = even[..., 1:middle]
        halves = [even[..., :1], inner + odd, even[..., middle:], (inner - odd).flip(2)]
        frames = torch.cat(halves, dim=2)
        batch, count = frames.shape[:2]
        quarters = frames.view(batch, count, 4, HOP).unbind(2)
        added = sum(F.pad(quarter, (0, 0, i, 3 - i)) for i, quarter in enumerate(quarters))
        return added.flatten(1)[:, 225 : 225 + count * HOP]

    def start_from(self, head: shipped.Head) -> None:
        """Takes over the shipped head's weights, so that vocoder embeddings of existing voices keep their meaning."""
        state, source = self.state_dict(), head.state_dict()
        for name in state:
            if name.startswith("blocks."):
                _, number, rest = name.split(".", 2)
                state[name] = source[f"blocks.{self.KEPT_BLOCKS[int(number)]}.{rest}"]
            elif name.startswith("film."):
                parts = source[name].unflatten(0, (head.size.blocks, 2 * self.size.width))
                state[name] = parts[list(self.KEPT_BLOCKS)].flatten(0, 1)
            else:
                state[name] = source[name]
        self.load_state_dict(state)

    def make_film(self, style: Tensor, statistics: Tensor, vocoder_embedding: Tensor | None) -> Film:
        """style [B, 128]; statistics [B, 1024], as the decoder predicts them; vocoder_embedding [B, 256]"""
        style = (style - self.style_mean) / self.style_scale
        condition = F.silu(self.condition(torch.cat([style, statistics], dim=1)))
        if vocoder_embedding is not None:
            condition = condition + vocoder_embedding
        pairs = self.film(condition).view(-1, self.size.blocks, 2, 1, self.size.width)
        return [(1 + pairs[:, i, 0], pairs[:, i, 1]) for i in range(self.size.blocks)]

    def forward(  # type: ignore[override]
        self,
        features: Tensor,
        f0: Tensor,
        phase: Tensor,
        film: Film,
        position: Tensor,
        mask_offset: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """features [B, T, 512], normalised; f0, phase [B, T]; position [B]; mask_offset [B, 2408] → [B, 300 T]

        `mask_offset` is added to the spectral masks of every frame; None or zero for built-in voices. `mask` [B, T, 1]
        or None: which frames there are.
        """
        voiced = (f0 > 10).to(f0.dtype)
        pitch = torch.log(f0.clamp(min=10) / 150) * voiced
        angle = 2 * math.pi * phase
        curves = torch.stack([voiced, pitch, voiced * torch.cos(angle), voiced * torch.sin(angle)], dim=2)
        x = self.entry(torch.cat([features, curves.to(features.dtype)], dim=2))
        present = None if mask is None else mask.to(x.dtype)
        x = x if present is None else x * present
        for block, (gain, offset) in zip(self.blocks, film, strict=True):
            x = block(x, gain, offset, present)
        return self._mask_sources(self.norm(x), f0, phase, position, mask_offset)

    def _mask_sources(
        self, hidden: Tensor, f0: Tensor, phase: Tensor, position: Tensor, mask_offset: Tensor | None
    ) -> Tensor:
        """As in the shipped head, with the offset on the masks."""
        batch, count = f0.shape
        with torch.autocast(hidden.device.type, enabled=False):
            hidden = hidden.float()
            masks = self.masks(hidden)
            if mask_offset is not None:
                masks = masks + mask_offset[:, None]
            level, real, imaginary, noise_level = masks.view(batch, count, SUBFRAMES, 4, BINS).unbind(3)
            extra = self.additive(F.gelu(self.additive_entry(hidden), approximate="tanh"))
            extra_real, extra_imaginary = extra.view(batch, count, SUBFRAMES, 2, BINS).unbind(3)
            pulse_real, pulse_imaginary = self._analyse(pulse_train(f0, phase))
            place = (position[:, None] + torch.arange(count, device=f0.device)) % NOISE_FRAMES
            noise_real, noise_imaginary = self.noise[place].unbind(3)
            level, noise_level = torch.exp(level.clamp(max=6)), torch.exp(noise_level.clamp(max=4))
            return self._synthesise(
                level * (real * pulse_real - imaginary * pulse_imaginary)
                + noise_level * (noise_real + 20 * extra_real),
                level * (real * pulse_imaginary + imaginary * pulse_real)
                + noise_level * (noise_imaginary + 20 * extra_imaginary),
            )


def copy_with_masks(head: shipped.Head) -> Head:
    """The shipped head with all of its blocks, for batches of different lengths."""
    copy = Head(head.size).to(head.feature_mean.device)
    copy.load_state_dict(head.state_dict())
    return copy.requires_grad_(False)


def normalise_statistics(head: shipped.Head, features: Tensor, present: Tensor) -> Tensor:
    """The statistics that the shipped head's condition takes, of features [B, 512, T] as the teacher makes them.

    present [B, T]: which frames there are.
    """
    mask = present[:, None].to(features.dtype)
    count = mask.sum(dim=2)
    mean = (features * mask).sum(dim=2) / count
    deviation = torch.sqrt(((features - mean[..., None]) * mask).square().sum(dim=2) / count)
    mean = (mean - head.feature_mean) / head.feature_scale
    return torch.cat([mean, torch.log(deviation / head.feature_scale + 1e-3)], dim=1)


def save(name: str, module: nn.Module, folder: Path) -> None:
    """Weights in fp16 with the size, as NAME.pt."""
    weights = {k: v.half() if v.is_floating_point() else v for k, v in module.state_dict().items()}
    partial = folder / f"{name}.partial"
    torch.save({name: {"size": asdict(module.size), "weights": weights}}, partial)
    # Renamed when complete: an interrupted training leaves the last whole checkpoint.
    partial.replace(folder / f"{name}.pt")


def load(name: str, folder: Path, dense_transforms: bool = False) -> nn.Module:
    """The network of that name (prosody, decoder or head) in the folder of a run."""
    saved = torch.load(folder / f"{name}.pt", map_location="cpu")[name]
    module: nn.Module
    if name == "prosody":
        module = Prosody(ProsodySize(**saved["size"]))
    elif name == "decoder":
        module = Decoder(DecoderSize(**saved["size"]))
    else:
        module = Head(HeadSize(**saved["size"]), dense_transforms)
    weights = {k: v.float() if v.is_floating_point() else v for k, v in saved["weights"].items()}
    missing, unexpected = module.load_state_dict(weights, strict=False)
    # The first training had no summary of the curves.
    if unexpected or any(not key.startswith("summary") for key in missing):
        raise ValueError(f"{name}.pt is of another network: {missing}, {unexpected}")
    return module.eval()
