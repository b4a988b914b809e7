"""Malformed HTTP requests and socket messages: valid ones, changed at random. The same seed makes the same ones."""

import json
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

KEY = "a-key-of-the-benchmark"
_BOUNDARY = "a-boundary"
_VOICE = "svcAfHeart0000000000"


@dataclass
class HttpRequest:
    """Bytes as they go over the wire, in parts that can be changed one by one."""

    method: str
    path: str
    query: list[tuple[str, str]] = field(default_factory=list)
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    version: str = "HTTP/1.1"
    framed: bool = True
    """Whether a `Content-Length` is added."""

    def encode(self) -> bytes:
        query = "?" + "&".join(f"{name}={value}" for name, value in self.query) if self.query else ""
        headers = list(self.headers)
        if self.framed and self.body:
            headers.append(("Content-Length", str(len(self.body))))
        head = f"{self.method} {self.path}{query} {self.version}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers)
        return head.encode("utf-8", "surrogatepass") + b"\r\n" + self.body


def _forge_wav(rng: random.Random) -> bytes:
    """A WAV file whose header says something that is not so."""
    samples = rng.randbytes(rng.choice((0, 1, 64, 4000)))
    size = rng.choice((0, 36, len(samples), 2**31, 2**32 - 1))
    codec = rng.choice((0, 1, 2, 3, 6, 7, 85, 0x2001, 0xFFFE, 0xFFFF))
    channels, rate, bits = (
        rng.choice((0, 1, 2, 65_535)),
        rng.choice((0, 1, 24_000, 2**32 - 1)),
        rng.choice((0, 8, 16, 64)),
    )
    form = struct.pack("<HHIIHH", codec, channels, rate, rng.choice((0, 48_000, 2**32 - 1)), rng.choice((0, 2)), bits)
    return b"".join((
        b"RIFF", struct.pack("<I", size), b"WAVEfmt ", struct.pack("<I", rng.choice((0, 16, 18, 2**32 - 1))), form,
        b"data", struct.pack("<I", size), samples,
    ))  # fmt: skip


_JUNK_TEXTS = (
    "", " ", "\x00", "\n", "\r\n", "null", "NaN", "-1", "1e999", "9" * 400, "true", "[]", "{}", "{'a': 'b'}", "\ud800",
    "\u202e", "\ufeff", "ﷺ" * 50, "a" * 5000, "<break time='10s'/>" * 3, "<speak>", "&#0;", "../../etc/passwd", "%00",
    "%", "%zz", "%c0%ae", "'; DROP TABLE keys; --", "${7*7}", "custom-" + "A" * 20, "custom-../x", "﷽", "🏳️‍🌈" * 9,
    "mp3_44100_128", "pcm_0", "wav_99999999", "x-y-z", "0", "-0", "0x10", "1_000", "١٢", "inf", "\t", "=", "&", ";",
    "__proto__",
)  # fmt: skip


def junk(rng: random.Random, depth: int = 2) -> Any:
    """Any JSON value."""
    kinds: list[Callable[[], Any]] = [
        lambda: rng.choice(_JUNK_TEXTS),
        lambda: rng.choice((None, True, False)),
        lambda: rng.choice((0, -1, 1, 0.5, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, 1e308, -0.0, 1.5)),
        lambda: rng.choice((float("nan"), float("inf"), -float("inf"))),
    ]
    if depth:
        kinds += [
            lambda: [junk(rng, depth - 1) for _ in range(rng.choice((0, 1, 3)))],
            lambda: {rng.choice(_JUNK_TEXTS): junk(rng, depth - 1) for _ in range(rng.choice((0, 1, 3)))},
        ]
    return rng.choice(kinds)()


def change_json(rng: random.Random, value: dict[str, Any]) -> dict[str, Any]:
    """The object with some of its fields replaced, removed or added."""
    changed = dict(value)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        name = rng.choice([*changed, *value, rng.choice(_JUNK_TEXTS)])
        action = rng.random()
        if action < 0.15:
            changed.pop(name, None)
        elif action < 0.35 and isinstance(changed.get(name), dict):
            changed[name] = change_json(rng, changed[name])
        else:
            changed[name] = junk(rng)
    return changed


