"""Drives pipecat's services, in a pipeline that keeps what it would play."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp  # type: ignore[import-not-found]
from pipecat.frames.frames import (  # type: ignore[import-not-found]
    EndFrame,
    ErrorFrame,
    Frame,
    InterruptionFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TTSAudioRawFrame,
    TTSTextFrame,
)
from pipecat.pipeline.pipeline import Pipeline  # type: ignore[import-not-found]
from pipecat.pipeline.worker import PipelineWorker  # type: ignore[import-not-found]
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor  # type: ignore[import-not-found]
from pipecat.services.elevenlabs.dialogue.tts import (  # type: ignore[import-not-found]
    ElevenLabsDialogueTTSService,
)
from pipecat.services.elevenlabs.tts import (  # type: ignore[import-not-found]
    ElevenLabsHttpTTSService,
    ElevenLabsTTSService,
)
from pipecat.services.tts_service import TTSService  # type: ignore[import-not-found]
from pipecat.workers.runner import WorkerRunner  # type: ignore[import-not-found]

from tests.clients.drivers.report import report

ADDRESS, KEY, VOICE, TEXT, STORY = sys.argv[1:]
RATE = 24_000


class Loudspeaker(FrameProcessor):  # type: ignore[misc]
    """Plays nothing, and keeps the sound and the words of each reply."""

    def __init__(self) -> None:
        super().__init__()
        self.replies: dict[str, dict[str, Any]] = {}
        self.sounds = asyncio.Event()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, TTSAudioRawFrame):
            self._reply(frame)["audio"] += frame.audio
            self.sounds.set()
        elif isinstance(frame, TTSTextFrame):
            self._reply(frame)["words"].append((frame.text, frame.pts / 1e9))
        await self.push_frame(frame, direction)

    def _reply(self, frame: Frame) -> dict[str, Any]:
        return self.replies.setdefault(frame.context_id, {"audio": b"", "words": []})


class Conversation:
    """A pipeline from the pen of a language model to a loudspeaker."""

    def __init__(self, tts: TTSService) -> None:
        self.loudspeaker = Loudspeaker()
        self.errors: list[str] = []
        self._worker = PipelineWorker(Pipeline([tts, self.loudspeaker]), enable_rtvi=False)
        self._started = asyncio.Event()
        self._worker.add_event_handler("on_pipeline_started", self._on_started)
        self._worker.add_event_handler("on_pipeline_error", self._on_error)

    async def _on_started(self, *_: object) -> None:
        self._started.set()

    async def _on_error(self, _: object, frame: ErrorFrame) -> None:
        self.errors.append(frame.error)

    @asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        """While it lasts it can be written to; it ends once everything has been said."""
        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(self._worker)
        running = asyncio.create_task(runner.run())
        await self._started.wait()
        yield
        await self._worker.queue_frame(EndFrame())
        await running

    async def reply(self, text: str) -> None:
        words = [LLMTextFrame(f"{word} ") for word in text.split()]
        await self._worker.queue_frames([LLMFullResponseStartFrame(), *words, LLMFullResponseEndFrame()])

    async def interrupt(self) -> None:
        await self.loudspeaker.sounds.wait()
        await self._worker.queue_frame(InterruptionFrame())

    def outcome(self) -> object:
        return {"replies": list(self.loudspeaker.replies.values()), "errors": self.errors}


def socket(key: str = KEY) -> ElevenLabsTTSService:
    settings = ElevenLabsTTSService.Settings(voice=VOICE)
    return ElevenLabsTTSService(api_key=key, url=ADDRESS.replace("http", "ws"), sample_rate=RATE, settings=settings)


def dialogue_socket() -> ElevenLabsDialogueTTSService:
    """Its model is eleven_v4_turbo."""
    settings = ElevenLabsDialogueTTSService.Settings(voice=VOICE)
    address = ADDRESS.replace("http", "ws")
    return ElevenLabsDialogueTTSService(api_key=KEY, url=address, sample_rate=RATE, settings=settings)


async def over_the_socket(connect: Callable[[], TTSService]) -> object:
    conversation = Conversation(connect())
    async with conversation.going_on():
        await conversation.reply(TEXT)
    return conversation.outcome()


async def interrupted(connect: Callable[[], TTSService]) -> object:
    conversation = Conversation(connect())
    async with conversation.going_on():
        await conversation.reply(STORY)
        await conversation.interrupt()
        await conversation.reply(TEXT)
    return conversation.outcome()


async def over_http(key: str = KEY) -> object:
    async with aiohttp.ClientSession() as session:
        settings = ElevenLabsHttpTTSService.Settings(voice=VOICE)
        conversation = Conversation(
            ElevenLabsHttpTTSService(
                api_key=key, base_url=ADDRESS, aiohttp_session=session, sample_rate=RATE, settings=settings
            )
        )
        async with conversation.going_on():
            await conversation.reply(TEXT)
    return conversation.outcome()


report(
    {
        "socket": lambda: asyncio.run(over_the_socket(socket)),
        "http": lambda: asyncio.run(over_http()),
        "interrupted": lambda: asyncio.run(interrupted(socket)),
        "wrong_key": lambda: asyncio.run(over_the_socket(lambda: socket("wrong"))),
        "wrong_key_over_http": lambda: asyncio.run(over_http("wrong")),
        "dialogue": lambda: asyncio.run(over_the_socket(dialogue_socket)),
        "interrupted_dialogue": lambda: asyncio.run(interrupted(dialogue_socket)),
    }
)
