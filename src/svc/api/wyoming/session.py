"""One connection: describes the voices and speaks texts, one after the other."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from wyoming.event import Event, async_write_event
from wyoming.info import Describe
from wyoming.ping import Ping, Pong
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop

from svc.api.realtime import connections
from svc.api.realtime.context import Context, EngineAccess
from svc.api.realtime.messages import DEFAULT_SCHEDULE
from svc.api.realtime.session import SessionDependencies
from svc.api.speech.schemas import replace_lone_surrogates
from svc.api.wyoming.events import FORMAT, SpeechWriter, describe_error, describe_voices, read_event
from svc.auth.keys import Principal, Scope
from svc.errors import InputTimeout, InternalError, InvalidMessage, SvcError
from svc.synthesis.request import SynthesisRequest
from svc.synthesis.streaming import StreamingSynthesis
from svc.text.language.languages import Language
from svc.voices.catalogue import Voice, VoiceCatalogue

log = logging.getLogger(__name__)

WYOMING = Principal("wyoming", frozenset({Scope.TTS}))
"""Every client of this protocol, which knows no keys. They share one key's part of the engine."""

_IDLE_SECONDS = 60.0  # Home Assistant opens a connection for each text
_SILENT_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class WyomingLimits:
    stall_seconds: float
    """A client that reads nothing for so long is disconnected."""
    shutdown_seconds: float


