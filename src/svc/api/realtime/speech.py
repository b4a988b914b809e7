"""The protocols with one voice: `…/stream-input`, one text on a socket, and `…/multi-stream-input`, several."""

from fastapi import WebSocket

from svc.api.realtime.context import Context
from svc.api.realtime.messages import SpeechMessage
from svc.api.realtime.multi_session import MultiContextSession
from svc.api.realtime.server_messages import SpeechMessages
from svc.api.realtime.session import Session, SessionDependencies, SocketClose, StreamParameters
from svc.auth.keys import Principal
from svc.errors import InvalidMessage, TooManyContexts
from svc.synthesis.request import SynthesisRequest
from svc.text.sentences.split import ends_sentence
from svc.voices.catalogue import Voice

_DEFAULT_ID = "default"

# Open at once on one socket; clients keep one or two.
MAX_CONTEXTS = 32


class _SpeechSession(Session[SpeechMessage]):
    """Speaks with the voice of its path."""

    message_type = SpeechMessage
    messages = SpeechMessages

    def __init__(
        self, socket: WebSocket, dependencies: SessionDependencies, parameters: StreamParameters, voice_id: str
    ) -> None:
        super().__init__(socket, dependencies, parameters)
        self._voice_id = voice_id
        self._voice: Voice | None = None

    def _identify(self, principal: Principal) -> None:
        if self._voice is None:
            self._voice = self._dependencies.voices.resolve(self._voice_id, principal)
            self.voice_ids = [self._voice.voice_id]

    def _open_context(self, message: SpeechMessage, context_id: str | None = None) -> Context[str]:
        """Starts a new text with the settings of its first message."""
        voice, principal = self._voice, self.principal
        assert voice is not None
        assert principal is not None
        settings = self._dependencies.voice_settings.get(voice, principal)
        if message.voice_settings:
            settings = message.voice_settings.apply_to(settings)
        context = self._start_context(context_id, message.schedule())
        language = self._parameters.parse_language(voice)
        rules = self._dependencies.dictionaries.resolve_locators(message.pronunciation_dictionary_locators)
        context.begin_turn(SynthesisRequest("", voice, settings, language, self._parameters.seed, rules=rules))
        return context

    def _end_context(self, context: Context[str]) -> None:
        """What was not flushed is dropped."""
        context.close()


class StreamInput(_SpeechSession):
    """One text, which ends with an empty message."""

    _context: Context[str] | None = None

    async def _handle(self, message: SpeechMessage) -> None:
        first = self._context is None
        self._context = self._context or self._open_context(message)
        if message.text:
            self._context.write(message.text, self._parameters.auto_mode and ends_sentence(message.text))
        elif message.text is None and not first and not message.flush:
            raise InvalidMessage('"text" is missing', "text")
        if message.flush:
            self._context.flush()
        if message.text == "":
            self._context.flush()
            self._close_when_done(SocketClose(1000))


class MultiStreamInput(_SpeechSession, MultiContextSession[SpeechMessage]):
    """Several texts, each with an id."""

    async def _handle(self, message: SpeechMessage) -> None:
        if message.close_socket:
            self._close_when_done(SocketClose(1000))
            return
        if message.text is None and not (message.flush or message.close_context):
            raise InvalidMessage('one of "text", "flush", "close_context" or "close_socket" is required')
        context_id = message.context_id or _DEFAULT_ID
        context = self._contexts.get(context_id)
        if context is None and message.text:
            if len(self._open) >= MAX_CONTEXTS:
                await self._socket.send_text(self.messages(context_id).error(TooManyContexts(MAX_CONTEXTS)))
                return
            context = self._contexts[context_id] = self._open_context(message, context_id)
        if context and message.text:
            self._write(context, message.text)
        if context and message.flush:
            context.flush()
        if message.close_context:
            self._close_context(context_id)

    def _write(self, context: Context[str], text: str) -> None:
        """Adds the space that some clients leave out between whole sentences."""
        complete = ends_sentence(text)
        separator = " " if complete and not text[-1].isspace() else ""
        context.write(text + separator, complete and self._parameters.auto_mode)
