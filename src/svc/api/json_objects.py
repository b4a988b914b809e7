"""JSON objects that clients send, parsed in bounded time and memory.

Python's parser makes hundreds of thousands of objects of two megabytes, `{},{},…`, while no other thread runs, and
refuses what is nested deeply. So the elements are counted first. If they are too many, msgspec skips the fields that no
schema has without making anything of them, and a field that has more than any valid one becomes `OVERSIZED`.
"""

import asyncio
import json
import math
from collections.abc import Collection
from functools import cache
from typing import Any

import msgspec
import numpy as np

_MAX_ITEMS = 60_000
"""Elements, and lists and objects of them; the parser takes 10 ms for so many. All rules of a dictionary are 45,000."""
_MAX_DEPTH = 8
"""More than any schema has."""
_MAX_DIGITS = 4_000  # Python converts no longer ones

_LARGE = 16 * 1024  # bytes or characters: to parse more takes milliseconds

_QUOTE = ord('"')
_OPENS, _CLOSES = ord("{"), ord("}")  # with one bit set, "[" and "]" are these


class InvalidJson(ValueError):
    """What is wrong, and where."""

    def __init__(self, problem: str, position: int = 0) -> None:
        super().__init__(problem)
        self.position = position


class Oversized:
    """The value of a field that has more elements than any valid one; no schema accepts it."""


OVERSIZED = Oversized()


async def read_object(text: str, names: Collection[str]) -> Any:
    """The same as `parse_object`, without holding up the event loop."""
    if len(text) <= _LARGE:
        return parse_object(text, names)
    return await asyncio.to_thread(parse_object, text, names)


def parse_object(text: str | bytes, names: Collection[str] | None = None) -> Any:
    """The fields of an object, those with these names or all, or JSON that is not an object; raises `InvalidJson`."""
    body = text.encode() if isinstance(text, str) else text
    try:
        return _parse(body, names)
    except RecursionError:
        return _parse(_empty_below(body, _MAX_DEPTH), names)


def _parse(body: bytes, names: Collection[str] | None) -> Any:
    if _count_items(body) <= _MAX_ITEMS:
        parsed = _load(body)
        if names is None or not isinstance(parsed, dict):
            return parsed
        return {name: value for name, value in parsed.items() if name in names}
    if names is None:
        raise InvalidJson("too many elements")
    try:
        found = _create_decoder(frozenset(names)).decode(body)
    except msgspec.DecodeError as problem:
        raise InvalidJson(str(problem)) from None
    fields = {name: getattr(found, field) for field, name in zip(found.__struct_fields__, found.names, strict=True)}
    given = {name: bytes(raw) for name, raw in fields.items() if raw is not msgspec.UNSET}
    return {name: OVERSIZED if _count_items(raw) > _MAX_ITEMS else _load(raw) for name, raw in given.items()}


@cache
def _create_decoder(names: frozenset[str]) -> "msgspec.json.Decoder[Any]":
    """Of an object with these fields, each as it was written; others are skipped."""
    fields = {f"field{number}": name for number, name in enumerate(sorted(names))}
    kind = msgspec.defstruct(
        "Fields",
        [(field, msgspec.Raw | msgspec.UnsetType, msgspec.UNSET) for field in fields],
        rename=fields,
        namespace={"names": tuple(fields.values())},
    )
    return msgspec.json.Decoder(kind)


def _count_items(body: bytes) -> int:
    return sum(map(body.count, (b",", b"[", b"{")))


def _load(text: bytes) -> Any:
    try:
        return json.loads(text, parse_int=_parse_int)
    except json.JSONDecodeError as problem:
        raise InvalidJson(problem.msg, problem.pos) from None
    except UnicodeDecodeError as problem:
        raise InvalidJson("not UTF-8", problem.start) from None


def _parse_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else math.inf


def _empty_below(body: bytes, depth: int) -> bytes:
    """The same without what lists and objects hold that are nested so deeply."""
    plain = np.frombuffer(body.replace(b"\\\\", b"__").replace(b'\\"', b"__"), np.uint8)
    outside = np.cumsum(plain == _QUOTE, dtype=np.uint8) & 1 == 0  # of strings; only whether it is odd matters
    opens = ((plain | 0x20) == _OPENS) & outside
    closes = ((plain | 0x20) == _CLOSES) & outside
    depths = np.cumsum(opens.view(np.int8) - closes.view(np.int8), dtype=np.int32)
    kept: bytes = np.frombuffer(body, np.uint8)[(depths < depth) | (opens & (depths == depth))].tobytes()
    return kept
