"""Cloning: from recordings of a person to a stored voice; also changes and removals of stored voices."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from svc.audio import decode
from svc.audio.decode import Clip
from svc.audio.flac import encode_flac
from svc.audio.samples import Samples
from svc.auth.keys import Principal, Quota
from svc.cloning import reference as references
from svc.cloning.reference import Reference
from svc.cloning.refinement import is_refined_by_default
from svc.cloning.refinement_queue import RefinementQueue
from svc.cloning.speaker_encoder import SpeakerEmbedding, has_several_speakers
from svc.cloning.trial import TrialSynthesis
from svc.errors import (
    BuiltInVoice,
    CloningBusy,
    ConsentRequired,
    MixedVoice,
    NoReference,
    NotVoiceOwner,
    StorageUnavailable,
    VoiceNotFound,
)
from svc.observability.metrics import Metrics
from svc.text.language.languages import Language
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.custom_voice import (
    ID,
    CustomVoice,
    DamagedVoice,
    Report,
    StoredReference,
    complete_id,
    nearest_voice_warning,
    new_id,
)
from svc.voices.custom_voices import CustomVoices

log = logging.getLogger(__name__)

_MAX_WAITING = 4  # clones are made one after the other, and the last one must not wait for long


@dataclass(frozen=True, slots=True)
class Details:
    """What a request says about a new voice."""

    name: str
    description: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    language: Language = Language.ENGLISH_US
    consent: bool = False
    refine: bool | None = None
    """Whether to refine it afterwards; None is the server's setting."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What to change of a voice; None leaves a field as it is."""

    name: str | None = None
    description: str | None = None
    labels: dict[str, str] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class AnalyzedReference:
    """A reference, and what the encoder found in it."""

    reference: Reference
    speaker: SpeakerEmbedding
    flac: bytes | None
    """The file to keep, if references are kept."""


