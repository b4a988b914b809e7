"""The protocols with several voices: `…/stream-input`, one dialogue on a socket, and `…/multi-stream-input`, several.

The first message of a dialogue names its voices. Text is buffered until a sentence, a turn or the dialogue ends, or it
is flushed. Closing a dialogue speaks what is buffered.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from fastapi import WebSocket

from svc.api.realtime.context import Context
from svc.api.realtime.messages import DEFAULT_SCHEDULE, DialogueInput, DialogueMessage
from svc.api.realtime.multi_session import MultiContextSession
from svc.api.realtime.server_messages import DialogueMessages
from svc.api.realtime.session import Session, SessionDependencies, SocketClose, StreamParameters
from svc.errors import InvalidMessage, SvcError, TooManyContexts
from svc.synthesis.request import SynthesisRequest
from svc.text.sentences.split import ends_sentence

# Open at once on one socket.
MAX_CONTEXTS = 5

_MAX_REFUSED = 100


@dataclass(slots=True)
class _Dialogue:
    """A context, the voices that it knows, and the one that speaks."""

    context: Context[str]
    voices: Mapping[str, SynthesisRequest]
    speaker: str | None = None

    def write(self, given: DialogueInput) -> None:
        if given.voice_id not in self.voices:
            raise InvalidMessage("the voice is not one of those that the first message names", "voice_id")
        if not given.text and not given.new_turn:
            return
        if given.new_turn or given.voice_id != self.speaker:
            self.context.begin_turn(replace(self.voices[given.voice_id]))
            self.speaker = given.voice_id
        self.context.write(given.text, ends_sentence(given.text))


class _DialogueSession(Session[DialogueMessage]):
    message_type = DialogueMessage
    messages = DialogueMessages

    def _open_dialogue(self, message: DialogueMessage, context_id: str | None = None) -> _Dialogue:
        """Starts a dialogue with the voices and settings of its first message."""
        if not message.voices:
            raise InvalidMessage('the first message of a dialogue must name its "voices"', "voices")
        assert self.principal is not None
        voices = self._dependencies.dialogue_voices.resolve(
            message.voices,
            self.principal,
            message.voice_settings,
            self._parameters.language_code,
            self._parameters.seed,
            message.pronunciation_dictionary_locators,
        )
        self.voice_ids = list(dict.fromkeys([*self.voice_ids, *(each.voice.voice_id for each in voices.values())]))
        parameters = self._parameters
        context = self._start_context(
            context_id, DEFAULT_SCHEDULE, align_all=parameters.sync_alignment, idle=parameters.inactivity_timeout
        )
        return _Dialogue(context, voices)

    def _continue(self, dialogue: _Dialogue, message: DialogueMessage) -> None:
        for each in message.inputs or ():
            dialogue.write(each)
        if message.flush:
            dialogue.context.flush()
        dialogue.context.keep_alive()

    def _end_context(self, context: Context[str]) -> None:
        context.finish()

    async def _end_idle_contexts(self) -> None:
        for context in self._open:
            context.finish()
        if self._open:
            await asyncio.wait(self._open.values())


class DialogueStreamInput(_DialogueSession):
    """One dialogue, which ends with the socket."""

    _dialogue: _Dialogue | None = None

    async def _handle(self, message: DialogueMessage) -> None:
        if message.voices or message.inputs or message.flush:
            self._dialogue = self._dialogue or self._open_dialogue(message)
        if self._dialogue:
            self._continue(self._dialogue, message)
        if message.close_socket:
            self._close_when_done(SocketClose(1000))


class DialogueMultiStreamInput(_DialogueSession, MultiContextSession[DialogueMessage]):
    """Several dialogues, each with an id."""

    def __init__(self, socket: WebSocket, dependencies: SessionDependencies, parameters: StreamParameters) -> None:
        super().__init__(socket, dependencies, parameters)
        self._dialogues: dict[str, _Dialogue] = {}  # of the contexts, and of some that have ended
        # Ids of contexts that could not be opened: their clients may have sent more before they read that.
        self._refused: deque[str] = deque(maxlen=_MAX_REFUSED)

    async def _handle(self, message: DialogueMessage) -> None:
        if context_id := message.context_id:
            await self._handle_context(context_id, message)
        elif not message.close_socket:
            raise InvalidMessage('"context_id" is missing', "context_id")
        if message.close_socket:
            self._close_when_done(SocketClose(1000))

    async def _handle_context(self, context_id: str, message: DialogueMessage) -> None:
        if context_id not in self._contexts and (message.voices or message.inputs):
            if context_id in self._refused and not message.voices:
                return
            await self._register(context_id, message)
        if context_id in self._contexts:
            self._continue(self._dialogues[context_id], message)
        if message.close_context:
            self._close_context(context_id)

    async def _register(self, context_id: str, message: DialogueMessage) -> None:
        """Opens a context; if it may not be opened, only that context is refused."""
        try:
            if len(self._contexts) >= MAX_CONTEXTS:
                raise TooManyContexts(MAX_CONTEXTS)
            dialogue = self._open_dialogue(message, context_id)
        except InvalidMessage:
            raise
        except SvcError as error:
            self._refused.append(context_id)
            await self._socket.send_text(self.messages(context_id).error(error))
            return
        self._contexts[context_id] = dialogue.context
        open_ones = {key: each for key, each in self._dialogues.items() if key in self._contexts}
        self._dialogues = {**open_ones, context_id: dialogue}
