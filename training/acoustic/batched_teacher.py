"""The teacher's prosody for batches of different texts, exactly as it speaks each of them alone."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from acoustic.model import expand_tokens
from teacher.kokoro import AdaIN, AdaResBlock, Kokoro


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


def _apply_block(block: AdaResBlock, x: Tensor, style: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    y = F.leaky_relu(_apply_norm(block.norm1, x, style, mask), 0.2) * mask
    if block.pool is not None:
        y, x, mask = block.pool(y), x.repeat_interleave(2, dim=2), mask.repeat_interleave(2, dim=2)
    y = block.conv1(y * mask)
    y = block.conv2(F.leaky_relu(_apply_norm(block.norm2, y, style, mask), 0.2) * mask)
    if block.conv1x1 is not None:
        x = block.conv1x1(x)
    return (x + y) / math.sqrt(2), mask