def damage(rng: random.Random, content: bytes) -> bytes:
    """The bytes cut, doubled, overwritten or in another encoding."""
    at = rng.randrange(len(content) + 1)
    return rng.choice((
        lambda: content[:at],
        lambda: content + content,
        lambda: content[:at] + rng.randbytes(rng.randint(1, 20)) + content[at:],
        lambda: rng.randbytes(len(content)),
        lambda: b"\xef\xbb\xbf" + content,
        lambda: content.decode(errors="replace").encode("utf-16"),
        lambda: b"[" * rng.choice((10, 1000, 100_000)),
        lambda: b'{"a":' * rng.choice((10, 1000, 50_000)),
        lambda: b"",
    ))()  # fmt: skip


_SPEECH = {
    "text": "Yes.", "model_id": "svc-turbo", "seed": 1, "language_code": "en", "previous_text": "No.", "next_text": "",
    "voice_settings": {"stability": 0.5, "similarity_boost": 0.7, "style": 0, "speed": 1, "use_speaker_boost": True},
    "pronunciation_dictionary_locators": [], "apply_text_normalization": "auto", "previous_request_ids": [],
}  # fmt: skip
_FIELDS = {
    "name": "Anna", "description": "", "labels": '{"accent": "none"}', "language": "en", "consent": "true",
    "refine": "false", "remove_background_noise": "false",
}  # fmt: skip
_QUERIES = (
    "output_format", "enable_logging", "optimize_streaming_latency", "with_settings", "page_size", "next_page_token",
    "search", "sort", "sort_direction", "voice_type", "language", "voice_ids", "authorization", "xi-api-key",
    "show_legacy",
)  # fmt: skip
_HEADERS = (
    "Host", "Authorization", "xi-api-key", "Content-Type", "Content-Length", "Transfer-Encoding", "Expect", "Origin",
    "Content-Encoding", "Upgrade", "Range", "If-None-Match", "X-Forwarded-For", "X-Forwarded-Proto", "Accept", "Cookie",
    "Access-Control-Request-Method", "Access-Control-Request-Headers", "Sec-WebSocket-Key", "Connection", "TE",
    "X" * 300,
    "Accept-Encoding", "X-HTTP-Method-Override", "Forwarded", "", "a b", "ü", "x:y", "request-id",
)  # fmt: skip
_HEADER_VALUES = (
    "chunked", "gzip", "identity", "gzip, chunked", "chunked, chunked", "100-continue", "websocket", "upgrade", "close",
    "keep-alive", "application/json", "application/json; charset=utf-16", "multipart/form-data", "text/plain", "*/*",
    "multipart/form-data; boundary=", "multipart/form-data; boundary=" + "x" * 300, "multipart/mixed; boundary=a",
    "application/x-www-form-urlencoded", "0", "-1", "1", "99999999999999999999", "1, 1", "+5", "5 5", "0x5", "bytes=0-",
    "bytes=-", "bytes=9-1,2-3", "Bearer", "Bearer ", f"Bearer {KEY} {KEY}", f"bearer {KEY}", f"Basic {KEY}", "null",
    "http://evil.example", "evil.example", "localhost", "127.0.0.1:99999", "[::1", "::1", "a" * 9000, "\x01", "\x7f",
    "ü",
    "W/\"x\"", "*", "https", "for=1.2.3.4", "",
)  # fmt: skip
_METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "get", "FOO", "", "P" * 50)
_PATH_PARTS = (
    "..", ".", "", "%2e%2e", "%2f", "%00", "%0a", "%0d%0aX:1", "%ff", "%", "%%", "a" * 3000, "ü", "\\", ";x=1", "*",
    "custom-" + "A" * 20, "af_heart", _VOICE, "settings", "default", "stream", "with-timestamps", "edit", "null", "'",
    '"', "~",
)  # fmt: skip


def _json_request(path: str, body: dict[str, Any]) -> Callable[[], HttpRequest]:
    return lambda: HttpRequest("POST", path, headers=[("Content-Type", "application/json")], body=_dump(body))