class VoiceCloner:
    """Makes voices one at a time, behind live synthesis."""

    def __init__(
        self,
        trial: TrialSynthesis,
        voices: VoiceCatalogue,
        custom_voices: CustomVoices,
        refinement_queue: RefinementQueue,
        metrics: Metrics,
        *,
        quota: Quota,
        keep_references: bool,
        require_consent: bool,
        refine: bool,
    ) -> None:
        """`refine` applies to new English voices whose request does not say."""
        self._trial = trial
        self._voices = voices
        self._custom_voices = custom_voices
        self._refinement_queue = refinement_queue
        self._metrics = metrics
        self._quota = quota
        self._keep_references = keep_references
        self._require_consent = require_consent
        self._refine = refine
        self._waiting = 0

    def require_place(self, caller: Principal) -> None:
        """Raises if no voice could be made now, whatever the request says: known before its recordings are read."""
        self._custom_voices.require_room(self._quota, caller)
        self._trial.require_ready()
        if self._waiting >= _MAX_WAITING:
            raise CloningBusy

    def require_consent(self, given: bool) -> None:
        if self._require_consent and not given:
            raise ConsentRequired

    async def clone(self, clips: Sequence[bytes], details: Details, caller: Principal) -> CustomVoice:
        """Makes a voice from recordings of one person and stores it. If anything fails, nothing is stored."""
        self.require_consent(details.consent)
        self.require_place(caller)
        if details.refine and not self._keep_references:
            raise NoReference
        async with self._reserve_place():
            analyzed = await self._trial.run_in_thread(self._analyze, clips)
            now = time.time()
            voice = CustomVoice(
                voice_id=new_id(),
                name=details.name,
                description=details.description,
                labels=details.labels,
                language=details.language,
                consent=details.consent,
                key_id=caller.key_id,
                created_at=int(now),
                changed_at=now,
                **await self._make_voice_fields(analyzed, details.language),
            )
            await self._trial.run_in_thread(self._custom_voices.add, voice, analyzed.flac, self._quota, caller)
        log.info(
            "key %s cloned the voice %s (consent: %s)", caller.key_id, voice.voice_id, "yes" if voice.consent else "no"
        )
        if (self._refine and is_refined_by_default(voice)) if details.refine is None else details.refine:
            await self._queue_refinement(voice)
        return voice

    async def edit(
        self,
        voice_id: str,
        clips: Sequence[bytes],
        changes: Changes,
        caller: Principal,
        *,
        consent: bool = False,
        refine: bool | None = None,
    ) -> None:
        """Changes what is said about a voice and, with further recordings, makes it again from all of them.

        `refine` queues its refinement or, if false, cancels it. A voice that is made again is refined like a new one,
        or if it was refined or queued before.
        """
        known = self.find_own(voice_id, caller)
        voice_id = known.voice_id
        if clips:
            self.require_consent(consent)
        if refine and not (self._keep_references if clips else known.reference):
            raise NoReference
        given = {name: value for name in changes.__slots__ if (value := getattr(changes, name)) is not None}
        flac = None
        if clips:
            async with self._reserve_place():
                analyzed = await self._trial.run_in_thread(self._analyze, clips, known)
                given |= await self._make_voice_fields(analyzed, known.language)
                flac = analyzed.flac
        refine_again = (
            (self._refine and is_refined_by_default(known))
            or known.report.refined
            or self._refinement_queue.progress(known) is not None
        )
        voice = await asyncio.to_thread(self._custom_voices.change, voice_id, lambda voice: voice.revise(**given), flac)
        log.info("key %s changed the voice %s", caller.key_id, voice_id)
        if refine or (refine is None and clips and refine_again):
            await self._queue_refinement(voice)
        elif refine is False:
            await asyncio.to_thread(self._refinement_queue.remove, voice_id)

    async def remove(self, voice_id: str, caller: Principal) -> str:
        """Removes a voice for good, and returns its id; requests that are using it are not interrupted."""
        # A valid id may be that of a damaged voice, which is not in the catalogue and whose owner nobody knows.
        if not (caller.is_operator and ID.fullmatch(voice_id)):
            voice_id = self.find_own(voice_id, caller).voice_id
        await asyncio.to_thread(self._custom_voices.remove, voice_id)
        self._metrics.clones_removed.inc()
        log.info("key %s removed the voice %s", caller.key_id, voice_id)
        return voice_id

    async def _queue_refinement(self, voice: CustomVoice) -> None:
        """If it cannot be queued, the voice is kept without refinement."""
        try:
            await asyncio.to_thread(self._refinement_queue.add, voice)
        except NoReference as problem:
            log.warning("the voice %s will not be refined: %s", voice.voice_id, problem)
        except StorageUnavailable as error:
            log.error("the voice %s will not be refined: %s", voice.voice_id, error.reason)

    def find_own(self, voice_id: str, caller: Principal) -> CustomVoice:
        """The cloned voice of that id, if the caller may change it. Names are not accepted: several may be the same."""
        voice = self._voices.find(voice_id, caller)
        if voice.custom is None:
            raise MixedVoice(voice_id) if voice.parts else BuiltInVoice(voice.name)
        if voice.voice_id != complete_id(voice_id):
            raise VoiceNotFound(voice_id)
        if not voice.custom.may_be_changed_by(caller):
            raise NotVoiceOwner(voice.name)
        return voice.custom

    @asynccontextmanager
    async def _reserve_place(self) -> AsyncIterator[None]:
        """Raises if the engine is not loaded, or if too many clones are waiting."""
        self._trial.require_ready()
        if self._waiting >= _MAX_WAITING:
            raise CloningBusy
        self._waiting += 1
        try:
            with self._metrics.measure_clone():
                yield
        finally:
            self._waiting -= 1

    def _analyze(self, contents: Sequence[bytes], known: CustomVoice | None = None) -> AnalyzedReference:
        clips = [*self._read_kept_reference(known), *decode.decode_clips(contents)]
        reference = references.examine(clips)
        flac = encode_flac(reference.samples, decode.RATE) if self._keep_references else None
        return AnalyzedReference(reference, self._trial.encoder.encode(reference.samples, decode.RATE), flac)

    def _read_kept_reference(self, known: CustomVoice | None) -> list[Clip]:
        try:
            content = known and self._custom_voices.store.read_reference(known)
        except DamagedVoice as problem:
            log.error("the reference of a voice is left out: %s", problem)
            return []
        return [decode.decode_clip(content)] if content else []

    async def _make_voice_fields(self, analyzed: AnalyzedReference, language: Language) -> dict[str, Any]:
        """The fields of a voice that depend on its reference; the similarity is measured on its spoken preview."""
        # Languages differ in how many syllables they have: the rate of English says nothing about the others.
        pace = analyzed.reference.pace if language.english else 1.0
        parameters, preview = await self._trial.make_voice(analyzed.speaker, pace, language)
        return {
            "parameters": parameters,
            "blend": (),
            "report": await self._trial.run_in_thread(self._make_report, analyzed, preview),
            "reference": StoredReference.of(analyzed.flac) if analyzed.flac else None,
        }

    def _make_report(self, analyzed: AnalyzedReference, preview: Samples) -> Report:
        embedding = analyzed.speaker.embedding
        similarity = self._trial.measure_similarity(preview, embedding)
        nearest, nearest_similarity = self._trial.find_nearest_built_in(embedding)
        warnings = list(analyzed.reference.warnings)
        if has_several_speakers(self._trial.encoder, analyzed.reference.samples, decode.RATE):
            warnings.append("More than one person seems to speak. Send a recording of one.")
        if similarity < nearest_similarity:
            warnings.append(nearest_voice_warning(nearest))
        return Report(
            measured=analyzed.reference.measured,
            similarity=round(similarity, 3),
            nearest=nearest,
            nearest_similarity=round(nearest_similarity, 3),
            warnings=tuple(warnings),
        )
