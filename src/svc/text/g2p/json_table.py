"""A large JSON object that is read from its text: entry by entry, when one is asked for."""

import json
import re
from array import array
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from zlib import crc32

_ENTRY = re.compile(rb'"((?:[^"\\]|\\.)*)":("[^"]*"|\{[^}]*\})')

_KEPT = 5_000  # entries: of an ordinary text, nearly all are asked for again and again


class JsonTable:
    """Its values are strings without escapes, or objects that hold no further ones.

    As Python objects, the entries of a lexicon take ten times the memory; and reading them all at once would keep
    every other thread waiting for a tenth of a second.
    """

    def __init__(self, text: bytes, parse: Callable[[bytes], Any] = json.loads) -> None:
        """`parse` makes a value of its JSON, once as long as it is kept."""
        self._text = text
        self._parse = parse
        count = sum(1 for _ in _ENTRY.finditer(text))
        # A hash table of where the entries begin, at most half full; 0 is a free slot, for there the object begins.
        self._mask = (1 << (2 * count).bit_length()) - 1
        self._starts = array("I", bytes(4 * (self._mask + 1)))
        for entry in _ENTRY.finditer(text):
            slot = crc32(entry[1]) & self._mask
            while self._starts[slot]:
                slot = (slot + 1) & self._mask
            self._starts[slot] = entry.start()
        self._find = lru_cache(_KEPT)(self._read)

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def get(self, key: str) -> Any:
        """The value, or None if there is none; not to be changed."""
        return self._find(key)

    def _read(self, key: str) -> Any:
        quoted = json.dumps(key, ensure_ascii=False).encode(errors="replace")
        slot = crc32(quoted[1:-1]) & self._mask
        while start := self._starts[slot]:
            if self._text.startswith(quoted + b":", start):
                entry = _ENTRY.match(self._text, start)
                assert entry is not None
                return self._parse(entry[2])
            slot = (slot + 1) & self._mask
        return None
