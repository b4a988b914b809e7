"""The networks that work window by window, as graphs that are given every frame once.

A convolution of k taps sees (k - 1) / 2 frames to either side. Instead of frames that overlap with the window before,
each block is given the last k - 1 frames of its input in that window (`state`), and its output ends (k - 1) / 2 frames
earlier than its input. So nothing is computed twice, however short the windows are, and the results are those of the
whole sentence: where it begins, the state is (k - 1) / 2 frames of zeros; where it ends, as many follow (`tail`).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from acoustic import model
from acoustic.export import FoldedBlock, split_film

HIDDEN = 4
"""Feature frames of the head's last layer that are kept: an inverse Fourier transform and the pulses reach two frames
to either side."""


class StreamedBlock(FoldedBlock):
    """A block that continues where it was. `before` and `after` are set before each call, `state` is there after it."""

    def __init__(self, block: model.MaskedBlock) -> None:
        super().__init__(block)
        self.depthwise.padding = (0,)
        self.reach = self.depthwise.kernel_size[0] // 2

    def forward(self, x: Tensor, gain: Tensor | None, offset: Tensor | None, mask: Tensor | None) -> Tensor:
        x = torch.cat([self.before, x, self.after], dim=1)
        self.state = x[:, -2 * self.reach :]
        y = self.depthwise(x.transpose(1, 2)).transpose(1, 2)
        weights = (None, None) if gain is None else (gain.reshape(-1), offset.reshape(-1))
        y = F.layer_norm(y, self.scale.shape, *weights)
        return x[:, self.reach : -self.reach] + self.contract(F.gelu(self.expand(y), approximate="tanh"))


class Streamed(nn.Module):
    """A network whose blocks continue where they were."""

    def __init__(self, network: nn.Module, blocks: nn.ModuleList) -> None:
        super().__init__()
        self.network, self.blocks = network, blocks
        for i, block in enumerate(blocks):
            blocks[i] = StreamedBlock(block)

    def resume(self, state: Tensor, tail: Tensor) -> None:
        """state [B, blocks, 1 or 2 times the reach, C]; tail [B, reach, C] of zeros, or no frame"""
        for i, block in enumerate(self.blocks):
            block.before, block.after = state[:, i], tail

    def save(self) -> Tensor:
        return torch.stack([block.state for block in self.blocks], dim=1)


class CurvesStream(Streamed):
    def __init__(self, prosody: model.Prosody) -> None:
        super().__init__(prosody, prosody.frame_blocks)

    def forward(
        self, curve_text: Tensor, place: Tensor, duration: Tensor, film: Tensor, state: Tensor, tail: Tensor
    ) -> tuple[Tensor, ...]:
        self.resume(state, tail)
        curves = self.network.finish_curves(curve_text, place, duration, split_film(film), None)
        return *model.decode_curves(curves), self.save()


class TextStream(Streamed):
    def __init__(self, decoder: model.Decoder) -> None:
        super().__init__(decoder.text, decoder.text.blocks)

    def forward(self, ids: Tensor, state: Tensor, tail: Tensor) -> tuple[Tensor, ...]:
        self.resume(state, tail)
        return self.network(ids), self.save()


class DecoderStream(Streamed):
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
        tail: Tensor,
    ) -> tuple[Tensor, ...]:
        self.resume(state, tail)
        return self.network(text, place, duration, f0, energy, split_film(film), None), self.save()


class HeadStream(Streamed):
    def __init__(self, head: model.Head) -> None:
        super().__init__(head, head.blocks)

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
        tail: Tensor,
    ) -> tuple[Tensor, ...]:
        """`hidden` [B, up to 4, C]; f0 and phase from its first frame on, which `position` counts, to the window's end.

        The samples of two frames at either end are not final, except where the sentence begins or ends.
        """
        self.resume(state, tail)
        count = features.shape[1]
        encoded = self.network.encode(features, f0[:, -count:], phase[:, -count:], split_film(film))
        hidden = torch.cat([hidden, encoded], dim=1)
        ready = hidden.shape[1]
        wave = self.network.mask_sources(hidden, f0[:, :ready], phase[:, :ready], position, mask_offset)
        return wave, hidden[:, -HIDDEN:], self.save()
