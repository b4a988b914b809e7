"""Training data of decoder and head: features and speech that the teacher synthesises, kept in GPU memory."""

import random
from dataclasses import dataclass, fields

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from acoustic import model
from acoustic.batched_teacher import BatchedProsody, BatchedSpeech
from acoustic.prosody_cache import FRAMES_PER_HOUR, pad_texts
from acoustic.voice_sampler import SampledVoices, VoiceSampler
from head import model as shipped
from head.model import NOISE_FRAMES, accumulate_phase
from teacher.corpus import MAX_TOKENS
from teacher.kokoro import FRAME, Kokoro

LARGEST_GROUP = 256
"""Most texts that the teacher speaks at once."""
LONGEST = 480
"""Most frames of 25 ms in a clip; longer ones are skipped."""
TOKENS = MAX_TOKENS + 2
"""Most tokens in a clip, with the padding at both ends."""


@dataclass
class SpeechCache:
    """Clips laid end to end. Frames are of 25 ms; what has 80 values a second has two in each."""

    features: Tensor  # [frames, 2, 512], fp16, normalised as the head takes them
    wave: Tensor  # [frames, 600], fp16
    f0: Tensor  # [frames, 2]
    phase: Tensor  # [frames, 2]
    energy: Tensor  # [frames, 2]
    clip: Tensor  # [frames]
    token: Tensor  # [frames]: the index of the phoneme in its clip
    place: Tensor  # [frames]: the frame's place in it
    ids: Tensor  # [clips, TOKENS], -1 where there is none
    durations: Tensor  # [clips, TOKENS]
    frames: Tensor  # [clips]
    timbre: Tensor  # [clips, 11, 128]
    vocoder_embedding: Tensor  # [clips, 256]
    summary: Tensor  # [clips, 184]
    statistics: Tensor  # [clips, 1024], normalised

    @property
    def hours(self) -> float:
        return len(self.f0) / FRAMES_PER_HOUR

    def find_starts(self, length: int, margin: int, least: int = 1) -> tuple[Tensor, Tensor]:
        """Every frame at which a crop can begin, and its clip. Crops reach up to `margin` frames beyond their clip.

        `least`: that many for each clip; the starts of short ones are repeated, which would hardly be seen otherwise.
        """
        first = torch.cumsum(self.frames, 0) - self.frames
        possible = (self.frames - length + 2 * margin).clamp(min=1)
        count = possible.clamp(min=least)
        clip = torch.repeat_interleave(torch.arange(len(count), device=count.device), count)
        within = torch.arange(len(clip), device=clip.device) - (torch.cumsum(count, 0) - count)[clip]
        return first[clip] - margin + within % possible[clip], clip

    def crop(self, start: Tensor, clip: Tensor, length: int, text_context: int) -> dict[str, Tensor]:
        """All inputs and targets of `length` frames; `mask` says which of them belong to the clip.

        Tokens are those of the crop and `text_context` to either side; `token` counts from the first of these.
        """
        device = start.device
        index = start[:, None] + torch.arange(length, device=device)
        inside = (index >= 0) & (index < len(self.clip))
        index = index.clamp(0, len(self.clip) - 1)
        mask = inside & (self.clip[index] == clip[:, None])
        token = self.token[index].long()
        first_token = torch.where(mask, token, TOKENS).amin(dim=1) - text_context
        slots = first_token[:, None] + torch.arange(length + 2 * text_context, device=device)
        ids = self.ids[clip[:, None], slots.clamp(0, TOKENS - 1)].long()
        pair = mask[..., None]
        return {
            "mask": mask,
            "ids": ids.clamp(min=0),
            "token_mask": (slots >= 0) & (slots < TOKENS) & (ids >= 0),
            "token": ((token - first_token[:, None]) * mask).clamp(0, slots.shape[1] - 1),
            "place": self.place[index].long() * mask,
            "duration": self.durations[clip[:, None], token * mask].long(),
            "f0": (self.f0[index] * pair).flatten(1),
            "phase": (self.phase[index] * pair).flatten(1),
            "energy": (self.energy[index] * pair).flatten(1),
            "features": (self.features[index].float() * pair[..., None]).flatten(1, 2),
            "wave": (self.wave[index].float() * pair).flatten(1),
            "timbre": self.timbre[clip].float(),
            "vocoder_embedding": self.vocoder_embedding[clip].float(),
            "summary": self.summary[clip],
            "statistics": self.statistics[clip],
        }


@torch.no_grad()
def synthesize(
    teacher: Kokoro,
    head: shipped.Head,
    voices: VoiceSampler,
    texts: list[np.ndarray],
    tokens: int = 4500,
) -> SpeechCache:
    """Each text in a voice of its own. `tokens`: in a batch."""
    speech, vocoder = BatchedSpeech(teacher), model.copy_with_masks(head)
    groups = group_by_length([text for text in texts if len(text) + 2 <= TOKENS], tokens)
    random.shuffle(groups)
    parts: dict[str, list[Tensor]] = {f.name: [] for f in fields(SpeechCache)}
    clips = 0
    for group in groups:
        rows = _speak_group(speech, vocoder, voices, group)
        if rows is None:
            continue
        rows["clip"] += clips
        clips += len(rows["frames"])
        for name, value in rows.items():
            parts[name].append(value)
    # One after the other: the parts and the whole of all would need twice the memory.
    cache = SpeechCache(**{name: torch.cat(parts.pop(name)) for name in list(parts)})
    if voices.device.type == "cuda":
        torch.cuda.empty_cache()
    return cache


