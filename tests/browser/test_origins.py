"""A page of another origin, in a real browser, cannot make an open server speak, clone, or delete a voice."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc.engine.fake import FakeEngine
from svc.engine.protocol import Chunk, Utterance
from svc.voices.store import VoiceStore
from tests.browser.conftest import TIMEOUT, Serve, launch_browser
from tests.voices.examples import make_voice

NAME = "a-page.example"  # the browser is told that it is this machine
SPEECH = "/v1/text-to-speech/af_heart"

# Everything that a page can try, with and without leave to read the response.
_ATTACK = """
async ([svc, voice]) => {
  const form = new FormData();
  form.append("name", "Stolen");
  form.append("files", new Blob([new Uint8Array(1000)]));
  const body = '{"text": "Hello."}';
  const attempts = [
    ["/v1/text-to-speech/af_heart", { method: "POST", body }],
    ["/v1/text-to-speech/af_heart", { method: "POST", body, mode: "no-cors" }],
    ["/v1/text-to-speech/af_heart", { method: "POST", body, headers: { "content-type": "application/json" } }],
    ["/v1/text-to-speech/af_heart/stream", { method: "POST", body, mode: "no-cors" }],
    ["/voices", { method: "POST", body: form, mode: "no-cors" }],
    ["/v1/voices/add", { method: "POST", body: form }],
    [`/v1/voices/${voice}/edit`, { method: "POST", body: form, mode: "no-cors" }],
    [`/v1/voices/${voice}`, { method: "DELETE" }],
    [`/voices/${voice}`, { method: "DELETE" }],
    ["/v1/voices", {}],
  ];
  const readable = [];
  for (const [path, options] of attempts) {
    try {
      const response = await fetch(svc + path, options);
      if (response.type !== "opaque" && response.ok) readable.push(path);
    } catch {} // refused, by the browser or by the server
  }
  for (const kind of ["stream-input", "multi-stream-input"]) {
    const socket = new WebSocket(svc.replace("http", "ws") + `/v1/text-to-speech/af_heart/${kind}`);
    await new Promise((resolve) => {
      socket.onopen = () => { readable.push(kind); socket.send('{"text": "Hello. "}'); socket.send('{"text": ""}'); };
      socket.onmessage = () => readable.push("audio");
      socket.onerror = socket.onclose = resolve;
    });
  }
  for (const tag of ["audio", "img"]) {
    const element = document.createElement(tag);
    await new Promise((resolve) => {
      element.onerror = resolve;
      element.onload = element.onloadeddata = () => { readable.push(tag); resolve(); };
      element.src = `${svc}/previews/af_heart.mp3`;
    });
  }
  return readable;
}
"""


class CountingEngine(FakeEngine):
    def __init__(self) -> None:
        super().__init__()
        self.utterances = 0

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        self.utterances += 1
        return super().synthesize(utterance)


@contextmanager
def serve_blank_page() -> Iterator[str]:
    class Blank(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>A page</title>")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Blank) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://{NAME}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launch_browser(f"--host-resolver-rules=MAP {NAME} 127.0.0.1") as browser:
        yield browser


@pytest.mark.parametrize("rebinding", [False, True])
def test_a_page_of_another_origin_can_do_nothing(
    serve: Serve, browser: Browser, tmp_path: Path, rebinding: bool
) -> None:
    """Also not under a name of its own that it points at this machine."""
    voice = make_voice(reference=None)
    measured = voice.parameters.with_loudness(voice.language, -23.0)  # or the server speaks with it to measure that
    voice = replace(voice, parameters=measured)
    VoiceStore(tmp_path / "data/voices").add(voice, None)
    engine = CountingEngine()
    statuses: list[tuple[str, str, int]] = []

    def record(app: ASGIApp) -> ASGIApp:
        async def call(scope: Scope, receive: Receive, send: Send) -> None:
            async def note(message: Message) -> None:
                if message["type"] in ("http.response.start", "websocket.http.response.start"):
                    statuses.append((scope.get("method", "WEBSOCKET"), scope["path"], message["status"]))
                elif message["type"] == "websocket.accept":
                    statuses.append(("WEBSOCKET", scope["path"], 101))
                await send(message)

            await app(scope, receive, note if scope["type"] != "lifespan" else send)

        return call

    with serve(engine, record) as address, serve_blank_page() as page_address:
        before = engine.utterances
        statuses.clear()
        port = address.rpartition(":")[2]
        page = browser.new_page()
        page.set_default_timeout(1000 * TIMEOUT)
        page.goto(page_address)
        target = f"http://{NAME}:{port}" if rebinding else address
        readable = page.evaluate(_ATTACK, [target, voice.voice_id])
        page.close()
        assert readable == []
        assert engine.utterances == before, "nothing was spoken"
        voices = httpx.get(f"{address}/v1/voices", timeout=TIMEOUT).json()["voices"]
        assert [each["voice_id"] for each in voices if each["category"] == "cloned"] == [voice.voice_id]
        # The requests did arrive, and it was the server that refused them.
        refused = {(method, path) for method, path, status in statuses if status == 403}
        assert {("POST", SPEECH), ("POST", "/voices"), ("WEBSOCKET", f"{SPEECH}/stream-input")} <= refused
        allowed = {(method, path) for method, path, status in statuses if status < 400 and method != "OPTIONS"}
        assert allowed <= {("GET", "/v1/voices")}, json.dumps(sorted(allowed))
