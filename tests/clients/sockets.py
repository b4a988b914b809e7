"""Clients of the sockets, and what the server saw of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc.app import create_app
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from tests.clients.conftest import KEY, VOICE, Certificate, Report, run, serving, wait_until_ready


@dataclass(frozen=True)
class Witnessed:
    """A client's report, and how the server ended each of its sockets: the status of a refusal, or a close code."""

    report: Report
    endings: list[int]


def witness(
    pipeline: Pipeline,
    driver: str,
    packages: str,
    *texts: str,
    calls: Sequence[str] = (),
    certificate: Certificate | None = None,
) -> Witnessed:
    """Runs a driver with a server that nobody else has touched, and that lets everybody wait on a slow machine."""
    endings: list[int] = []
    app = create_app(Settings(api_key=KEY, queue_seconds=300), pipeline)
    app.add_middleware(_NotesEndings, endings=endings)
    with serving(app, certificate) as address:
        wait_until_ready(address)
        trusted = {"SSL_CERT_FILE": certificate.authority} if certificate else {}
        return Witnessed(run(driver, packages, address, KEY, VOICE, *texts, calls=calls, **trusted), endings)


class _NotesEndings:
    def __init__(self, app: ASGIApp, endings: list[int]) -> None:
        self._app = app
        self._endings = endings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def note(message: Message) -> None:
            if message["type"] == "websocket.http.response.start":
                self._endings.append(message["status"])
            elif message["type"] == "websocket.close":
                self._endings.append(message["code"])
            await send(message)

        await self._app(scope, receive, note)
