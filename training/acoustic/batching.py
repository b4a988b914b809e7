"""The networks as one graph for a GPU: a batch of utterances, from phonemes to samples, in floats.

A GPU speaks a long sentence in a few milliseconds, so nothing is cut into windows: what it takes beside the arithmetic,
launching a thousand kernels and copying to and fro, is paid once for the whole batch. Utterances are padded to a common
number of tokens, and inside of the graph to a common number of frames. Every block's input is zero where an utterance
has no token or frame, as in training, so that each is made as it is alone.

Depthwise convolutions are sums of shifted products: cuDNN plans a convolution anew for every shape that differs from
the one before, which takes longer than the batch.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from acoustic import model
from acoustic.export import FoldedBlock

ROUND = 16
"""Frames are padded to a multiple of so many, so that shapes come again and with them the memory of before."""
MEAN, SPREAD = 1, 2
"""Of the logarithm of the pitch, among the values of the curves' summary."""


class FastGelu(torch.autograd.Function):
    """GELU (tanh) of the sum with a bias: one kernel of ONNX Runtime's own."""

    @staticmethod
    def forward(ctx: object, x: Tensor, bias: Tensor) -> Tensor:
        return F.gelu(x + bias, approximate="tanh")

    @staticmethod
    def symbolic(g: Any, x: Any, bias: Any) -> Any:
        return g.op("com.microsoft::FastGelu", x, bias).setType(x.type())


class ShiftedBlock(FoldedBlock):
    """A block for batches, with shifted products; what lies before and after the frames is zero."""

    def __init__(self, block: model.MaskedBlock) -> None:
        super().__init__(block)
        self.reach = self.depthwise.kernel_size[0] // 2
        self.taps = self.depthwise.weight.detach()[:, 0].T.contiguous().unbind()

    def forward(self, x: Tensor, gain: Tensor | None, offset: Tensor | None, mask: Tensor | None) -> Tensor:
        padded = F.pad(x, (0, 0, self.reach, self.reach))
        last = len(self.taps) - 1
        shifted = [padded[:, i : i - last or None] for i in range(len(self.taps))]
        y = sum((tap * part for tap, part in zip(self.taps, shifted, strict=True)), start=self.depthwise.bias)
        y = F.layer_norm(y, self.scale.shape)
        if gain is not None:
            y = y * gain + offset
        y = FastGelu.apply(F.linear(y, self.expand.weight), self.expand.bias)
        x = x + self.contract(y)
        return x if mask is None else x * mask


def shift_blocks(network: nn.Module) -> None:
    for blocks in network.modules():
        if isinstance(blocks, nn.ModuleList):
            for i, block in enumerate(blocks):
                if isinstance(block, model.MaskedBlock):
                    blocks[i] = ShiftedBlock(block)


