"""The teacher for batches of different texts, exactly as it speaks each of them alone."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from acoustic.model import expand_tokens
from teacher.kokoro import AdaIN, AdaResBlock, Kokoro, SnakeBlock, snake


class BatchedProsody:
    """Durations, F0 and energy of many texts at once, each in its own voice."""

    def __init__(self, teacher: Kokoro) -> None:
        self.teacher = teacher

    @torch.no_grad()
    def predict(
        self, ids: Tensor, lengths: Tensor, style: Tensor, speed: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """ids [B, N] padded with zeros, lengths [B] on the CPU, style [B, 128] (the half for prosody), speed [B].

        Durations in frames of 25 ms as predicted and, at this speed, rounded [B, N]; F0 and energy [B, 2 T].
        """
        predictor = self.teacher.predictor
        present = (torch.arange(ids.shape[1])[None] < lengths[:, None]).to(ids.device)
        x = self.teacher.bert_encoder(self.teacher.bert(ids, present[:, None, None]))
        expanded = style[:, None].expand(-1, x.shape[1], -1)
        x = torch.cat([x, expanded], dim=2)
        layers = predictor.text_encoder.lstms
        for lstm, norm in zip(layers[::2], layers[1::2], strict=True):
            x = torch.cat([norm(_run_lstm(lstm, x, lengths), style), expanded], dim=2)
        logits = predictor.duration_proj.linear_layer(_run_lstm(predictor.lstm, x, lengths))
        predicted = torch.sigmoid(logits).sum(dim=2) * present
        spoken = predicted if speed is None else predicted / speed[:, None]
        rounded = torch.round(spoken).clamp(min=1).long() * present
        frames = rounded.sum(dim=1)
        count = int(frames.max())
        token, _ = expand_tokens(rounded, count)
        x = x.gather(1, token[:, :, None].expand(-1, -1, x.shape[2]))
        x = _run_lstm(predictor.shared, x, frames.cpu()).transpose(1, 2)
        mask = (torch.arange(count, device=ids.device)[None] < frames[:, None])[:, None].float()
        f0 = _predict_curve(predictor.F0, predictor.F0_proj, x, style, mask)
        energy = _predict_curve(predictor.N, predictor.N_proj, x, style, mask)
        return predicted, rounded, f0, energy


class BatchedSpeech:
    """Features and speech of many texts at once, each in its own voice, at given durations, F0 and energy."""

    def __init__(self, teacher: Kokoro) -> None:
        self.teacher = teacher

    @torch.no_grad()
    def make_features(
        self, ids: Tensor, lengths: Tensor, durations: Tensor, f0: Tensor, energy: Tensor, timbre: Tensor
    ) -> Tensor:
        """ids, durations [B, N], f0, energy [B, 2 T] padded with zeros, timbre [B, 10, 128] → [B, 512, 2 T]"""
        decoder = self.teacher.decoder
        frames = durations.sum(dim=1)
        count = f0.shape[1] // 2
        mask = (torch.arange(count, device=ids.device)[None] < frames[:, None])[:, None].float()
        token, _ = expand_tokens(durations, count)
        text = self._encode_text(ids, lengths)
        text = text.gather(2, token[:, None].expand(-1, text.shape[1], -1)) * mask
        curves = [decoder.F0_conv(f0[:, None]) * mask, decoder.N_conv(energy[:, None]) * mask]
        skip = [decoder.asr_res(text) * mask, *curves]
        styles = timbre.unbind(1)
        x, _ = _apply_block(decoder.encode, torch.cat([text, *curves], dim=1), styles[0], mask, styles[1])
        for i, block in enumerate(decoder.decode, start=1):
            x = torch.cat([x * mask, *skip], dim=1)
            x, last = _apply_block(block, x, styles[2 * i], mask, styles[2 * i + 1])
        return x * last

    @torch.no_grad()
    def vocode(self, features: Tensor, f0: Tensor, style: Tensor, lengths: Tensor) -> Tensor:
        """features [B, 512, 2 T], f0 [B, 2 T], style [B, 128], lengths [B] in frames of 12.5 ms → [B, 600 T]

        The last few samples of a clip may differ from the teacher's: alone, its source is mirrored there.
        """
        generator = self.teacher.decoder.generator
        source = generator.source_features(f0)
        source = source * _make_mask(60 * lengths + 1, source.shape[2])
        x = features
        for stage, (rate, extra) in enumerate(((10, 0), (60, 1))):
            x = generator.ups[stage](F.leaky_relu(x, 0.1))
            if stage == 1:
                x = F.pad(x, (1, 0), mode="reflect")
            mask = _make_mask(rate * lengths + extra, x.shape[2])
            added = generator.noise_convs[stage](source) * mask
            x = (x * mask) + _apply_snakes(generator.noise_res[stage], added, style, mask)
            x = sum(_apply_snakes(generator.resblocks[3 * stage + i], x, style, mask) for i in range(3)) / 3
        x = generator.conv_post(F.leaky_relu(x))
        magnitude, phase = torch.exp(x[:, : generator.BINS]), torch.sin(x[:, generator.BINS :])
        parts = torch.cat([magnitude * torch.cos(phase), magnitude * torch.sin(phase)], dim=1) * mask
        wave = F.conv_transpose1d(parts, generator.inverse_basis, stride=generator.HOP)
        wave = wave[:, 0, generator.N_FFT // 2 : -generator.N_FFT // 2] * (generator.N_FFT / generator.HOP)
        return wave * _make_mask(300 * lengths, wave.shape[1]).squeeze(1)

    def _encode_text(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """[B, 512, N]"""
        encoder = self.teacher.text_encoder
        mask = (torch.arange(ids.shape[1])[None] < lengths[:, None]).to(ids.device)[:, None].float()
        x = encoder.embedding(ids).transpose(1, 2) * mask
        for layer in encoder.cnn:
            x = layer(x) * mask
        return _run_lstm(encoder.lstm, x.transpose(1, 2), lengths).transpose(1, 2)


def _make_mask(lengths: Tensor, count: int) -> Tensor:
    """[B, 1, count]"""
    return (torch.arange(count, device=lengths.device)[None] < lengths[:, None])[:, None].float()


def _apply_snakes(block: SnakeBlock, x: Tensor, style: Tensor, mask: Tensor) -> Tensor:
    for i in range(len(block.convs1)):
        y = snake(_apply_norm(block.adain1[i], x, style, mask), block.alpha1[i]) * mask
        y = block.convs1[i](y) * mask
        y = snake(_apply_norm(block.adain2[i], y, style, mask), block.alpha2[i]) * mask
        x = x + block.convs2[i](y) * mask
    return x


def _run_lstm(lstm: nn.LSTM, x: Tensor, lengths: Tensor) -> Tensor:
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(lstm(packed)[0], batch_first=True, total_length=x.shape[1])[0]


def _predict_curve(blocks: nn.ModuleList, project: nn.Module, x: Tensor, style: Tensor, mask: Tensor) -> Tensor:
    for block in blocks:
        x, mask = _apply_block(block, x, style, mask)
    return (project(x) * mask).squeeze(1)


def _apply_norm(norm: AdaIN, x: Tensor, style: Tensor, mask: Tensor) -> Tensor:
    """The instance norm over the frames that there are."""
    count = mask.sum(dim=2, keepdim=True)
    mean = (x * mask).sum(dim=2, keepdim=True) / count
    centred = (x - mean) * mask
    variance = centred.square().sum(dim=2, keepdim=True) / count
    gain, offset = norm.fc(style)[:, :, None].chunk(2, dim=1)
    return torch.addcmul(offset, 1 + gain, centred * torch.rsqrt(variance + 1e-5))


def _apply_block(
    block: AdaResBlock, x: Tensor, style: Tensor, mask: Tensor, second: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """`second` is the style of the second norm, where it is not the first's."""
    y = F.leaky_relu(_apply_norm(block.norm1, x, style, mask), 0.2) * mask
    if block.pool is not None:
        y, x, mask = block.pool(y), x.repeat_interleave(2, dim=2), mask.repeat_interleave(2, dim=2)
    y = block.conv1(y * mask)
    y = block.conv2(F.leaky_relu(_apply_norm(block.norm2, y, style if second is None else second, mask), 0.2) * mask)
    if block.conv1x1 is not None:
        x = block.conv1x1(x)
    return (x + y) / math.sqrt(2), mask
