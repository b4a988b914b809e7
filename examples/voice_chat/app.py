"""A voice chat in one small server: a language model writes, the browser speaks, and one can interrupt.

    svc serve                               in one terminal
    python examples/voice_chat/app.py       in another; then open http://127.0.0.1:8080

It needs Python and nothing else. `think` stands in for the language model: replace it with a call to yours.

CHAT_URL    where svc runs, by default http://127.0.0.1:8000
CHAT_KEY    a key of its keys table (`svc keys create --name chat`); none for an open server
CHAT_PORT   the port of this server, by default 8080
"""

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

SVC = os.environ.get("CHAT_URL", "http://127.0.0.1:8000").rstrip("/")
KEY = os.environ.get("CHAT_KEY", "")
PORT = int(os.environ.get("CHAT_PORT", "8080"))
VOICE = "af_heart"

FOLDER = Path(__file__).parent
FILES = {"/": ("page.html", "text/html"), "/chat.js": ("chat.js", "text/javascript")}


def think(question: str) -> Iterator[str]:
    """Stands in for a language model: an answer, a few characters at a time."""
    answer = (
        f"You asked: {question}. I am only a stand-in, so let me tell you about the sea instead. "
        "Long before there were charts, sailors kept the coast in sight and counted the headlands as they passed. "
        "At night they listened. A change in the sound of the waves meant shallow water, and the smell of pines meant "
        "that land was near. The boldest of them learned to read the stars, and then the whole ocean lay open. "
        "You may interrupt me at any time: just start to type."
    )
    for word in answer.split(" "):
        time.sleep(0.05)
        yield f"{word} "


def open_socket_address() -> str:
    """The address of a socket of svc that the browser may open once. The key stays here."""
    query = {"output_format": "pcm_24000", "sync_alignment": "true", "inactivity_timeout": "180"}
    if KEY:
        request = urllib.request.Request(
            f"{SVC}/v1/single-use-token/tts_websocket", method="POST", headers={"xi-api-key": KEY}
        )
        with urllib.request.urlopen(request) as response:
            query["single_use_token"] = json.load(response)["token"]
    return f"{SVC.replace('http', 'ws', 1)}/v1/text-to-speech/{VOICE}/multi-stream-input?{urlencode(query)}"


class Chat(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path not in FILES:
            self.send_error(404)
            return
        name, content_type = FILES[self.path]
        self._answer(200, content_type, (FOLDER / name).read_bytes())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        if self.path == "/socket":
            self._send_socket_address()
        elif self.path == "/ask":
            self._send_words(body)
        else:
            self.send_error(404)

    def _send_socket_address(self) -> None:
        try:
            self._answer(200, "text/plain", open_socket_address().encode())
        except urllib.error.HTTPError as error:  # svc says why: a wrong key, or a server without a keys table
            self._answer(502, "text/plain", json.load(error)["detail"]["message"].encode())
        except OSError as error:
            self._answer(502, "text/plain", f"svc cannot be reached at {SVC}: {error}".encode())

    def _send_words(self, question: str) -> None:
        """Sends each word as it is written. The response has no length: it ends when the connection does."""
        self._answer(200, "text/plain; charset=utf-8")
        try:
            for word in think(question.strip()[:200]):
                self.wfile.write(word.encode())
        except ConnectionError:
            pass  # the user has interrupted: the model need not write any further

    def _answer(self, status: int, content_type: str, content: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("cache-control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Quiet: what people ask is nobody else's business."""


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", PORT), Chat) as server:
        print(f"open http://127.0.0.1:{server.server_port}", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()
