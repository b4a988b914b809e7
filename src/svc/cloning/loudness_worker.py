"""Measures in the background how loud custom voices are in the languages that they speak.

A voice is measured in its own language when it is made. What else it speaks is measured once it does, and so is a voice
that an earlier release has made. Until then it has the gain of the languages that were measured.
"""

import asyncio
import logging
import time
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from pathlib import Path

from svc.cloning.trial import TrialSynthesis
from svc.errors import EngineUnavailable, ModelLoading, StorageUnavailable, VoiceNotFound
from svc.process.tasks import Supervisor
from svc.storage import atomic_files
from svc.text.language.languages import Language
from svc.voices.catalogue import Voice, VoiceCatalogue
from svc.voices.custom_voice import CustomVoice, DamagedVoice
from svc.voices.custom_voices import CustomVoices

log = logging.getLogger(__name__)

_POLL_SECONDS = 5.0


class _Obsolete(Exception):
    """The voice was changed while it was measured."""


class LoudnessWorker:
    """Measures one voice at a time, while no request needs the engine, and stores the result with the voice."""

    def __init__(self, trial: TrialSynthesis, voices: VoiceCatalogue, custom_voices: CustomVoices, lock: Path) -> None:
        """`lock` is held while voices are measured: of several servers that share the folder, one does it."""
        self._trial = trial
        self._voices = voices
        self._custom_voices = custom_voices
        self._lock = lock
        self._spoken: set[tuple[str, Language]] = set()
        self._tried: set[tuple[str, Language]] = set()

    def note_language(self, voice: Voice, language: Language) -> None:
        """Called in any thread: this voice speaks that language."""
        for custom in voice.custom_parts:
            if not custom.parameters.is_measured_in(language):
                self._spoken.add((custom.voice_id, language))

    def running(self, supervisor: Supervisor) -> AbstractAsyncContextManager[None]:
        return supervisor.repeating(
            "loudness", self._measure_all, _POLL_SECONDS, expected=(OSError, StorageUnavailable)
        )

    async def _measure_all(self) -> None:
        unmeasured = await asyncio.to_thread(self._list_unmeasured)  # there may be thousands of voices
        if not unmeasured:
            return
        with atomic_files.try_lock(self._lock) as claimed, suppress(ModelLoading, EngineUnavailable):
            self._trial.require_ready()
            for voice, language in unmeasured if claimed else ():
                with suppress(VoiceNotFound, DamagedVoice, _Obsolete):
                    await self._measure(voice, language)
                self._tried.add((voice.parameters_hash, language))

    def _list_unmeasured(self) -> list[tuple[CustomVoice, Language]]:
        found = []
        spoken = list(self._spoken)
        for custom in [voice.custom for voice in self._voices if voice.custom]:
            languages = {language for voice_id, language in spoken if voice_id == custom.voice_id}
            if not custom.parameters.loudness:
                languages.add(custom.language)
            if sum(share for _, share in custom.blend) < 1 - 1e-6:  # otherwise it has no parameters of its own
                found += [
                    (custom, language)
                    for language in sorted(languages)
                    if not custom.parameters.is_measured_in(language)
                    and (custom.parameters_hash, language) not in self._tried
                ]
        return found

    async def _measure(self, voice: CustomVoice, language: Language) -> None:
        measured = await self._trial.measure_loudness(voice.parameters, language)
        loudness = measured.loudness_in(language) if measured.is_measured_in(language) else None

        def add_loudness(known: CustomVoice) -> CustomVoice:
            """The same revision: nobody has changed the voice."""
            if known.parameters_hash != voice.parameters_hash or loudness is None:
                raise _Obsolete
            parameters = known.parameters.with_loudness(language, loudness)
            return replace(known, parameters=parameters, changed_at=time.time())

        await asyncio.to_thread(self._custom_voices.change, voice.voice_id, add_loudness)
        log.info("the voice %s has %.1f LUFS in %s without gain", voice.voice_id, loudness, language)