def _form_request(path: str) -> Callable[[], HttpRequest]:
    def make() -> HttpRequest:
        parts = [_form_part(f'name="{name}"', value.encode()) for name, value in _FIELDS.items()]
        parts.append(_form_part('name="files"; filename="a.wav"', _forge_wav(random.Random(1))))
        return HttpRequest(
            "POST", path, headers=[("Content-Type", f"multipart/form-data; boundary={_BOUNDARY}")], body=_form(parts)
        )

    return make


def _get_request(path: str) -> Callable[[], HttpRequest]:
    return lambda: HttpRequest("GET", path)


_SPEECH_PATHS = tuple(
    f"/v1/text-to-speech/{_VOICE}{end}" for end in ("", "/stream", "/with-timestamps", "/stream/with-timestamps")
)
_VALID: tuple[Callable[[], HttpRequest], ...] = (
    *(_json_request(path, _SPEECH) for path in _SPEECH_PATHS),
    *(_form_request(path) for path in ("/voices", "/v1/voices/add", f"/v1/voices/{_VOICE}/edit")),
    _json_request("/voices", _FIELDS | {"files": ["UklGRg=="]}),
    _json_request("/v1/voices/add", _FIELDS | {"labels": {"a": "b"}, "files": ["UklGRg=="]}),
    _json_request("/v1/voices/custom-AAAAAAAAAAAAAAAAAAAA/edit", {"name": "Anna", "labels": {}}),
    _json_request(f"/v1/voices/{_VOICE}/settings/edit", {"stability": 0.5, "speed": 1, "style": 0}),
    _json_request("/v1/tokens/ephemeral", {"ttl_seconds": 60}),
    _json_request("/v1/single-use-token/tts_websocket", {}),
    *(
        _get_request(path)
        for path in (
            "/v1/voices", "/v2/voices", f"/v1/voices/{_VOICE}", f"/v1/voices/{_VOICE}/settings",
            "/v1/voices/settings/default",
            "/v1/models", "/v1/user", "/v1/user/subscription", "/v1/history", "/v1/history/x/audio", "/health",
            "/readyz",
            "/metrics", "/", "/docs", "/docs/api", "/openapi.json", "/previews/af_heart.mp3", "/page/app.js",
            "/favicon.ico",
            f"/v1/text-to-speech/{_VOICE}/stream-input", "/v1/shared-voices",
        )
    ),
    lambda: HttpRequest("DELETE", "/voices/custom-AAAAAAAAAAAAAAAAAAAA"),
    lambda: HttpRequest("DELETE", f"/v1/voices/{_VOICE}"),
)  # fmt: skip


def make_request(rng: random.Random) -> bytes:
    """One malformed request; a few are still valid, by chance."""
    if rng.random() < 0.03:
        return _make_garbage(rng)
    request = rng.choice(_VALID)()
    request.headers = [("Host", "127.0.0.1"), ("xi-api-key", KEY), ("Connection", "close"), *request.headers]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice(_MUTATIONS)(rng, request)
    content = request.encode()
    if rng.random() < 0.04:
        content = damage(rng, content)
    return content


def _make_garbage(rng: random.Random) -> bytes:
    return rng.choice((
        lambda: rng.randbytes(rng.randint(1, 400)),
        lambda: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + rng.randbytes(100),  # TLS
        lambda: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + rng.randbytes(30),
        lambda: b"GET / HTTP/1.1\r\n" * 50,
        lambda: b"GET /\r\n\r\n",
        lambda: b"\r\n" * rng.randint(1, 500),
        lambda: b"GET / HTTP/1.1\r\nHost: a\r\n" + b"a: b\r\n" * rng.choice((100, 5000)) + b"\r\n",
        lambda: b"GET " + b"/a" * 40_000 + b" HTTP/1.1\r\n\r\n",
    ))()  # fmt: skip


def _change_method(rng: random.Random, request: HttpRequest) -> None:
    request.method = rng.choice(_METHODS)


def _change_path(rng: random.Random, request: HttpRequest) -> None:
    parts = request.path.split("/")
    parts[rng.randrange(len(parts))] = rng.choice(_PATH_PARTS)
    request.path = "/".join(parts)


def _add_query(rng: random.Random, request: HttpRequest) -> None:
    for _ in range(rng.choice((1, 2, 20))):
        value = rng.choice((*_JUNK_TEXTS, *_PATH_PARTS)).replace(" ", "+").replace("\r", "%0D").replace("\n", "%0A")
        request.query.append((rng.choice(_QUERIES), value.encode("utf-8", "surrogatepass").decode("latin-1")))


