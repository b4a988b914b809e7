"""Servers that require a key: the dialog that asks for it, the token sent in its place, and where it is kept."""

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
from tests.browser.conftest import AUDIBLE, TIMEOUT, OpenPage, Serve, wait_until

KEY = "a-key-of-the-tests"


@pytest.fixture
def with_key(serve: Serve) -> Iterator[str]:
    """The address of a server with a static key, which makes no tokens."""
    with serve(api_key=KEY) as address:
        yield address


@pytest.fixture
def with_table(serve: Serve, tmp_path: Path) -> Iterator[str]:
    """The address of a server with a keys table, which makes tokens for static keys too."""
    with serve(api_key=KEY, api_keys_table=f"sqlite:///{tmp_path / 'keys.db'}") as address:
        yield address


async def create_key(url: str, scope: Scope = Scope.FULL) -> tuple[str, StoredKey]:
    table = KeysTable(url)
    made = await table.create(time.time(), scopes=[scope])
    await table.close()
    return made


def enter_key(page: Page, key: str = KEY) -> None:
    page.fill("#key", key)
    page.click("#key-use")


def speak_and_get_credential(page: Page) -> str:
    """Speaks, and gives the credential in the first message of the socket."""
    page.fill("#text", "One two three.")
    sent: list[str] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(str(frame))))
    page.click("#say")
    expect(page.locator("#length")).not_to_have_text("–")
    credential: str = json.loads(sent[0])["authorization"]
    return credential.removeprefix("Bearer ")


def test_asks_for_the_key_and_speaks_with_it(with_key: str, open_page: OpenPage) -> None:
    page = open_page(with_key, wait=False)
    expect(page.get_by_role("dialog", name="This server requires a key")).to_be_visible()
    expect(page.locator("#key")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#key-dialog")).to_be_visible()
    enter_key(page)
    expect(page.locator("#key-dialog")).not_to_be_visible()
    expect(page.locator("#voice-count")).to_have_text("54 voices")
    assert speak_and_get_credential(page) == KEY


def test_a_wrong_key_is_refused(with_key: str, open_page: OpenPage) -> None:
    page = open_page(with_key, wait=False)
    enter_key(page, "wrong")
    expect(page.locator("#key-error")).to_contain_text("This key is not valid")
    enter_key(page, "")
    expect(page.locator("#key-error")).to_have_text("Type or paste the key.")
    enter_key(page)
    expect(page.locator("#key-dialog")).not_to_be_visible()


def test_speaks_with_a_token_if_the_server_makes_them(with_table: str, open_page: OpenPage) -> None:
    page = open_page(with_table, wait=False)
    requests: list[Request] = []
    page.on("request", lambda request: requests.append(request))
    enter_key(page)
    expect(page.locator("#voice-count")).to_have_text("54 voices")
    assert speak_and_get_credential(page).startswith("svc_tmp_")
    sent_with_key = [each for each in requests if KEY in each.headers.get("authorization", "")]
    paths = {each.url.removeprefix(with_table).partition("?")[0] for each in sent_with_key}
    assert paths == {"/v1/tokens/ephemeral", "/v1/pronunciation-dictionaries"}, "tokens may not read dictionaries"


def test_the_key_is_only_in_memory(with_key: str, open_page: OpenPage) -> None:
    page = open_page(with_key, wait=False)
    enter_key(page)
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


def test_code_samples_read_the_key_from_the_environment(with_key: str, open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(with_key, wait=False)
    enter_key(page)
    expect(page.locator("#key-dialog")).not_to_be_visible()
    page.fill("#text", "Hello.")
    page.click("#tab-python")
    command = [sys.executable, "-c", page.inner_text("#code")]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=TIMEOUT, env={**os.environ, "SVC_KEY": KEY})
    assert len((tmp_path / "speech.mp3").read_bytes()) > 1000


def test_a_key_for_speech_alone_cannot_clone(serve: Serve, open_page: OpenPage, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'keys.db'}"
    with serve(api_keys_table=url) as address, ThreadPoolExecutor(1) as executor:
        key, _ = executor.submit(asyncio.run, create_key(url, Scope.TTS)).result()
        page = open_page(address, wait=False)
        enter_key(page, key)
        assert speak_and_get_credential(page) == key
        page.get_by_role("link", name="Clone").click()
        page.set_input_files("#file", {"name": "clip.amr", "mimeType": "audio/amr", "buffer": b"#!AMR"})
        expect(page.locator("#recording-status")).to_have_text("clip.amr is ready.")
        page.fill("#clone-name", "Anna")
        page.check("#consent")
        page.click("#make")
        expect(page.locator("#banner")).to_contain_text("This key may only be used for speech")


def test_forget_key_asks_again(with_key: str, open_page: OpenPage) -> None:
    page = open_page(with_key, wait=False)
    enter_key(page)
    page.get_by_role("button", name="Forget key").click()
    expect(page.locator("#key-dialog")).to_be_visible()


def test_a_revoked_key_is_asked_for_again(serve: Serve, open_page: OpenPage, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'keys.db'}"

    async def revoke(key: StoredKey) -> None:
        table = KeysTable(url)
        await table.revoke(key.id, time.time())
        await table.close()

    with serve(api_keys_table=url, keys_cache_seconds=0) as address, ThreadPoolExecutor(1) as executor:
        (first, key), (second, _) = [executor.submit(asyncio.run, create_key(url)).result() for _ in range(2)]
        page = open_page(address, wait=False)
        enter_key(page, first)
        assert speak_and_get_credential(page).startswith("svc_tmp_")
        expect(page.locator("#say")).to_have_text("Speak")
        executor.submit(asyncio.run, revoke(key)).result()
        page.click("#say")
        expect(page.locator("#key-error")).to_contain_text("no longer valid")
        page.fill("#text", "Once more, with another key.")
        enter_key(page, second)
        expect(page.locator("#key-dialog")).not_to_be_visible()
        wait_until(page, AUDIBLE)  # the request is repeated with the new key
