"""Where voices are made: recordings in, a voice that can speak out."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from svc.audio import decode
from svc.audio.containers import encode_flac
from svc.audio.decode import Clip
from svc.cloning import reference as references
from svc.cloning.reference import Reference
from svc.cloning.refinement_queue import RefinementQueue
from svc.cloning.speaker_count import has_several_speakers
from svc.cloning.speaker_embedding import SpeakerEmbedding
from svc.cloning.trial import TrialSynthesis
from svc.engine.protocol import Samples
from svc.errors import (
    BuiltInVoice,
    CloningBusy,
    ConsentRequired,
    NoReference,
    StorageUnavailable,
    VoiceLimitReached,
    VoiceNotFound,
)
from svc.text.language import Language
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.custom_voice import ID, CustomVoice, DamagedVoice, Report, StoredReference, fainter_than, new_id
from svc.voices.custom_voices import CustomVoices

log = logging.getLogger(__name__)

_UNDER_WAY = 4  # clones at once: they are made one after the other, and the last must not wait for long


@dataclass(frozen=True, slots=True)
class Details:
    """What somebody says about a voice."""

    name: str
    description: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    language: Language = Language.ENGLISH_US
    consent: bool = False
    refine: bool | None = None
    """Whether to refine it afterwards; None is as the settings say."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What to say about a voice from now on; None leaves it as it is."""

    name: str | None = None
    description: str | None = None
    labels: dict[str, str] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class AnalyzedReference:
    """Somebody sits for a voice: the recording, and what was heard in it."""

    reference: Reference
    heard: SpeakerEmbedding
    kept: bytes | None
    """The recording as a file, if it is to be kept."""


