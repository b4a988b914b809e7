"""A replica of the engine: speaks the utterances of all servers, those first whose audio is due first."""

import asyncio
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from dataclasses import dataclass

from svc.engine.protocol import Engine, Utterance
from svc.process import memory
from svc.remote.utterance_server import UtteranceServer
from svc.remote.wire import Deadline, EngineDescription, SpeechAnswer, WordsAnswer, WordsRequest
from svc.synthesis.playback import Playback
from svc.synthesis.scheduler import Scheduler
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.text.sentences.phrases import pronounce


class EngineHost:
    def __init__(self, engine: Engine, workers: int, phonemizer: Phonemizer | None = None) -> None:
        """With a `phonemizer`, it also pronounces the sentences of its servers."""
        self._engine = engine
        self._phonemizer = phonemizer
        self._scheduler = Scheduler(self._load, workers=workers)
        self._server = UtteranceServer(self._speak, self._find_words)

    def _load(self) -> None:
        self._engine.load()
        if self._phonemizer:
            self._phonemizer.warm(Language.ENGLISH_US)

    async def start(self, host: str) -> EngineDescription:
        """Loads the engine and listens; raises what loading raised."""
        self._scheduler.start()
        await self._scheduler.wait_until_loaded()
        memory.freeze()
        port = await self._server.start(host)
        return EngineDescription(self._engine.fingerprint, host, port, self._server.token)

    async def drain(self, seconds: float) -> None:
        """Takes no more utterances, and finishes those that it has for so long."""
        await self._server.drain(seconds)

    @property
    def ongoing(self) -> int:
        """Utterances that are being spoken or wait."""
        return self._server.ongoing

    @property
    def starved_seconds(self) -> float:
        """For how long listeners have waited for audio that was due, since the start."""
        return self._scheduler.starved_seconds

    async def _speak(self, utterance: Utterance, deadline: Deadline) -> AsyncGenerator[SpeechAnswer]:
        """The audio of an utterance; when the caller cancels, the work stops within a chunk."""
        # The listener counts as one who has audio until it is due: what is held back at a beginning, the API decides.
        playback = Playback(deadline.key_id, live=deadline.live, buffered=deadline.seconds)
        async with aclosing(self._scheduler.run(self._synthesize(utterance), playback)) as parts:
            async for part in parts:
                yield part.answer

    async def _find_words(self, request: WordsRequest) -> AsyncGenerator[WordsAnswer]:
        assert self._phonemizer, "servers ask only those for words that were given a phonemizer"
        words = await asyncio.to_thread(
            pronounce, self._phonemizer, request.text, request.language, request.replacements
        )
        yield WordsAnswer(words)

    def _synthesize(self, utterance: Utterance) -> Generator["_Part"]:
        began = time.perf_counter()
        for chunk in self._engine.synthesize(utterance):
            answer = SpeechAnswer(chunk, time.perf_counter() - began)
            yield _Part(answer, len(chunk.samples) / self._engine.sample_rate)
            began = time.perf_counter()


@dataclass(frozen=True, slots=True)
class _Part:
    answer: SpeechAnswer
    seconds: float