def _change_header(rng: random.Random, request: HttpRequest) -> None:
    name = rng.choice(_HEADERS)
    if rng.random() < 0.3:
        request.headers = [each for each in request.headers if each[0].lower() != name.lower()]
    request.headers.append((name, rng.choice(_HEADER_VALUES)))


def _drop_header(rng: random.Random, request: HttpRequest) -> None:
    if request.headers:
        request.headers.pop(rng.randrange(len(request.headers)))


def _change_framing(rng: random.Random, request: HttpRequest) -> None:
    """Chunks, right and wrong, and lengths that are not those of the body."""
    request.framed = False
    body, size = request.body, len(request.body)
    kind = rng.random()
    if kind < 0.5:
        request.headers.append(
            ("Content-Length", rng.choice((str(size + 5), str(max(0, size - 5)), "-1", "x", "9" * 30)))
        )
        return
    request.headers.append(("Transfer-Encoding", "chunked"))
    chunk = f"{size:x}".encode()
    request.body = rng.choice((
        chunk + b"\r\n" + body + b"\r\n0\r\n\r\n",
        chunk + b"\r\n" + body,
        b"-1\r\n" + body,
        b"fffffffffffffffff\r\n" + body,
        b"zz\r\n" + body + b"\r\n0\r\n\r\n",
        chunk + b";" + b"x" * 9000 + b"\r\n" + body + b"\r\n0\r\n\r\n",
        chunk + b"\r\n" + body + b"\r\n0\r\nTrailer: x\r\n\r\n",
        b"".join(b"1\r\n" + body[at : at + 1] + b"\r\n" for at in range(size)) + b"0\r\n\r\n",
    ))  # fmt: skip
    if rng.random() < 0.2:
        request.headers.append(("Content-Length", str(size)))


def _change_body(rng: random.Random, request: HttpRequest) -> None:
    is_form = any(value.startswith("multipart") for _, value in request.headers)
    choice = rng.random()
    if choice < 0.2:
        request.body = damage(rng, request.body)
    elif choice < 0.22:
        request.body = b'{"text": "' + b"a" * 2_100_000 + b'"}'
    elif is_form:
        request.body = _change_form(rng)
    elif request.body:
        try:
            fields = json.loads(request.body)
        except (ValueError, RecursionError):
            return
        request.body = _dump(change_json(rng, fields) if isinstance(fields, dict) else junk(rng))
        if rng.random() < 0.1:
            request.body = _dump(junk(rng))


_ODD_DISPOSITIONS = (
    'name="files"',
    'name="files"; filename=""',
    'name="labels"; filename="x"',
    'name="name"; filename="n"',
    'name="files"; filename="../../x"',
    'filename="x"',
    "name=files; filename*=utf-8''%ff",
    "",
)


def _change_form(rng: random.Random) -> bytes:
    fields = {name: value.encode() for name, value in _FIELDS.items()}
    for _ in range(rng.choice((1, 2))):
        text = rng.choice(
            (*_JUNK_TEXTS, "[1]", '{"a": [1]}', '"x"', "3", "{'a': {'b': 1}}", '{"a":' * 3000, "[" * 3000)
        )
        fields[rng.choice((*_FIELDS, "labels", ""))] = text.encode("utf-8", "surrogatepass")
    parts = [_form_part(f'name="{name}"', value) for name, value in fields.items() if rng.random() < 0.9]
    files = [_forge_wav(rng) for _ in range(rng.choice((0, 1, 1, 1, 30)))]
    odd = rng.choice(_ODD_DISPOSITIONS)
    parts += [_form_part(rng.choice(('name="files"; filename="a.wav"', odd)), each) for each in files]
    if rng.random() < 0.1:
        parts += [_form_part('name="x"', b"y")] * 2000
    rng.shuffle(parts)
    content = _form(parts)
    return damage(rng, content) if rng.random() < 0.2 else content


def _form_part(disposition: str, content: bytes) -> bytes:
    return f"--{_BOUNDARY}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n".encode() + content + b"\r\n"


def _form(parts: Sequence[bytes]) -> bytes:
    return b"".join(parts) + f"--{_BOUNDARY}--\r\n".encode()