class VoiceCloner:
    """Makes voices one at a time, in the booth: live speech goes first."""

    def __init__(
        self,
        trial: TrialSynthesis,
        voices: VoiceCatalogue,
        custom_voices: CustomVoices,
        refinement_queue: RefinementQueue,
        *,
        max_voices: int,
        keep_references: bool,
        require_consent: bool,
        refine: bool,
    ) -> None:
        """`refine` is whether to refine new voices of which nobody says anything else."""
        self._trial = trial
        self._voices = voices
        self._custom_voices = custom_voices
        self._refinement_queue = refinement_queue
        self._max_voices = max_voices
        self._keep_references = keep_references
        self._require_consent = require_consent
        self._refine = refine
        self._under_way = 0

    async def clone(self, clips: Sequence[bytes], details: Details, key_id: str) -> CustomVoice:
        """Makes a voice from recordings of one person, and keeps it. What fails leaves nothing behind."""
        if self._require_consent and not details.consent:
            raise ConsentRequired
        if len(self._custom_voices) >= self._max_voices:
            raise VoiceLimitReached(self._max_voices)
        if details.refine and not self._keep_references:
            raise NoReference
        async with self._place():
            sitting = await self._trial.work(self._listen, clips)
            now = time.time()
            voice = CustomVoice(
                voice_id=new_id(),
                name=details.name,
                description=details.description,
                labels=details.labels,
                language=details.language,
                consent=details.consent,
                key_id=key_id,
                created_at=int(now),
                changed_at=now,
                **await self._likeness(sitting, details.language),
            )
            await self._trial.work(self._custom_voices.add, voice, sitting.kept, self._max_voices)
        log.info("key %s cloned the voice %s (consent: %s)", key_id, voice.voice_id, "yes" if voice.consent else "no")
        if self._refine if details.refine is None else details.refine:
            await self._refine_later(voice)
        return voice

    async def edit(
        self,
        voice_id: str,
        clips: Sequence[bytes],
        changes: Changes,
        key_id: str,
        *,
        consent: bool = False,
        refine: bool | None = None,
    ) -> None:
        """Changes what is said about a voice or, with further recordings, how it sounds.

        `refine` asks for its refinement or, if false, for the end of it. One that is made anew is refined as a new one.
        """
        known = self._custom(voice_id)
        if clips and self._require_consent and not consent:
            raise ConsentRequired
        if refine and not (self._keep_references if clips else known.reference):
            raise NoReference
        given = {name: value for name in changes.__slots__ if (value := getattr(changes, name)) is not None}
        kept = None
        if clips:
            async with self._place():
                sitting = await self._trial.work(self._listen, clips, known)
                given |= await self._likeness(sitting, known.language)
                kept = sitting.kept
        improves = self._refine or known.report.refined or self._refinement_queue.progress(known) is not None
        voice = await asyncio.to_thread(
            self._custom_voices.change, voice_id, lambda voice: voice.changed(**given), kept
        )
        log.info("key %s changed the voice %s", key_id, voice_id)
        if refine or (refine is None and clips and improves):
            await self._refine_later(voice)
        elif refine is False:
            await asyncio.to_thread(self._refinement_queue.drop, voice_id)

    async def _refine_later(self, voice: CustomVoice) -> None:
        """What cannot be noted costs the refinement, not the voice."""
        try:
            await asyncio.to_thread(self._refinement_queue.ask, voice)
        except NoReference as problem:
            log.warning("the voice %s will not be refined: %s", voice.voice_id, problem)
        except StorageUnavailable as error:
            log.error("the voice %s will not be refined: %s", voice.voice_id, error.reason)

    async def remove(self, voice_id: str, key_id: str) -> None:
        """Removes a voice for good; who is speaking with it is not interrupted."""
        if not ID.fullmatch(voice_id):  # one that is may be damaged, and so missing from the catalogue
            self._custom(voice_id)
        await asyncio.to_thread(self._custom_voices.remove, voice_id)
        log.info("key %s removed the voice %s", key_id, voice_id)

    def _custom(self, voice_id: str) -> CustomVoice:
        """The cloned voice of that id. Its name will not do: several may have it."""
        voice = self._voices.find(voice_id)
        if voice.custom is None:
            raise BuiltInVoice(voice.name)
        if voice.voice_id != voice_id:
            raise VoiceNotFound(voice_id)
        return voice.custom

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """A place in the line of those who wait for their voice, if the engine is there and the line is short."""
        self._trial.require_ready()
        if self._under_way >= _UNDER_WAY:
            raise CloningBusy
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def _listen(self, contents: Sequence[bytes], known: CustomVoice | None = None) -> AnalyzedReference:
        clips = [*self._earlier(known), *decode.decode_clips(contents)]
        reference = references.examine(clips)
        kept = encode_flac(reference.samples, decode.RATE) if self._keep_references else None
        return AnalyzedReference(reference, self._trial.encoder.encode(reference.samples, decode.RATE), kept)

    def _earlier(self, known: CustomVoice | None) -> list[Clip]:
        """The speech that a voice was made from before."""
        try:
            content = known and self._custom_voices.store.reference(known)
        except DamagedVoice as problem:
            log.error("the reference of a voice is left out: %s", problem)
            return []
        return [decode.decode_clip(content)] if content else []

    async def _likeness(self, sitting: AnalyzedReference, language: Language) -> dict[str, Any]:
        """What a sitting gives to a voice, and how good a likeness that is: heard when it speaks."""
        heard = sitting.heard
        parameters, introduction = await self._trial.tuned(heard.parameters, heard.spectral_envelope, language)
        return {
            "parameters": parameters,
            "report": await self._trial.work(self._report, sitting, introduction),
            "reference": StoredReference.of(sitting.kept) if sitting.kept else None,
        }

    def _report(self, sitting: AnalyzedReference, spoken: Samples) -> Report:
        encoder, embedding = self._trial.encoder, sitting.heard.embedding
        similarity = self._trial.likeness(spoken, embedding)
        key, nearest_similarity = self._trial.built_in.nearest(encoder, embedding)
        nearest = self._voices.find(key).name
        warnings = list(sitting.reference.warnings)
        if has_several_speakers(encoder, sitting.reference.samples):
            warnings.append("More than one person seems to speak. Send a recording of one.")
        if similarity < nearest_similarity:
            warnings.append(fainter_than(nearest))
        return Report(
            measured=sitting.reference.measured,
            similarity=round(similarity, 3),
            nearest=nearest,
            nearest_similarity=round(nearest_similarity, 3),
            warnings=tuple(warnings),
        )
