"""The HTTP and WebSocket protocols of the server: uvicorn's, with limits on clients that waste a connection.

The server checks every connection once a second (`is_wasted`): timers for each would have to be set wherever uvicorn
closes a transport, because a transport that is merely closed waits for ever for a client that does not read.
"""

import asyncio
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import State

from svc.api.errors import render_error
from svc.api.input_budget import InputBudget
from svc.errors import InvalidHttp, MessageTooLarge, SvcError
from svc.settings import Settings

# A stalled reader takes less than this in the time that it has. It is what lies between the two marks of a transport's
# buffer, so a stream whose writing was paused goes on once that much has been read.
_MIN_PROGRESS_BYTES = 48 * 1024


# A frame takes this much more than its content. Of a message in many small ones, that is most.
_FRAME_BYTES = 64


class ServerConfig(uvicorn.Config):
    """uvicorn's configuration, with what the protocols need besides."""

    def __init__(
        self, app: Any, settings: Settings, input_budget: InputBudget, ws_max_first_size: int, **options: Any
    ) -> None:
        super().__init__(app, **options)
        self.settings = settings
        self.input_budget = input_budget
        self.ws_max_first_size = ws_max_first_size
        """The largest message of a socket that has not authenticated yet."""


class StallDetector:
    """Notices that a client does not read what waits for it."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._waiting_bytes = 0

    def reset(self) -> None:
        self._since = None

    def stalled_seconds(self, transport: asyncio.Transport, now: float) -> float:
        """How long the client has hardly read; called while nothing is added to what waits."""
        waiting_bytes = transport.get_write_buffer_size()
        if self._since is None or waiting_bytes <= self._waiting_bytes - _MIN_PROGRESS_BYTES:
            self._since, self._waiting_bytes = now, waiting_bytes
        return now - self._since


class HttpProtocol(H11Protocol):
    """Refuses ambiguous requests, slow headers, and more connections than allowed."""

    config: ServerConfig

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = _StrictConnection(h11.SERVER)
        self._stall = StallDetector()
        self._idle_since = self.loop.time()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.config.settings.max_connections:
            transport.abort()

    def is_wasted(self, now: float) -> bool:
        """Whether the client has stalled, or has not sent the header of its next request in time."""
        if self.flow.write_paused or self.transport.is_closing():
            return self._stall.stalled_seconds(self.transport, now) > self.config.settings.stall_seconds
        if self.transport.get_write_buffer_size() or not (self.cycle is None or self.cycle.response_complete):
            self._idle_since = now
        return now - self._idle_since > self.config.settings.header_seconds

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stall.reset()

    def send_400_response(self, msg: str) -> None:
        """Answers what is not HTTP. An answer that has begun is cut off instead."""
        begun = self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # the application is done with this request
            self.cycle.message_event.set()
        if begun:
            self.transport.abort()
            return
        self.transport.write(_render_bad_request())
        self.transport.close()

    def _should_upgrade(self) -> bool:
        return self.scope["method"] == "GET" and super()._should_upgrade()


class _StrictConnection(h11.Connection):
    """Refuses a request with two lengths, which a proxy in front may read in another way: request smuggling."""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            if {b"content-length", b"transfer-encoding"} <= names:
                raise h11.RemoteProtocolError("both Content-Length and Transfer-Encoding")
        return event


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """Closes sockets so that the client learns the reason, and aborts those of clients that do not read.

    A transport that is closed while data still comes in is reset, which loses the reason.

    What it holds of messages, until the session takes them, is bounded: by little until the client has authenticated,
    and for all sockets and requests together.
    """

    config: ServerConfig

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stall = StallDetector()
        self._reservation = self.config.input_budget.open()
        self._queued_bytes = 0

    def is_wasted(self, now: float) -> bool:
        if self.writable.is_set() and not self.transport.is_closing():
            return False
        return self._stall.stalled_seconds(self.transport, now) > self.config.settings.stall_seconds

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stall.reset()

    def data_received(self, data: bytes) -> None:
        if self.conn.parser_exc is not None:
            return  # the close is sent already
        super().data_received(data)
        if not self.handshake_initiated:  # headers that are too long or too many for this protocol
            self.transport.write(_render_bad_request())
            self.transport.close()
        elif self.conn.parser_exc is None and not self.transport.is_closing():
            self._bound_input()

    def _bound_input(self) -> None:
        """Ends the connection if it holds too much."""
        unfinished = len(self.conn.reader.buffer) + (self.conn.current_size or 0) + _FRAME_BYTES * len(self.frames)
        authenticated = self.scope.get("state", {}).get("authenticated", False)
        try:
            if unfinished > (self.config.ws_max_size if authenticated else self.config.ws_max_first_size):
                raise MessageTooLarge(self.config.ws_max_size)
            self._reservation.resize(unfinished + self._queued_bytes)
        except SvcError as error:
            self._reservation.release()
            self.frames, self.conn.current_size = [], None
            if self.handshake_complete and not self.close_sent:
                self.conn.fail(error.close_code, error.status)
                self.handle_parser_exception()
            else:
                self.transport.abort()

    async def receive(self) -> Any:
        message = await super().receive()
        if self.queue.empty():
            self._queued_bytes = 0
            self._reservation.resize(0)
        return message

    def connection_lost(self, exc: Exception | None) -> None:
        self._reservation.release()
        super().connection_lost(exc)

    def send_receive_event_to_app(self) -> None:
        """Closes with 1007 on text that is not UTF-8: uvicorn would log a traceback, and close a second time."""
        if self.curr_msg_data_type == "text" and not self.close_sent and not _is_utf8(self.frames):
            self.frames = []
            if self.conn.state is State.OPEN:
                self.conn.send_close(1007, "The message is not UTF-8.")
                self.handle_parser_exception()
            return
        self._queued_bytes += sum(map(len, self.frames))
        super().send_receive_event_to_app()

    def handle_parser_exception(self) -> None:
        reason = self.conn.close_sent
        assert reason is not None
        self.queue.put_nowait({"type": "websocket.disconnect", "code": reason.code, "reason": reason.reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.close_timer = self.loop.call_later(self.close_timeout, self.transport.abort)
        if self.transport.can_write_eof():
            self.transport.write_eof()

    async def run_asgi(self) -> None:
        await super().run_asgi()
        self.loop.call_later(self.close_timeout, self.transport.abort)

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self.loop.call_later(self.close_timeout, self.transport.abort)


def _is_utf8(frames: list[bytes]) -> bool:
    try:
        b"".join(frames).decode()
    except UnicodeDecodeError:
        return False
    return True


def _render_bad_request() -> bytes:
    body = bytes(render_error(InvalidHttp()).body)
    return (
        b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
        b"content-length: %d\r\n\r\n%s" % (len(body), body)
    )