def _change_version(rng: random.Random, request: HttpRequest) -> None:
    request.version = rng.choice(
        ("HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/9", "HTP/1.1", "", "http/1.1", "HTTP/1.1 x")
    )


_MUTATIONS: tuple[Callable[[random.Random, HttpRequest], None], ...] = (
    _change_method,
    _change_path,
    _add_query,
    _change_header,
    _drop_header,
    _change_framing,
    *(_change_body,) * 5,
    _change_version,
)


def _dump(value: Any) -> bytes:
    """JSON with NaN and lone surrogates in it, as careless clients send."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


# Sockets

_MESSAGE = {
    "text": "Yes. ", "flush": True, "context_id": "a", "close_context": False, "close_socket": False,
    "voice_settings": {"stability": 0.5, "speed": 1}, "generation_config": {"chunk_length_schedule": [50, 100]},
    "xi_api_key": KEY, "try_trigger_generation": True, "authorization": f"Bearer {KEY}",
}  # fmt: skip


def make_frame(rng: random.Random) -> bytes:
    """One WebSocket frame with a malformed message, or a malformed frame."""
    kind = rng.random()
    if kind < 0.7:
        fields = {
            name: value for name, value in _MESSAGE.items() if name in ("text", "xi_api_key") or rng.random() < 0.3
        }
        return encode_frame(1, _dump(change_json(rng, fields)))
    if kind < 0.78:
        return encode_frame(1, _dump(junk(rng)))
    if kind < 0.86:
        return encode_frame(1, damage(rng, _dump({"text": "Yes. "})))
    payload = rng.randbytes(rng.choice((0, 1, 10, 125, 126, 3000)))
    return rng.choice((
        lambda: encode_frame(2, payload),
        lambda: encode_frame(rng.choice((3, 7, 11, 15)), payload),
        lambda: encode_frame(rng.choice((8, 9, 10)), payload),
        lambda: encode_frame(1, payload, reserved=rng.randrange(1, 8)),
        lambda: encode_frame(1, b'{"text": "Yes. "}', masked=False),
        lambda: encode_frame(1, b'{"text": ', final=False) + encode_frame(0, b'"Yes. "}'),
        lambda: encode_frame(1, b'{"text": ', final=False) + encode_frame(1, b'"Yes. "}'),
        lambda: encode_frame(0, b"nothing began"),
        lambda: encode_frame(1, b"x", length=rng.choice((2**40, 2**63, 2**64 - 1))),
        lambda: encode_frame(8, struct.pack(">H", rng.choice((0, 999, 1004, 1005, 2999, 65_535))) + b"\xff"),
        lambda: rng.randbytes(rng.randint(1, 50)),
    ))()  # fmt: skip


def encode_frame(
    code: int, payload: bytes, *, final: bool = True, masked: bool = True, reserved: int = 0, length: int | None = None
) -> bytes:
    """A frame of RFC 6455, with any of its parts wrong on request."""
    size = len(payload) if length is None else length
    first = (0x80 if final else 0) | reserved << 4 | code
    mask_bit = 0x80 if masked else 0
    if size < 126:
        head = struct.pack(">BB", first, mask_bit | size)
    elif size < 2**16:
        head = struct.pack(">BBH", first, mask_bit | 126, size)
    else:
        head = struct.pack(">BBQ", first, mask_bit | 127, size)
    return head + (bytes(4) + payload if masked else payload)  # a mask of zeros changes nothing


_SOCKET_QUERIES = (
    "",
    "?auto_mode=true",
    "?output_format=pcm_16000&sync_alignment=true",
    "?seed=x&inactivity_timeout=NaN",
    "?language_code=%00",
    "?inactivity_timeout=1e999&seed=-1",
    "?output_format=x",
    "?seed=1e400",
)


def make_handshake(rng: random.Random) -> bytes:
    protocol = rng.choice(("stream-input", "multi-stream-input"))
    query = rng.choice(_SOCKET_QUERIES)
    key = f"xi-api-key: {KEY}\r\n" if rng.random() < 0.9 else ""
    return (
        f"GET /v1/text-to-speech/{_VOICE}/{protocol}{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n{key}\r\n"
    ).encode()
