"""What goes wrong, in words that a person understands."""

import threading
from contextlib import ExitStack

import httpx
from playwright.sync_api import Page, expect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from websockets.sync.client import connect

from svc.engine.fake import FakeEngine
from tests.browser.conftest import Open, Serve, until

_LONG = "This is one sentence of a long story. " * 60


class _LateEngine(FakeEngine):
    """Is ready to speak only when it is told to be."""

    def __init__(self) -> None:
        super().__init__()
        self.ready = threading.Event()

    def load(self) -> None:
        self.ready.wait(60)


def told(page: Page, title: str) -> None:
    expect(page.get_by_role("alert").filter(has_text=title)).to_be_visible()


def test_a_busy_server(serve: Serve, open_page: Open) -> None:
    with serve(FakeEngine(work=0.3), max_sockets=1, max_streams=1) as address, ExitStack() as others:
        path = "/v1/text-to-speech/af_heart/stream"
        others.enter_context(connect(f"{address.replace('http', 'ws')}{path}-input"))
        others.enter_context(httpx.stream("POST", f"{address}{path}", json={"text": _LONG}, timeout=60))
        page = open_page(address)
        page.click("#say")
        told(page, "The server is busy")
        expect(page.locator("#say")).to_have_text("Speak")
        others.close()
        page.get_by_role("button", name="Try again").click()
        until(page, "window.ears.loudest() > 0.05")
        expect(page.locator("#problem")).to_be_hidden()


def test_an_engine_that_warms_up_is_waited_for(serve: Serve, open_page: Open) -> None:
    engine = _LateEngine()
    with serve(engine, ready=False) as address:
        page = open_page(address)
        page.click("#say")
        expect(page.locator("#status")).to_contain_text("warming up")
        engine.ready.set()
        until(page, "window.ears.loudest() > 0.05")


def test_waiting_can_be_stopped(serve: Serve, open_page: Open) -> None:
    engine = _LateEngine()
    with serve(engine, ready=False) as address:
        page = open_page(address)
        page.click("#say")
        expect(page.locator("#status")).to_contain_text("warming up")
        page.click("#say")
        expect(page.locator("#say")).to_have_text("Speak")
        expect(page.locator("#problem")).to_be_hidden()
        engine.ready.set()


def test_a_text_that_is_too_long(serve: Serve, open_page: Open) -> None:
    with serve(max_characters=100) as address:
        page = open_page(address)
        page.fill("#text", "word " * 50)
        page.click("#say")
        told(page, "The text is too long")
        expect(page.locator("#problem")).to_contain_text("250 characters")


def test_a_server_that_is_gone(serve: Serve, open_page: Open) -> None:
    with serve() as address:
        page = open_page(address)
    page.click("#say")
    told(page, "The server does not answer")
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator("#problem")).to_be_hidden()


def test_a_connection_that_breaks_keeps_what_was_heard(serve: Serve, open_page: Open) -> None:
    """The socket is cut after its second message: what came before can still be played."""

    def breaking(app: ASGIApp) -> ASGIApp:
        async def cut(scope: Scope, receive: Receive, send: Send) -> None:
            sent = 0

            async def until_cut(message: Message) -> None:
                nonlocal sent
                if message["type"] == "websocket.send":
                    sent += 1
                    if sent > 2:
                        raise ConnectionError("cut")
                await send(message)

            try:
                await app(scope, receive, until_cut)
            except BaseExceptionGroup:
                await send({"type": "websocket.close", "code": 1011})
            except ConnectionError:
                await send({"type": "websocket.close", "code": 1011})

        return cut

    with serve(around=breaking) as address:
        page = open_page(address)
        page.fill("#text", _LONG)
        page.click("#say")
        told(page, "The connection was lost")
        until(page, "window.ears.loudest() > 0.05")
        expect(page.locator("#say")).to_have_text("Speak")
        page.click("#again")
        until(page, "window.ears.loudest() > 0.05")


def test_a_voice_that_is_gone(serve: Serve, open_page: Open) -> None:
    with serve() as address:
        page = open_page(address)
        page.route(
            "**/previews/*",
            lambda route: route.fulfill(
                status=404, json={"detail": {"status": "voice_not_found", "message": "There is no such voice."}}
            ),
        )
        page.get_by_role("button", name="Hear Heart").click()
        told(page, "This voice is not there any more")


def test_markup_in_words_of_the_server_stays_text(serve: Serve, open_page: Open) -> None:
    with serve() as address:
        page = open_page(address)
        words = {"detail": {"status": "voice_not_found", "message": "<img src=x onerror=alert(1)>"}}
        page.route("**/previews/*", lambda route: route.fulfill(status=404, json=words))
        page.get_by_role("button", name="Hear Heart").click()
        expect(page.locator("#problem")).to_contain_text("<img src=x")
        assert page.locator("#problem img").count() == 0
