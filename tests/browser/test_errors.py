"""Errors, shown in the banner with a title and a message that people understand."""

import threading
from contextlib import ExitStack

import httpx
from playwright.sync_api import Page, expect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from websockets.sync.client import connect

from svc.engine.fake import FakeEngine
from tests.browser.conftest import AUDIBLE, TIMEOUT, OpenPage, Serve, wait_until

_LONG = "This is one sentence of a long story. " * 60


class _SlowLoadingEngine(FakeEngine):
    """Loads until `ready` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.ready = threading.Event()

    def load(self) -> None:
        self.ready.wait(TIMEOUT)


def expect_banner(page: Page, title: str) -> None:
    expect(page.get_by_role("alert").filter(has_text=title)).to_be_visible()


def test_a_busy_server(serve: Serve, open_page: OpenPage) -> None:
    with serve(FakeEngine(work=0.3), max_sockets=1, max_streams=1, queue_seconds=0) as address, ExitStack() as others:
        path = "/v1/text-to-speech/af_heart/stream"
        others.enter_context(connect(f"{address.replace('http', 'ws')}{path}-input"))
        others.enter_context(httpx.stream("POST", f"{address}{path}", json={"text": _LONG}, timeout=TIMEOUT))
        page = open_page(address)
        page.click("#say")
        expect_banner(page, "The server is busy")
        expect(page.locator("#say")).to_have_text("Speak")
        others.close()
        page.get_by_role("button", name="Try again").click()
        wait_until(page, AUDIBLE)
        expect(page.locator("#banner")).to_be_hidden()


def test_waits_for_an_engine_that_is_loading(serve: Serve, open_page: OpenPage) -> None:
    engine = _SlowLoadingEngine()
    with serve(engine, ready=False) as address:
        page = open_page(address)
        page.click("#say")
        expect(page.locator("#status")).to_contain_text("loading")
        engine.ready.set()
        wait_until(page, AUDIBLE)


def test_waiting_for_the_engine_can_be_stopped(serve: Serve, open_page: OpenPage) -> None:
    engine = _SlowLoadingEngine()
    with serve(engine, ready=False) as address:
        page = open_page(address)
        page.click("#say")
        expect(page.locator("#status")).to_contain_text("loading")
        page.click("#say")
        expect(page.locator("#say")).to_have_text("Speak")
        expect(page.locator("#banner")).to_be_hidden()
        engine.ready.set()


def test_a_text_that_is_too_long(serve: Serve, open_page: OpenPage) -> None:
    with serve(max_characters=100) as address:
        page = open_page(address)
        page.fill("#text", "word " * 50)
        page.click("#say")
        expect_banner(page, "The text is too long")
        expect(page.locator("#banner")).to_contain_text("250 characters")


def test_a_server_that_does_not_answer(serve: Serve, open_page: OpenPage) -> None:
    with serve() as address:
        page = open_page(address)
    page.click("#say")
    expect_banner(page, "The server does not answer")
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator("#banner")).to_be_hidden()


def test_a_broken_connection_keeps_what_arrived(serve: Serve, open_page: OpenPage) -> None:
    """The socket is cut after its second message: what arrived before can still be replayed."""

    def break_sockets(app: ASGIApp) -> ASGIApp:
        async def cut(scope: Scope, receive: Receive, send: Send) -> None:
            sent = 0

            async def send_until_cut(message: Message) -> None:
                nonlocal sent
                if message["type"] == "websocket.send":
                    sent += 1
                    if sent > 2:
                        raise ConnectionError("cut")
                await send(message)

            try:
                await app(scope, receive, send_until_cut)
            except BaseExceptionGroup:
                await send({"type": "websocket.close", "code": 1011})
            except ConnectionError:
                await send({"type": "websocket.close", "code": 1011})

        return cut

    with serve(middleware=break_sockets) as address:
        page = open_page(address)
        page.fill("#text", _LONG)
        page.click("#say")
        expect_banner(page, "The connection was lost")
        wait_until(page, AUDIBLE)
        expect(page.locator("#say")).to_have_text("Speak")
        page.click("#replay")
        wait_until(page, AUDIBLE)


def test_a_voice_that_no_longer_exists(serve: Serve, open_page: OpenPage) -> None:
    with serve() as address:
        page = open_page(address)
        page.route(
            "**/previews/*",
            lambda route: route.fulfill(
                status=404, json={"detail": {"status": "voice_not_found", "message": "There is no such voice."}}
            ),
        )
        page.get_by_role("button", name="Hear Heart").click()
        expect_banner(page, "This voice no longer exists")


def test_markup_in_a_message_is_shown_as_text(serve: Serve, open_page: OpenPage) -> None:
    with serve() as address:
        page = open_page(address)
        body = {"detail": {"status": "voice_not_found", "message": "<img src=x onerror=alert(1)>"}}
        page.route("**/previews/*", lambda route: route.fulfill(status=404, json=body))
        page.get_by_role("button", name="Hear Heart").click()
        expect(page.locator("#banner")).to_contain_text("<img src=x")
        assert page.locator("#banner img").count() == 0
