"""With a key configured: asked for, kept in memory alone, and spoken for by a token."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, expect

from svc.auth.keys import Scope, StoredKey
from svc.auth.table import KeysTable
from tests.browser.conftest import Open, Serve, until

KEY = "a-key-of-the-tests"


@pytest.fixture
def with_key(serve: Serve) -> Iterator[str]:
    """A server with a static key, which makes no tokens."""
    with serve(api_key=KEY) as address:
        yield address


@pytest.fixture
def with_table(serve: Serve, tmp_path: Path) -> Iterator[str]:
    """A server with a keys table, which makes tokens for static keys too."""
    with serve(api_key=KEY, api_keys_table=f"sqlite:///{tmp_path / 'keys.db'}") as address:
        yield address


async def created(place: str, scope: Scope = Scope.FULL) -> tuple[str, StoredKey]:
    table = KeysTable(place)
    made = await table.create(time.time(), scopes=[scope])
    await table.close()
    return made


def unlock(page: Page, key: str = KEY) -> None:
    page.fill("#key", key)
    page.click("#key-use")


def spoken_with(page: Page) -> str:
    """The credential in the first message of the socket that speaks."""
    page.fill("#text", "One two three.")
    sent: list[str] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(str(frame))))
    page.click("#say")
    expect(page.locator("#length")).not_to_have_text("–")
    credential: str = json.loads(sent[0])["authorization"]
    return credential.removeprefix("Bearer ")


def test_asks_for_the_key_and_speaks_with_it(with_key: str, open_page: Open) -> None:
    page = open_page(with_key, wait=False)
    expect(page.get_by_role("dialog", name="This server asks for a key")).to_be_visible()
    expect(page.locator("#key")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#key-dialog")).to_be_visible()
    unlock(page)
    expect(page.locator("#key-dialog")).not_to_be_visible()
    expect(page.locator("#voice-count")).to_have_text("54 voices")
    assert spoken_with(page) == KEY


def test_a_wrong_key_is_told_so(with_key: str, open_page: Open) -> None:
    page = open_page(with_key, wait=False)
    unlock(page, "wrong")
    expect(page.locator("#key-problem")).to_contain_text("This key does not open the door")
    unlock(page, "")
    expect(page.locator("#key-problem")).to_have_text("Type or paste the key.")
    unlock(page)
    expect(page.locator("#key-dialog")).not_to_be_visible()


def test_speaks_with_a_token_where_the_server_makes_them(with_table: str, open_page: Open) -> None:
    page = open_page(with_table, wait=False)
    requests: list[Request] = []
    page.on("request", lambda request: requests.append(request))
    unlock(page)
    expect(page.locator("#voice-count")).to_have_text("54 voices")
    assert spoken_with(page).startswith("svc_tmp_")
    with_the_key = [each for each in requests if KEY in each.headers.get("authorization", "")]
    assert [each.url.removeprefix(with_table) for each in with_the_key] == ["/v1/tokens/ephemeral"]


def test_the_key_is_nowhere_but_in_memory(with_key: str, open_page: Open) -> None:
    page = open_page(with_key, wait=False)
    unlock(page)
    expect(page.locator("#key-dialog")).not_to_be_visible()
    page.click("#tab-curl")
    expect(page.locator("#code")).to_contain_text("$SVC_KEY")
    kept = page.evaluate(
        "JSON.stringify([localStorage, sessionStorage, document.cookie, location.href, document.body.outerHTML,"
        " [...document.querySelectorAll('input')].map(({ value }) => value)])"
    )
    assert KEY not in kept
    page.reload()
    expect(page.locator("#key-dialog")).to_be_visible()


def test_code_takes_the_key_from_the_environment(with_key: str, open_page: Open, tmp_path: Path) -> None:
    page = open_page(with_key, wait=False)
    unlock(page)
    expect(page.locator("#key-dialog")).not_to_be_visible()
    page.fill("#text", "Hello.")
    page.click("#tab-python")
    command = [sys.executable, "-c", page.inner_text("#code")]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60, env={**os.environ, "SVC_KEY": KEY})
    assert len((tmp_path / "speech.mp3").read_bytes()) > 1000


def test_a_key_that_may_only_speak_is_told_so(serve: Serve, open_page: Open, tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path / 'keys.db'}"
    with serve(api_keys_table=place) as address, ThreadPoolExecutor(1) as elsewhere:
        key, _ = elsewhere.submit(asyncio.run, created(place, Scope.TTS)).result()
        page = open_page(address, wait=False)
        unlock(page, key)
        assert spoken_with(page) == key
        page.get_by_role("link", name="Clone").click()
        page.set_input_files("#file", {"name": "clip.amr", "mimeType": "audio/amr", "buffer": b"#!AMR"})
        expect(page.locator("#take-status")).to_have_text("clip.amr is ready.")
        page.fill("#clone-name", "Anna")
        page.check("#consent")
        page.click("#make")
        expect(page.locator("#problem")).to_contain_text("This key may only speak")


def test_forgets_the_key(with_key: str, open_page: Open) -> None:
    page = open_page(with_key, wait=False)
    unlock(page)
    page.get_by_role("button", name="Forget key").click()
    expect(page.locator("#key-dialog")).to_be_visible()


def test_a_key_that_was_revoked_is_asked_for_anew(serve: Serve, open_page: Open, tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path / 'keys.db'}"

    async def revoked(key: StoredKey) -> None:
        table = KeysTable(place)
        await table.revoke(key.id, time.time())
        await table.close()

    with serve(api_keys_table=place, keys_cache_seconds=0) as address, ThreadPoolExecutor(1) as elsewhere:
        (first, key), (second, _) = [elsewhere.submit(asyncio.run, created(place)).result() for _ in range(2)]
        page = open_page(address, wait=False)
        unlock(page, first)
        assert spoken_with(page).startswith("svc_tmp_")
        expect(page.locator("#say")).to_have_text("Speak")
        elsewhere.submit(asyncio.run, revoked(key)).result()
        page.click("#say")
        expect(page.locator("#key-problem")).to_contain_text("no longer valid")
        page.fill("#text", "Once more, with another key.")
        unlock(page, second)
        expect(page.locator("#key-dialog")).not_to_be_visible()
        until(page, "window.ears.loudest() > 0.05")  # what was asked for is spoken after all
