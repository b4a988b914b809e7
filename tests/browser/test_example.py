"""The example application: the words of a model are spoken while they come, and whoever interrupts has silence."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import AUDIBLE, OpenPage, Serve, wait_until

APP = Path(__file__).parents[2] / "examples/voice_chat/app.py"
KEY = "a-key-of-the-tests"
SILENT = "window.audioOutput.peak() === 0"
HEARD = "document.querySelector('#heard').textContent.length"


@contextmanager
def run_example(**environment: str) -> Iterator[str]:
    """The address of the application."""
    with subprocess.Popen(
        [sys.executable, APP],
        env={**os.environ, "CHAT_PORT": "0", **environment},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().removeprefix("open ").strip()
        finally:
            process.terminate()


def ask(page: Page, question: str) -> None:
    page.fill("#question", question)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("guarded", [True, False])
def test_speaks_and_is_interrupted(serve: Serve, open_page: OpenPage, tmp_path: Path, guarded: bool) -> None:
    settings = {"api_key": KEY, "api_keys_table": f"sqlite:///{tmp_path / 'keys.db'}"} if guarded else {}
    with serve(**settings) as svc, run_example(CHAT_URL=svc, CHAT_KEY=KEY if guarded else "") as address:
        page = open_page(address, wait=False)
        sockets: list[str] = []
        received: list[dict[str, object]] = []

        def note(socket: object) -> None:
            sockets.append(socket.url)  # type: ignore[attr-defined]
            socket.on("framereceived", lambda frame: received.append(json.loads(frame)))  # type: ignore[attr-defined]

        page.on("websocket", note)
        ask(page, "What is the sea")
        wait_until(page, AUDIBLE)
        wait_until(page, f"{HEARD} > 10")
        assert "You asked: What is the sea." in page.inner_text("body")
        page.locator("#question").press_sequentially("B")  # barge-in: who types has heard enough
        wait_until(page, SILENT)
        assert page.evaluate(HEARD) < page.evaluate("document.querySelector('body').innerText.length") - 100
        ask(page, "And the stars")
        wait_until(page, AUDIBLE)
        assert "You asked: And the stars." in page.inner_text("body")
        page.click("#stop")
        wait_until(page, SILENT)
        before = page.evaluate(HEARD)
        page.wait_for_timeout(1000)
        assert page.evaluate(SILENT)
        assert page.evaluate(HEARD) == before
        expect(page.locator("#problem")).to_have_text("")
        assert len(sockets) == 1, "one token, one socket, the whole conversation"
        assert ("single_use_token=svc_once_" in sockets[0]) == guarded
        assert not any(KEY in text for text in (page.content(), *sockets))
        assert {frame.get("contextId") for frame in received} == {"answer-1", "answer-2"}


def test_an_answer_is_heard_to_its_end(serve: Serve, open_page: OpenPage) -> None:
    with serve() as svc, run_example(CHAT_URL=svc, CHAT_KEY="") as address:
        page = open_page(address, wait=False)
        ask(page, "Say it all")
        expect(page.locator("#heard")).to_contain_text("at any time: just start to type.")
        assert page.inner_text("#unheard").strip() == ""


def test_problems_are_told(serve: Serve, open_page: OpenPage) -> None:
    with serve(api_key=KEY) as svc:
        for key, problem in (("wrong", "The API key is unknown"), (KEY, "Tokens need a keys table")):
            with run_example(CHAT_URL=svc, CHAT_KEY=key) as address:
                page = open_page(address, wait=False)
                ask(page, "Hello")
                expect(page.locator("#problem")).to_contain_text(problem)
    with run_example(CHAT_URL="http://127.0.0.1:9", CHAT_KEY="") as address:
        page = open_page(address, wait=False)
        ask(page, "Hello")
        expect(page.locator("#problem")).to_contain_text("could not be opened")
