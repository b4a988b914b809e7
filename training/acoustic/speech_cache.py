"""Training data of decoder and head: features and speech that the teacher synthesises, kept in GPU memory."""

import math
import random
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from acoustic.model import normalise_statistics, summarise
from acoustic.prosody_cache import FRAMES_PER_HOUR
from acoustic.voice_sampler import SampledVoices, VoiceSampler
from head import model as shipped
from head.model import NOISE_FRAMES, accumulate_phase, utterance_statistics
from teacher.corpus import MAX_TOKENS
from teacher.kokoro import FRAME, Kokoro

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

    def find_starts(self, length: int, margin: int) -> tuple[Tensor, Tensor]:
        """Every frame at which a crop can begin, and its clip. Crops reach up to `margin` frames beyond their clip."""
        first = torch.cumsum(self.frames, 0) - self.frames
        count = (self.frames - length + 2 * margin).clamp(min=1)
        clip = torch.repeat_interleave(torch.arange(len(count), device=count.device), count)
        within = torch.arange(len(clip), device=clip.device) - (torch.cumsum(count, 0) - count)[clip]
        return first[clip] - margin + within, clip

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
    hours: float = math.inf,
    batch: int = 4,
) -> SpeechCache:
    """That many hours of speech, each text in a batch of voices that share its durations; less if texts run out."""
    parts: dict[str, list[Tensor]] = {f.name: [] for f in fields(SpeechCache)}
    clips = frames = 0
    for text in texts:
        if frames >= hours * FRAMES_PER_HOUR:
            break
        rows = _speak_text(teacher, head, voices.sample(len(text), batch), text)
        if rows is None:
            continue
        count = len(rows["frames"])
        length = len(rows["f0"]) // max(1, count)
        rows["clip"] = torch.arange(clips, clips + count, device=voices.device).repeat_interleave(length)
        clips += count
        frames += len(rows["f0"])
        for name, value in rows.items():
            parts[name].append(value)
    return SpeechCache(**{name: torch.cat(values) for name, values in parts.items()})


def _speak_text(
    teacher: Kokoro, head: shipped.Head, voices: SampledVoices, text: np.ndarray
) -> dict[str, Tensor] | None:
    """The rows of a cache, without `clip`; None if the text is too long."""
    device, batch = voices.prosody.device, len(voices.prosody)
    ids = torch.tensor([0, *text.tolist(), 0], device=device)
    if len(ids) > TOKENS:
        return None
    leader = random.randrange(batch)
    f0, energy, durations = _predict_prosody(teacher, ids, voices.prosody, random.uniform(0.75, 1.3), leader)
    length = int(durations.sum())
    if length > LONGEST:
        return None
    f0 = f0 * voices.pitch_scale[:, None]
    token = torch.repeat_interleave(torch.arange(len(ids), device=device), durations)
    place = torch.arange(length, device=device) - (torch.cumsum(durations, 0) - durations)[token]
    encoded = teacher.text_encoder(ids[None])[:, :, token].expand(batch, -1, -1)
    features = teacher.decoder.features(encoded, f0, energy, voices.timbre[:, :-1])
    phase = accumulate_phase(f0)
    wave = _vocode(teacher, head, voices, features, f0, phase)
    good = ((wave.abs().amax(dim=1) < 2.0) & wave.isfinite().all(dim=1)).nonzero().squeeze(1)
    normalised = (features - head.feature_mean[:, None]) / head.feature_scale[:, None]
    padded_ids = torch.full((TOKENS,), -1, device=device)
    padded_ids[: len(ids)] = ids
    padded_durations = torch.ones(TOKENS, dtype=torch.long, device=device)
    padded_durations[: len(ids)] = durations
    count = len(good)
    return {
        "features": normalised[good].transpose(1, 2).unflatten(1, (length, 2)).half().flatten(0, 1),
        "wave": wave[good].unflatten(1, (length, 2 * FRAME)).half().flatten(0, 1),
        "f0": f0[good].unflatten(1, (length, 2)).flatten(0, 1),
        "phase": phase[good].unflatten(1, (length, 2)).flatten(0, 1),
        "energy": energy[good].unflatten(1, (length, 2)).flatten(0, 1),
        "token": token.repeat(count).to(torch.int16),
        "place": place.repeat(count).to(torch.int16),
        "ids": padded_ids.repeat(count, 1).to(torch.int16),
        "durations": padded_durations.repeat(count, 1).to(torch.int16),
        "frames": torch.full((count,), length, device=device),
        "timbre": voices.timbre[good].half(),
        "vocoder_embedding": voices.vocoder_embedding[good].half(),
        "summary": summarise(ids, durations, f0, energy)[good],
        "statistics": normalise_statistics(head, features)[good],
    }


def _predict_prosody(
    teacher: Kokoro, ids: Tensor, prosody: Tensor, speed: float, leader: int
) -> tuple[Tensor, Tensor, Tensor]:
    """F0, energy and durations of one text in a batch of voices, at the durations of the voice `leader`.

    `Kokoro.acoustic_features` takes the mean of the durations, which is smoother than any voice's own.
    """
    predictor = teacher.predictor
    words = teacher.bert_encoder(teacher.bert(ids[None])).expand(len(prosody), -1, -1)
    encoded = predictor.text_encoder(words, prosody)
    predicted = predictor.durations(encoded[leader : leader + 1])[0]
    durations = torch.round(predicted / speed).clamp(min=1).long()
    index = torch.repeat_interleave(torch.arange(len(durations), device=ids.device), durations)
    f0, energy = predictor.curves(encoded[:, index], prosody)
    return f0, energy, durations


def _vocode(
    teacher: Kokoro, head: shipped.Head, voices: SampledVoices, features: Tensor, f0: Tensor, phase: Tensor
) -> Tensor:
    """The teacher's generator, or the shipped head for voices with a vocoder embedding, which only it can speak."""
    wave = torch.empty(len(f0), f0.shape[1] * FRAME, device=f0.device)
    by_teacher = (~voices.embedded).nonzero().squeeze(1)
    if len(by_teacher):
        wave[by_teacher] = teacher.decoder.generator(
            features[by_teacher], f0[by_teacher], voices.timbre[by_teacher, -1]
        )
    by_head = voices.embedded.nonzero().squeeze(1)
    if len(by_head):
        wave[by_head] = head(
            features[by_head],
            f0[by_head],
            phase[by_head],
            voices.timbre[by_head, -1],
            utterance_statistics(features[by_head]),
            torch.randint(NOISE_FRAMES, (len(by_head),), device=f0.device),
            voices.vocoder_embedding[by_head],
        )
    return wave
