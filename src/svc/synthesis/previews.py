"""Short samples of voices, which anybody may ask for: made once each, one at a time, behind live requests."""

import asyncio
import hashlib
import logging
from collections import OrderedDict
from contextlib import aclosing
from pathlib import Path

from svc import __version__
from svc.audio import formats
from svc.errors import PreviewsBusy
from svc.storage import atomic_files
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import Clip, SynthesisRequest
from svc.synthesis.scheduler import Scheduler
from svc.voices.built_in import PREVIEW_TEXTS
from svc.voices.catalogue import Voice

log = logging.getLogger(__name__)

FORMAT = formats.find("mp3_44100_64")

_MAX_WAITING = 8  # voices whose previews are being made or wait for that
_MAX_KEPT_BYTES = 8_000_000  # of the previews of custom voices: about a hundred


class Previews:
    """Previews of built-in voices are kept on disk, those of custom voices in memory until others need the room."""

    def __init__(self, pipeline: Pipeline, scheduler: Scheduler, folder: Path) -> None:
        self._pipeline = pipeline
        self._scheduler = scheduler
        self._folder = folder
        self._kept = OrderedDict[tuple[str, int], bytes]()
        self._making: dict[tuple[str, int], _Making] = {}
        self._turn = asyncio.Lock()

    async def get(self, voice: Voice) -> bytes:
        """The preview. A caller that is cancelled leaves; if it was the last one, so does the work."""
        key = voice.voice_id, voice.custom.revision if voice.custom else 0
        self._scheduler.require_ready()  # only then are the weights known that the name of the file depends on
        if key not in self._making and (found := await self._find(voice, key)) is not None:
            return found
        if key not in self._making:
            if len(self._making) >= _MAX_WAITING:
                raise PreviewsBusy
            self._making[key] = _Making(asyncio.create_task(self._make(voice, key)))
        making = self._making[key]
        making.waiting += 1
        try:
            return await asyncio.shield(making.task)
        finally:
            making.waiting -= 1
            if not making.waiting:
                making.task.cancel()  # does nothing if it is done
                if self._making.get(key) is making:
                    del self._making[key]

    async def _find(self, voice: Voice, key: tuple[str, int]) -> bytes | None:
        if voice.custom:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)
        return await asyncio.to_thread(_read, self._file(voice))

    async def _make(self, voice: Voice, key: tuple[str, int]) -> bytes:
        async with self._turn:
            request, clip = SynthesisRequest(PREVIEW_TEXTS[voice.language], voice), Clip()
            work = self._pipeline.render(request, FORMAT, clip)
            async with aclosing(self._scheduler.run_in_background(work)) as parts:
                async for _ in parts:
                    pass
            audio = clip.audio
        if voice.custom:
            self._kept[key] = audio
            while sum(map(len, self._kept.values())) > _MAX_KEPT_BYTES:
                self._kept.popitem(last=False)
        else:
            await asyncio.to_thread(_save, self._file(voice), audio, f"{voice.voice_id}-*.mp3")
        return audio

    def _file(self, voice: Voice) -> Path:
        """Its name depends on the release and on the weights, with which a voice sounds different."""
        made_with = hashlib.sha256(f"{__version__} {self._pipeline.engine_fingerprint}".encode()).hexdigest()[:12]
        return self._folder / f"{voice.voice_id}-{made_with}.mp3"


class _Making:
    """A preview that is being made, and how many callers wait for it."""

    def __init__(self, task: asyncio.Task[bytes]) -> None:
        self.task = task
        self.waiting = 0


def _read(file: Path) -> bytes | None:
    try:
        return atomic_files.read(file) or None
    except OSError:
        return None


def _save(file: Path, audio: bytes, outdated: str) -> None:
    """Replaces what was made with other weights. A preview that cannot be kept is made again the next time."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic_files.write(file, audio)
        for other in file.parent.glob(outdated):
            if other != file:
                other.unlink(missing_ok=True)
    except OSError as error:
        log.warning("a voice preview could not be kept: %s", error)
