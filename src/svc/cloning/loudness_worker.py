"""Measures the loudness of custom voices that an earlier release has made, in the background."""

import asyncio
import logging
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from pathlib import Path

from svc import atomic_files
from svc.cloning.trial import TrialSynthesis
from svc.errors import EngineUnavailable, ModelLoading, StorageUnavailable, VoiceNotFound
from svc.tasks import Supervisor
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.custom_voice import CustomVoice, DamagedVoice
from svc.voices.custom_voices import CustomVoices

log = logging.getLogger(__name__)

_POLL_SECONDS = 5.0


class _Obsolete(Exception):
    """The voice was changed while it was measured."""


class LoudnessWorker:
    """Lets each voice speak the preview text once, while no request needs the engine, and stores what it measures.

    Until then such a voice is as loud as the engine makes it.
    """

    def __init__(self, trial: TrialSynthesis, voices: VoiceCatalogue, custom_voices: CustomVoices, lock: Path) -> None:
        """`lock` is held while voices are measured: of several servers that share the folder, one does it."""
        self._trial = trial
        self._voices = voices
        self._custom_voices = custom_voices
        self._lock = lock
        self._tried: set[str] = set()

    def running(self, supervisor: Supervisor) -> AbstractAsyncContextManager[None]:
        return supervisor.repeating(
            "loudness", self._measure_all, _POLL_SECONDS, expected=(OSError, StorageUnavailable)
        )

    async def _measure_all(self) -> None:
        if not self._find_unmeasured():
            return
        with atomic_files.try_lock(self._lock) as claimed, suppress(ModelLoading, EngineUnavailable):
            self._trial.require_ready()
            while claimed and (voice := self._find_unmeasured()):
                with suppress(VoiceNotFound, DamagedVoice, _Obsolete):
                    await self._measure(voice)
                self._tried.add(voice.parameters_hash)

    def _find_unmeasured(self) -> CustomVoice | None:
        """A voice with parameters of its own that were not measured. A mix of built-in voices has none."""
        for voice in self._voices:
            custom = voice.custom
            if (
                custom
                and custom.parameters.loudness is None
                and custom.parameters_hash not in self._tried
                and sum(share for _, share in custom.blend) < 1 - 1e-6
            ):
                return custom
        return None

    async def _measure(self, voice: CustomVoice) -> None:
        loudness = await self._trial.measure_loudness(voice.parameters, voice.language)

        def revise(known: CustomVoice) -> CustomVoice:
            if known.parameters_hash != voice.parameters_hash:
                raise _Obsolete
            return known.revise(parameters=replace(known.parameters, loudness=loudness))

        if loudness is not None:
            await asyncio.to_thread(self._custom_voices.change, voice.voice_id, revise)
            log.info("the voice %s is measured: %.1f LUFS without gain", voice.voice_id, loudness)
