"""Recordings in JSON, as Base64.

Python parses JSON and Base64 in one call each, and no other thread runs meanwhile: 25 MB would stop every stream for a
tenth of a second. So long strings are cut out first, and decoded in blocks; only what is left goes to the JSON parser.
"""

import binascii
import json
import secrets
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from svc.api.json_objects import InvalidJson, parse_object
from svc.errors import BodyTooLarge

_FILES = ("file", "files", "files[]")
_LONG_STRING = 10_000  # bytes
_MAX_REST_BYTES = 128_000  # of a body, without its long strings; a hostile one takes the parser 5 ms
_BLOCK_BYTES = 120_000
_LONGEST_ESCAPE = 12  # a character as two surrogates: \ud83d\ude00


class InvalidUpload(ValueError):
    """The field that is wrong, or None for the whole body, and what is wrong with it."""

    def __init__(self, field: str | None, problem: str) -> None:
        super().__init__(problem)
        self.field = field


def parse_json(
    parts: Iterable[bytes], max_files: int, text_fields: Collection[str]
) -> tuple[list[bytes], dict[str, Any]]:
    """The recordings and the text fields of a body; raises `InvalidUpload` or `BodyTooLarge`.

    It takes as long as the body is large: call it in a thread.
    """
    rest, strings = _cut_long_strings(b"".join(parts))
    try:
        fields = parse_object(rest.decode() or "{}", {*_FILES, *text_fields})
    except (InvalidJson, UnicodeDecodeError):
        raise InvalidUpload(None, "not JSON") from None
    if not isinstance(fields, dict):
        raise InvalidUpload(None, "must be an object")
    given: list[tuple[str, object]] = []
    for name in _FILES:
        value = fields.pop(name, None) or []
        given += [(name, each) for each in (value if isinstance(value, list) else [value])]
    if len(given) > max_files:
        raise InvalidUpload("files", f"at most {max_files} files are allowed")
    clips = [_decode_clip(name, value, strings) for name, value in given]
    others = json.dumps(fields)
    if any(name in others for name in strings):
        raise InvalidUpload(None, f"only recordings may have more than {_LONG_STRING} characters")
    return clips, fields


def _cut_long_strings(body: bytes) -> tuple[bytes, dict[str, memoryview]]:
    """The body with a short, random name instead of each long string, and the strings by these names."""
    if len(body) <= _LONG_STRING:
        return body, {}
    rest, strings, position = bytearray(), {}, 0
    view = memoryview(body)
    while len(rest) <= _MAX_REST_BYTES:
        start = body.find(b'"', position)
        end = _find_string_end(body, start + 1) if start >= 0 else -1
        if end < 0:  # no further string, or one that does not end: for the parser to refuse
            rest += view[position : position + _MAX_REST_BYTES + 1]
            break
        rest += view[position : min(start, position + _MAX_REST_BYTES + 1)]
        if end - start > _LONG_STRING:
            name = secrets.token_hex(16)
            strings[name] = view[start + 1 : end]
            rest += f'"{name}"'.encode()
        else:
            rest += view[start : end + 1]
        position = end + 1
    if len(rest) > _MAX_REST_BYTES:
        raise BodyTooLarge(_MAX_REST_BYTES, "without its recordings; send a form, multipart/form-data")
    return bytes(rest), strings


def _find_string_end(body: bytes, start: int) -> int:
    """The position of the quote that ends a string; -1 if none does."""
    end = body.find(b'"', start)
    while end > 0 and _count_backslashes(body, start, end) % 2:
        end = body.find(b'"', end + 1)
    return end


def _count_backslashes(body: bytes, start: int, end: int) -> int:
    """How many stand right before `end`."""
    position = end
    while position > start and body[position - 1] == 0x5C:
        position -= 1
    return end - position


def _decode_clip(field: str, value: object, strings: dict[str, memoryview]) -> bytes:
    """Decodes Base64, bare or in the `data:` URL that a browser makes of a file."""
    if not isinstance(value, str):
        raise InvalidUpload(field, "must be a file in base64")
    long = strings.pop(value, None)
    parts, pending, ended = list[bytes](), "", False
    try:
        for number, block in enumerate([value] if long is None else _unescape_blocks(long)):
            text = block.partition(",")[2] if number == 0 and block.startswith("data:") else block
            pending += text
            whole = len(pending) // 4 * 4
            if ended and pending:
                raise ValueError("text after the padding")
            parts.append(binascii.a2b_base64(pending[:whole], strict_mode=True))
            ended, pending = "=" in pending[:whole], pending[whole:]
        parts.append(binascii.a2b_base64(pending, strict_mode=True))
    except ValueError:
        raise InvalidUpload(field, "must be a file in base64") from None
    return b"".join(parts)  # lets other threads run meanwhile, as copying an array would not


def _unescape_blocks(string: memoryview) -> Iterator[str]:
    """The characters of a JSON string, block by block; no block ends within an escape sequence."""
    position = 0
    while position < len(string):
        end = min(position + _BLOCK_BYTES, len(string))
        if end < len(string):
            tail = bytes(string[end - _LONGEST_ESCAPE : end])
            backslash = tail.find(b"\\")
            end -= _LONGEST_ESCAPE - backslash if backslash >= 0 else 0
        yield json.loads(b'"%b"' % bytes(string[position:end]))
        position = end