class SpeechGraph(nn.Module):
    def __init__(self, prosody: model.Prosody, decoder: model.Decoder, head: model.Head) -> None:
        super().__init__()
        self.prosody, self.decoder, self.head = prosody, decoder, head
        for network in (prosody, decoder, head):
            shift_blocks(network)
        self.register_buffer("symbols", torch.arange(model.SYMBOLS), persistent=False)

    def forward(
        self,
        ids: Tensor,
        present: Tensor,
        style: Tensor,
        timbre: Tensor,
        vocoder_embedding: Tensor,
        mask_offset: Tensor,
        speed: Tensor,
        pitch_scale: Tensor,
        pitch_range: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """ids, present [B, N], which is 1 where there is a token, else 0; style [B, 128], of the prosody; timbre
        [B, 11, 128]; vocoder_embedding [B, 256]; mask_offset [B, 2408]; the others [B] → durations [B, N], in frames of
        25 ms; wave [B, S]"""
        prosody, decoder, head = self.prosody, self.decoder, self.head
        film = prosody.make_film(style)
        encoded = prosody.encode(ids, film, present > 0)
        durations = torch.round(prosody.predict_durations(encoded) / speed[:, None]).clamp(min=1) * present
        token, place, duration, frames, there = expand(durations)

        text = take(prosody.entry(encoded), token)
        curves = prosody.finish_curves(text, place, duration, film[2 * prosody.size.layers :], there)
        f0, energy = model.decode_curves(curves)
        summary = scale_summary(prosody.predict_summary(encoded, durations), pitch_scale, pitch_range)
        f0 = scale_pitch(f0, pitch_scale, pitch_range, summary)
        # A pitch goes on to the end of its last frame.
        half = double(there)
        f0 = torch.where(half > 0, f0, take(f0[:, :, None], 2 * frames - 1)[:, :, 0])

        film, statistics = decoder.make_film(timbre, self.summarise(ids, durations, summary))
        text = take(decoder.text(ids, present), token)
        features = decoder(text, place, duration, f0, energy, film, there)

        film = head.make_film(timbre[:, -1], statistics, vocoder_embedding)
        phase = accumulate_phase(f0)
        hidden = head.encode(features, f0, phase, film, half[:, :, None])
        start = torch.zeros_like(ids[:, 0])
        return durations.long(), head.mask_sources(hidden, f0, phase, start, mask_offset, half)

    def summarise(self, ids: Tensor, durations: Tensor, curves: Tensor) -> Tensor:
        """`model.summarise`, as a product: a GPU of ONNX Runtime's scatters slowly."""
        total = durations.sum(dim=1, keepdim=True)
        chosen = (ids[:, :, None] == self.symbols).to(durations.dtype)
        shares = (durations[:, None] @ chosen)[:, 0]
        return torch.cat([10 * shares / total, curves, torch.log(total / 160)], dim=1)


def expand(durations: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """durations [B, N] → of each frame [B, T] the index of its token, its place in that, how long that is; how many
    frames there are [B, 1]; 1 for each of these, else 0 [B, T]"""
    ends = torch.cumsum(durations, dim=1)
    frames = ends[:, -1:]
    frame = torch.arange((torch.ceil(frames.max() / ROUND) * ROUND).long(), device=durations.device).to(ends.dtype)
    token = (frame[None, :, None] >= ends[:, None]).to(ends.dtype).sum(dim=2).clamp(max=durations.shape[1] - 1).long()
    place = frame - take((ends - durations)[:, :, None], token)[:, :, 0]
    duration = take(durations[:, :, None], token)[:, :, 0]
    return token, place, duration, frames.long(), (frame < frames).to(ends.dtype)


def take(x: Tensor, index: Tensor) -> Tensor:
    """x [B, N, C], index [B, T] → [B, T, C]: rows, not single values, which would need an index for each."""
    batch, count = x.shape[0], x.shape[1]
    return x.flatten(0, 1)[index + count * torch.arange(batch, device=x.device)[:, None]]


def double(x: Tensor) -> Tensor:
    """[B, T] → [B, 2 T], each value twice."""
    return x[:, :, None].expand(-1, -1, 2).reshape(x.shape[0], -1)


def accumulate_phase(f0: Tensor) -> Tensor:
    """As `head.model.accumulate_phase`, with operations that a GPU of ONNX Runtime has for this precision."""
    cycles = torch.cumsum(f0.double() / 80, dim=1)
    return (cycles - torch.floor(cycles)).float()


def scale_summary(curves: Tensor, pitch_scale: Tensor, pitch_range: Tensor) -> Tensor:
    """The summary of the curves after the pitch is changed. curves [B, 5]"""
    mean = curves[:, MEAN] + torch.log(pitch_scale)
    changed = torch.stack([mean, curves[:, SPREAD] * pitch_range], dim=1)
    return torch.cat([curves[:, :MEAN], changed, curves[:, SPREAD + 1 :]], dim=1)


def scale_pitch(f0: Tensor, pitch_scale: Tensor, pitch_range: Tensor, summary: Tensor) -> Tensor:
    """Widens or narrows the pitch around its mean, in octaves. Unvoiced frames are near 0 Hz and stay there."""
    f0 = f0 * pitch_scale[:, None]
    centre = 150 * torch.exp(summary[:, MEAN])[:, None]
    interval = (f0 / centre).clamp(0.5, 2.0)
    return f0 * torch.exp((pitch_range[:, None] - 1) * torch.log(interval))