def group_by_length(texts: list[np.ndarray], tokens: int) -> list[list[np.ndarray]]:
    """Texts of similar lengths, about so many tokens together."""
    groups: list[list[np.ndarray]] = [[]]
    for text in sorted(texts, key=len):
        if (groups[-1] and (len(groups[-1]) + 1) * (len(text) + 2) > tokens) or len(groups[-1]) == LARGEST_GROUP:
            groups.append([])
        groups[-1].append(text)
    return groups


def _speak_group(
    speech: BatchedSpeech, vocoder: model.Head, sampler: VoiceSampler, texts: list[np.ndarray]
) -> dict[str, Tensor] | None:
    """The rows of a cache, `clip` counted from zero; None if all of the texts are too long."""
    device = sampler.device
    ids, lengths = pad_texts(texts, device)
    voices = sampler.sample_for(lengths - 2)
    speed = torch.empty(len(texts), device=device).uniform_(0.75, 1.3)
    _, durations, f0, energy = BatchedProsody(speech.teacher).predict(ids, lengths, voices.prosody, speed)
    kept = (durations.sum(dim=1) <= LONGEST).nonzero().squeeze(1)
    if len(kept) == 0:
        return None
    ids, durations, voices, lengths = ids[kept], durations[kept], voices.pick(kept), lengths[kept.cpu()]
    frames = durations.sum(dim=1)
    count = int(frames.max())
    f0, energy = f0[kept, : 2 * count] * voices.pitch_scale[:, None], energy[kept, : 2 * count]
    features = speech.make_features(ids, lengths, durations, f0, energy, voices.timbre[:, :-1])
    phase = accumulate_phase(f0)
    half_present = torch.arange(2 * count, device=device)[None] < 2 * frames[:, None]
    normalised = ((features - vocoder.feature_mean[:, None]) / vocoder.feature_scale[:, None]).transpose(1, 2)
    statistics = model.normalise_statistics(vocoder, features, half_present)
    wave = _vocode(speech, vocoder, voices, features, normalised, statistics, f0, phase, half_present)
    good = ((wave.abs().amax(dim=1) < 2.0) & wave.isfinite().all(dim=1)).nonzero().squeeze(1)
    token, place = model.expand_tokens(durations, count)
    curves = model.summarise_curves(f0, energy, half_present)
    known = torch.arange(ids.shape[1], device=device)[None] < lengths.to(device)[:, None]
    padding = (0, TOKENS - ids.shape[1])
    present = (torch.arange(count, device=device)[None] < frames[:, None])[good]
    clip = torch.arange(len(good), device=device)[:, None].expand(-1, count)
    return {
        "features": normalised[good].unflatten(1, (count, 2))[present].half(),
        "wave": wave[good].unflatten(1, (count, 2 * FRAME))[present].half(),
        "f0": f0[good].unflatten(1, (count, 2))[present],
        "phase": phase[good].unflatten(1, (count, 2))[present],
        "energy": energy[good].unflatten(1, (count, 2))[present],
        "clip": clip[present],
        "token": token[good][present].to(torch.int16),
        "place": place[good][present].to(torch.int16),
        "ids": F.pad(torch.where(known, ids, -1), padding, value=-1)[good].to(torch.int16),
        "durations": F.pad(torch.where(known, durations, 1), padding, value=1)[good].to(torch.int16),
        "frames": frames[good],
        "timbre": voices.timbre[good].half(),
        "vocoder_embedding": voices.vocoder_embedding[good].half(),
        "summary": model.summarise(ids, durations, curves)[good],
        "statistics": statistics[good],
    }


def _vocode(
    speech: BatchedSpeech,
    vocoder: model.Head,
    voices: SampledVoices,
    features: Tensor,
    normalised: Tensor,
    statistics: Tensor,
    f0: Tensor,
    phase: Tensor,
    present: Tensor,
) -> Tensor:
    """The teacher's generator, or the shipped head for voices with a vocoder embedding, which only it can speak."""
    wave = torch.zeros(len(f0), f0.shape[1] * FRAME, device=f0.device)
    chosen = (~voices.embedded).nonzero().squeeze(1)
    if len(chosen):
        lengths = present[chosen].sum(dim=1)
        wave[chosen] = speech.vocode(features[chosen], f0[chosen], voices.timbre[chosen, -1], lengths)
    chosen = voices.embedded.nonzero().squeeze(1)
    if len(chosen):
        film = vocoder.make_film(voices.timbre[chosen, -1], statistics[chosen], voices.vocoder_embedding[chosen])
        position = torch.randint(NOISE_FRAMES, (len(chosen),), device=f0.device)
        mask = present[chosen][..., None].float()
        spoken = vocoder(normalised[chosen] * mask, f0[chosen], phase[chosen], film, position, mask=mask)
        wave[chosen] = (spoken.unflatten(1, (-1, FRAME)) * mask).flatten(1)
    return wave
