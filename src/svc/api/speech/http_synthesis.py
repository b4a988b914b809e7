"""What all requests for audio share: they are admitted, run by the scheduler, and end when the client hangs up."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from fastapi import Request

from svc.admission.admission import Admission
from svc.api.authentication import get_principal
from svc.api.speech.disconnect import run_unless_disconnected
from svc.audio.formats import OutputFormat
from svc.errors import TextTooLong
from svc.observability.metrics import Metrics
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import AudioPart, Clip, Dialogue, Parts, Reading, SynthesisRequest
from svc.synthesis.scheduler import Scheduler


class HttpSynthesis:
    def __init__(
        self, pipeline: Pipeline, scheduler: Scheduler, admission: Admission, metrics: Metrics, max_characters: int
    ) -> None:
        self._pipeline = pipeline
        self._scheduler = scheduler
        self._admission = admission
        self._metrics = metrics
        self._max_characters = max_characters

    def require_allowed(self, *texts: str) -> None:
        """Refuses texts that are too long together, and everything while the engine is loading."""
        self._scheduler.require_ready()
        length = sum(map(len, texts))
        if length > self._max_characters:
            raise TextTooLong(length, self._max_characters)

    async def render(
        self, request: SynthesisRequest | Dialogue, audio: OutputFormat, http: Request, *, timestamps: bool = False
    ) -> Clip:
        """The whole clip; a client that hangs up ends the work."""
        clip = Clip()
        parts = self._pipeline.render(request, audio, clip, timestamps=timestamps)

        async def work() -> None:
            async with aclosing(self._synthesize(request, parts, http, live=False)) as making:
                async for _ in making:
                    pass

        await run_unless_disconnected(http, work())
        return clip

    async def start(
        self, request: SynthesisRequest | Dialogue, audio: OutputFormat, http: Request, *, timestamps: bool = False
    ) -> tuple[Reading, AsyncGenerator[AudioPart]]:
        """How the text is read, and the parts, once there is audio: what fails at once fails with its own status."""
        started = time.monotonic()
        making = self._pipeline.stream(request, audio, timestamps=timestamps)
        parts = self._synthesize(request, making, http, live=True)
        begun = await run_unless_disconnected(http, _take_until_audible(parts))
        self._metrics.first_byte_seconds.observe(time.monotonic() - started)

        async def continue_from_first() -> AsyncGenerator[AudioPart]:
            async with aclosing(parts):
                for part in begun:
                    yield part
                async for part in parts:
                    yield part

        return Reading.join(part.reading for part in begun), continue_from_first()

    async def _synthesize(
        self, request: SynthesisRequest | Dialogue, parts: Parts, http: Request, *, live: bool
    ) -> AsyncGenerator[AudioPart]:
        """The parts as they are made, once the request is admitted."""
        seconds = request.estimate_seconds()
        with await self._admission.admit(get_principal(http), len(request.text), seconds, live=live) as place:
            async with aclosing(self._scheduler.run(parts, place.playback)) as made:
                async for part in made:
                    yield part


async def _take_until_audible(parts: AsyncGenerator[AudioPart]) -> list[AudioPart]:
    taken = []
    async for part in parts:
        taken.append(part)
        if part.seconds:
            break
    return taken
