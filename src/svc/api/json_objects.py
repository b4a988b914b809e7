"""JSON objects that clients send, parsed in bounded time and memory.

Python's parser makes hundreds of thousands of objects of two megabytes, `{},{},…`, while no other thread runs, and
refuses what is nested deeply. So the elements are counted first. If they are too many, what is nested deeper than any
schema is left out, and so are fields that no schema has; what a schema has, but not so large, becomes `OVERSIZED`.
"""

import asyncio
import json
import math
import re
from collections.abc import Container, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAX_ITEMS = 60_000
"""Elements, and lists and objects of them; the parser takes 10 ms for so many. All rules of a dictionary are 45,000."""
_MAX_FIELDS = 1_000
_MAX_DEPTH = 3
"""An object, a list in it, and the objects in that."""
_MAX_DIGITS = 4_000  # Python converts no longer ones

_LARGE = 64 * 1024  # characters

_SEGMENT = 64 * 1024
_QUOTE, _COMMA = ord('"'), ord(",")
_OPENS, _CLOSES = ord("{"), ord("}")  # with one bit set, "[" and "]" are these
_NAME = re.compile(rb'\s*("(?:[^"\\]|\\.)*+")\s*:', re.DOTALL)
_LONGEST_NAME = 200


class InvalidJson(ValueError):
    """What is wrong, and where."""

    def __init__(self, problem: str, position: int = 0) -> None:
        super().__init__(problem)
        self.position = position


class Oversized:
    """The value of a field that has more elements than any valid one; no schema accepts it."""


OVERSIZED = Oversized()


async def read_object(text: str, names: Container[str]) -> Any:
    """The same as `parse_object`, without holding up the event loop."""
    if len(text) <= _LARGE:
        return parse_object(text, names)
    return await asyncio.to_thread(parse_object, text, names)


def parse_object(text: str | bytes, names: Container[str] | None = None) -> Any:
    """The fields of an object, those with these names or all, or JSON that is not an object; raises `InvalidJson`."""
    separators: Any = (",", "[", "{") if isinstance(text, str) else (b",", b"[", b"{")
    if sum(map(text.count, separators)) <= _MAX_ITEMS:
        with suppress(RecursionError):
            parsed = _load(text)
            if names is None or not isinstance(parsed, dict):
                return parsed
            return {name: value for name, value in parsed.items() if name in names}
    return _load_fields(text.encode() if isinstance(text, str) else text, names)


def _load(text: str | bytes, offset: int = 0) -> Any:
    try:
        return json.loads(text, parse_int=_parse_int)
    except json.JSONDecodeError as problem:
        raise InvalidJson(problem.msg, offset + problem.pos) from None
    except UnicodeDecodeError as problem:
        raise InvalidJson("not UTF-8", offset + problem.start) from None


def _parse_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else math.inf


def _load_fields(body: bytes, names: Container[str] | None) -> dict[str, Any]:
    outline = _Outline.draw(body)
    fields: dict[str, Any] = {}
    for start, end, items in outline.list_fields():
        match = _NAME.match(outline.text, start, end)
        if match is None:
            raise InvalidJson("Expecting property name enclosed in double quotes", start)
        name = _load(match[1]) if len(match[1]) <= _LONGEST_NAME else None
        if isinstance(name, str) and (names is None or name in names):
            value = outline.text[match.end() : end]
            fields[name] = OVERSIZED if items > _MAX_ITEMS else _load(value, match.end())
    return fields


@dataclass(slots=True)
class _Outline:
    """An object, without what is nested too deeply."""

    text: bytes = b""
    commas: list[int] = field(default_factory=list)
    """Where its fields are separated."""
    items: list[int] = field(default_factory=list)
    """How many elements and containers there are up to each comma, and in all."""

    @classmethod
    def draw(cls, body: bytes) -> "_Outline":
        outline, kept = cls(), list[bytes]()
        size = items = ended = 0
        for segment in _read_segments(body.strip(b" \t\r\n")):
            ended += int(np.count_nonzero(segment.closes & (segment.depths == 0)))
            segment = segment.without_depths()
            separates = segment.commas & (segment.depths == 1)
            counted = np.cumsum(segment.commas | segment.opens, dtype=np.int32)
            at = np.flatnonzero(separates)
            outline.commas += (at + size).tolist()
            outline.items += (counted[at] + items).tolist()
            if len(outline.commas) >= _MAX_FIELDS:
                raise InvalidJson(f"more than {_MAX_FIELDS} fields", size)
            kept.append(segment.characters.tobytes())
            size += len(kept[-1])
            items += int(counted[-1]) if len(counted) else 0
        outline.text = b"".join(kept)
        if ended != 1 or outline.text[:1] != b"{" or outline.text[-1:] != b"}":
            raise InvalidJson("not an object, or more than one")
        outline.items.append(items)
        return outline

    def list_fields(self) -> Iterator[tuple[int, int, int]]:
        """Where each begins and ends, and how many elements and containers it has."""
        bounds = [0, *self.commas, len(self.text) - 1]
        if len(bounds) == 2 and not self.text[1:-1].strip(b" \t\r\n"):
            return
        for (start, end), (before, after) in zip(pairwise(bounds), pairwise([1, *self.items]), strict=True):
            yield start + 1, end, after - before


@dataclass(frozen=True, slots=True)
class _Segment:
    characters: NDArray[np.uint8]
    depths: NDArray[np.int32]
    """In how many lists and objects each is; that which begins one is in it, that which ends one is not."""
    opens: NDArray[np.bool_]
    closes: NDArray[np.bool_]
    commas: NDArray[np.bool_]

    def without_depths(self) -> "_Segment":
        """The same without what is nested too deeply."""
        if self.depths.max() <= _MAX_DEPTH:
            return self
        keep = (self.depths <= _MAX_DEPTH) | (self.opens & (self.depths == _MAX_DEPTH + 1))
        return _Segment(*(each[keep] for each in (self.characters, self.depths, self.opens, self.closes, self.commas)))


def _read_segments(body: bytes) -> Iterator[_Segment]:
    """The body piece by piece, which takes less memory; raises if it has no end, or ends too often."""
    plain = body.replace(b"\\\\", b"__").replace(b'\\"', b"__")  # what is left are the quotes around strings
    quotes = depth = 0
    for start in range(0, len(body), _SEGMENT):
        characters = np.frombuffer(plain, np.uint8, min(_SEGMENT, len(body) - start), start)
        counted = np.cumsum(characters == _QUOTE, dtype=np.uint8) + np.uint8(quotes)  # only whether it is odd matters
        outside = counted & 1 == 0
        opens = ((characters | 0x20) == _OPENS) & outside
        closes = ((characters | 0x20) == _CLOSES) & outside
        depths = np.cumsum(opens.view(np.int8) - closes.view(np.int8), dtype=np.int32) + np.int32(depth)
        if depths.min() < 0:
            raise InvalidJson("ends before it begins", start)
        commas = (characters == _COMMA) & outside
        yield _Segment(np.frombuffer(body, np.uint8, len(characters), start), depths, opens, closes, commas)
        quotes, depth = int(counted[-1]) & 1, int(depths[-1])
    if quotes or depth:
        raise InvalidJson("unexpected end", len(body))
