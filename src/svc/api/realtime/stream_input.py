"""`…/stream-input`: one text on a socket, which ends with an empty message."""

from svc.api.realtime.context import Context
from svc.api.realtime.messages import Message
from svc.api.realtime.session import Session, SocketClose
from svc.errors import InvalidMessage
from svc.text.split import ends_sentence


class StreamInput(Session):
    _text: Context | None = None

    async def _take(self, message: Message) -> None:
        first = self._text is None
        self._text = self._text or self._begin(message)
        if message.text:
            self._text.write(message.text, self._parameters.auto_mode and ends_sentence(message.text))
        elif message.text is None and not first and not message.flush:
            raise InvalidMessage('it has no "text"')
        if message.flush:
            self._text.flush()
        if message.text == "":
            self._text.flush()
            self._end_with(SocketClose(1000))
