"""The networks as graphs for a GPU: in floats, windows of many sentences in one batch.

Every window of a batch has the same length n, and a network returns n frames that lie `context` frames earlier. What is
too much is cut off by the service: frames before the sentence's start, after a window's own end, and padding. So shapes
depend on the batch and on n alone. A block's input is zero wherever the sentence has no frame, as in training; its last
frames are the state that the window after this one begins with.

Depthwise convolutions are sums of shifted products: cuDNN plans a convolution anew for every shape that differs from
the one before, which takes longer than the window.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from acoustic import model
from acoustic.export import FoldedBlock, ProsodyGraph, split_film, stack_film
from acoustic.streaming import HIDDEN


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
        return self.finish(F.pad(x, (0, 0, self.reach, self.reach)), gain, offset)

    def finish(self, x: Tensor, gain: Tensor | None, offset: Tensor | None) -> Tensor:
        """x has `reach` frames more at either end than the result."""
        last = len(self.taps) - 1
        shifted = [x[:, i : i - last or None] for i in range(len(self.taps))]
        y = sum((tap * part for tap, part in zip(self.taps, shifted, strict=True)), start=self.depthwise.bias)
        y = F.layer_norm(y, self.scale.shape)
        if gain is not None:
            y = y * gain + offset
        y = FastGelu.apply(F.linear(y, self.expand.weight), self.expand.bias)
        return shifted[self.reach] + self.contract(y)


class WindowBlock(ShiftedBlock):
    """A block that continues where it was. All but `state` is set before each call; `state` is there after it."""

    before: Tensor  # [B, 2 reach, C]
    present: Tensor  # [B, n, 1]
    last: Tensor  # [B, 2 reach], the frames of `before` and x that are the next state
    state: Tensor

    def forward(self, x: Tensor, gain: Tensor | None, offset: Tensor | None, mask: Tensor | None) -> Tensor:
        x = torch.cat([self.before, x * self.present], dim=1)
        self.state = take(x, self.last)
        return self.finish(x, gain, offset)


def take(x: Tensor, frames: Tensor) -> Tensor:
    """x [B, T, C], frames [B, count] → [B, count, C]"""
    return x.gather(1, frames[:, :, None].expand(-1, -1, x.shape[2]))


class BatchedProsody(ProsodyGraph):
    def __init__(self, prosody: model.Prosody) -> None:
        super().__init__(prosody)
        for i, block in enumerate(prosody.blocks):
            prosody.blocks[i] = ShiftedBlock(block)

    def forward(self, ids: Tensor, style: Tensor, speed: Tensor, present: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        """`present` [B, N]: 1 where there is a token, else 0."""
        film = self.prosody.make_film(style)
        encoded = self.prosody.encode(ids, film, present > 0)
        durations = torch.round(self.prosody.predict_durations(encoded) / speed[:, None]).clamp(min=1) * present
        summary = self.prosody.predict_summary(encoded, durations)
        frame_film = stack_film(film[2 * self.prosody.size.layers :])
        return durations.long(), self.prosody.entry(encoded), frame_film, summary


class Windows(nn.Module):
    """A network whose blocks continue where they were, each `reach` frames behind the one before."""

    def __init__(self, network: nn.Module, blocks: nn.ModuleList) -> None:
        super().__init__()
        self.network, self.blocks = network, blocks
        for i, block in enumerate(blocks):
            blocks[i] = WindowBlock(block)

    def resume(self, state: Tensor, present: Tensor, last: Tensor) -> None:
        """state [B, blocks, 2 reach, C]; present [B, context + n], from `context` frames before the window on: 1 where
        the sentence has a frame that is given by now, else 0; last [B, 2 reach]"""
        context = len(self.blocks) * self.blocks[0].reach
        for i, block in enumerate(self.blocks):
            behind = i * block.reach
            block.before, block.last = state[:, i], last
            block.present = present[:, context - behind : -behind or None, None]

    def save(self) -> Tensor:
        return torch.stack([block.state for block in self.blocks], dim=1)


class CurvesWindows(Windows):
    def __init__(self, prosody: model.Prosody) -> None:
        super().__init__(prosody, prosody.frame_blocks)

    def forward(
        self,
        curve_text: Tensor,
        place: Tensor,
        duration: Tensor,
        film: Tensor,
        state: Tensor,
        present: Tensor,
        last: Tensor,
    ) -> tuple[Tensor, ...]:
        self.resume(state, present, last)
        curves = self.network.finish_curves(curve_text, place, duration, split_film(film), None)
        return *model.decode_curves(curves), self.save()


class TextWindows(Windows):
    def __init__(self, decoder: model.Decoder) -> None:
        super().__init__(decoder.text, decoder.text.blocks)

    def forward(self, ids: Tensor, state: Tensor, present: Tensor, last: Tensor) -> tuple[Tensor, ...]:
        self.resume(state, present, last)
        return self.network(ids), self.save()


class DecoderWindows(Windows):
    def __init__(self, decoder: model.Decoder) -> None:
        super().__init__(decoder, decoder.blocks)

    def forward(
        self,
        text: Tensor,
        place: Tensor,
        duration: Tensor,
        f0: Tensor,
        energy: Tensor,
        film: Tensor,
        state: Tensor,
        present: Tensor,
        last: Tensor,
    ) -> tuple[Tensor, ...]:
        self.resume(state, present, last)
        return self.network(text, place, duration, f0, energy, split_film(film), None), self.save()


class HeadWindows(Windows):
    def __init__(self, head: model.Head) -> None:
        super().__init__(head, head.blocks)
        self.context = len(head.blocks) * head.blocks[0].reach

    def forward(
        self,
        features: Tensor,
        f0: Tensor,
        phase: Tensor,
        film: Tensor,
        position: Tensor,
        mask_offset: Tensor,
        hidden: Tensor,
        state: Tensor,
        present: Tensor,
        last: Tensor,
    ) -> tuple[Tensor, ...]:
        """f0, phase, present [B, n + 16]: from the first frame of `hidden` [B, 4, C] on, which `position` counts.

        The last value of f0 is repeated after the sentence's end.
        """
        self.resume(state, present[:, HIDDEN:], last)
        before = HIDDEN + self.context
        encoded = self.network.encode(features, f0[:, before:], phase[:, before:], split_film(film))
        hidden = torch.cat([hidden, encoded], dim=1)
        sources = (each[:, : -self.context] for each in (f0, phase))
        wave = self.network.mask_sources(hidden, *sources, position, mask_offset, present[:, : -self.context])
        return wave, take(hidden, last), self.save()