class WyomingSession:
    protocol = connections.WYOMING
    principal: Principal | None = None
    """Nobody knows: the protocol has a share of the sockets instead."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        dependencies: SessionDependencies,
        voices: VoiceCatalogue,
        limits: WyomingLimits,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._dependencies = dependencies
        self._voices = voices
        self._limits = limits
        self._writing = asyncio.Lock()
        self._text: _Text | None = None
        self._takes_chunks = False  # whether the text is still being written
        self._draining = False
        self.is_silent = True
        """Whether it has never sent a valid event."""

    async def run(self) -> None:
        """From the first event to the end of the connection."""
        try:
            while (event := await self._receive()) is not None:
                await self._handle(event)
                self.is_silent = False
        except SvcError as error:
            await self.refuse(error)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client has gone, or reads nothing
        except Exception:
            log.exception("a Wyoming connection failed")
            await self.refuse(InternalError())
        finally:
            if self._text:
                await self._text.cancel()
            self._writer.close()

    async def refuse(self, error: SvcError) -> None:
        """Tells why the connection ends. Clients wait for audio until it does."""
        self._dependencies.metrics.count_refusal(error)
        with suppress(OSError):
            await self._send([describe_error(error)])

    @property
    def makes_way(self) -> bool:
        """While it speaks nothing: clients open a connection for each text."""
        return self._text is None

    def drain(self) -> None:
        """Ends the connection at shutdown, once what was asked for has been spoken."""
        self._draining = True
        asyncio.get_running_loop().call_later(self._limits.shutdown_seconds, self._writer.transport.abort)
        if self._text:
            self._text.context.close()
        else:
            self._writer.close()

    def evict(self) -> None:
        self._writer.close()

    async def _receive(self) -> Event | None:
        """The next event; raises what ended the speech meanwhile."""
        reading = asyncio.ensure_future(read_event(self._reader, self._dependencies.input_budget))
        try:
            while True:
                waiting_for = {reading, self._text.task} if self._text else {reading}
                seconds = _SILENT_SECONDS if self.is_silent else _IDLE_SECONDS
                done, _ = await asyncio.wait(waiting_for, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
                if self._text and self._text.task in done:
                    self._end_text()
                if reading in done:
                    return reading.result()
                if self._draining and self._text is None:
                    return None
                if not done and not (self._text and self._text.context.busy):
                    raise InputTimeout(seconds)
        finally:
            reading.cancel()

    async def _handle(self, event: Event) -> None:
        if Describe.is_type(event.type):
            await self._send([describe_voices(self._voices.list_for(WYOMING))])
        elif Ping.is_type(event.type):
            await self._send([Pong(Ping.from_event(event).text).event()])
        elif Synthesize.is_type(event.type):
            if not self._takes_chunks:  # sent after the chunks, too, for servers that take none
                await self._begin_text(event, streaming=False)
                self._write(event)
                self._finish_text()
        elif SynthesizeStart.is_type(event.type):
            await self._begin_text(event, streaming=True)
            self._takes_chunks = True
        elif SynthesizeChunk.is_type(event.type):
            if self._takes_chunks:
                self._write(event)
        elif SynthesizeStop.is_type(event.type) and self._takes_chunks:
            self._finish_text()

    async def _begin_text(self, event: Event, *, streaming: bool) -> None:
        if self._text:  # one after the other: what the client sends meanwhile waits in its socket
            self._text.context.close()
            await asyncio.wait({self._text.task})
            self._end_text()
        self._dependencies.scheduler.require_ready()
        self._text = _Text(self._create_context(event, SpeechWriter(streaming=streaming)))

    def _create_context(self, event: Event, speech_writer: SpeechWriter) -> Context[list[Event]]:
        dependencies = self._dependencies
        voice, language = self._resolve_voice(event.data.get("voice"))
        settings = dependencies.voice_settings.get(voice, WYOMING)
        context = Context(
            StreamingSynthesis(dependencies.pipeline, FORMAT, DEFAULT_SCHEDULE),
            EngineAccess(dependencies.scheduler, dependencies.admission, dependencies.metrics, WYOMING),
            speech_writer,
            self._send,
            dependencies.max_characters,
        )
        context.begin_turn(SynthesisRequest("", voice, settings, language))
        return context

    def _resolve_voice(self, wanted: object) -> tuple[Voice, Language | None]:
        """The voice by its name; or, by a language alone, the default voice or the first one of that language."""
        wanted = wanted if isinstance(wanted, dict) else {}
        name, code = wanted.get("name"), wanted.get("language")
        if isinstance(name, str) and name:
            return self._voices.resolve(name, WYOMING), None
        default = self._voices.default
        language = Language.parse(code, default.language) if isinstance(code, str) else None
        if language is None or language is default.language:
            return default, language
        spoken_by = (voice for voice in self._voices.list_for(WYOMING) if voice.language is language)
        return next(spoken_by, default), language

    def _write(self, event: Event) -> None:
        text = event.data.get("text")
        if not isinstance(text, str):
            raise InvalidMessage('"text" is missing')
        assert self._text is not None
        self._text.write(replace_lone_surrogates(text))

    def _finish_text(self) -> None:
        assert self._text is not None
        self._takes_chunks = False
        self._text.context.flush()
        self._text.context.close()

    def _end_text(self) -> None:
        """Raises what ended the speech before its end."""
        assert self._text is not None
        text, self._text, self._takes_chunks = self._text, None, False
        error = text.task.exception()
        status = error.http_status if isinstance(error, SvcError) else 500 if error else 200
        self._dependencies.metrics.requests.labels("WYOMING", "synthesize", status).inc()
        fields = {"key": WYOMING.key_id, "characters": text.characters, "seconds": round(text.seconds, 4)}
        log.info("WYOMING synthesize %s", status, extra={"fields": fields})
        if error:
            raise error

    async def _send(self, events: Sequence[Event]) -> None:
        async with self._writing:
            try:
                async with asyncio.timeout(self._limits.stall_seconds):
                    for event in events:
                        await async_write_event(event, self._writer)
            except TimeoutError:
                self._writer.transport.abort()
                raise ConnectionAbortedError("the client reads nothing") from None


class _Text:
    """A text that is being spoken."""

    def __init__(self, context: Context[list[Event]]) -> None:
        self.context = context
        self.task = asyncio.create_task(context.run())
        self.characters = 0
        self._begun = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._begun

    def write(self, text: str) -> None:
        self.characters += len(text)
        self.context.write(text)

    async def cancel(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})
        if not self.task.cancelled():
            self.task.exception()  # nobody is left who would hear of it
