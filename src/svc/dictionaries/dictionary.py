"""A pronunciation dictionary and its versions, each stored as one JSON file with a checksum.

A version never changes. The dictionary itself (its name, whether it is archived, and which version is the latest) is
written anew with every change, to a file whose name tells which of two is the later one.
"""

import hashlib
import json
import re
import secrets
import string
import time
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from svc.dictionaries.lexicon import DEFAULT_LANGUAGE
from svc.dictionaries.rules import rule_from_json, rule_to_json
from svc.text.pronunciation_rules import PronunciationRule

ID = re.compile(r"[A-Za-z0-9]{20}")
VERSION_FILE = re.compile(r"version-([A-Za-z0-9]{20})\.json")
STATE_FILE = re.compile(r"state-\d{8}-\d{15}-[0-9a-f]{16}\.json")
MAX_FILE_BYTES = 10_000_000

_LETTERS = string.ascii_letters + string.digits
_FORMAT = 1


def new_id() -> str:
    """Of a dictionary or a version: nobody can guess it."""
    return "".join(secrets.choice(_LETTERS) for _ in range(20))


class DamagedFile(ValueError):
    """A file cannot be read, or does not match its checksum or its name."""


@dataclass(frozen=True, slots=True)
class Version:
    """The rules of a dictionary at one time."""

    dictionary_id: str
    version_id: str
    created_at: int
    rules: tuple[PronunciationRule, ...]
    language: str = DEFAULT_LANGUAGE

    @property
    def file_name(self) -> str:
        return f"version-{self.version_id}.json"

    def to_bytes(self) -> bytes:
        return _seal(
            {**{name: getattr(self, name) for name in self.__slots__}, "rules": [*map(rule_to_json, self.rules)]}
        )

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        fields = _unseal(content)
        return cls(**{**fields, "rules": tuple(map(rule_from_json, fields["rules"]))})


@dataclass(frozen=True, slots=True)
class Dictionary:
    dictionary_id: str
    name: str
    description: str
    created_at: int
    key_id: str
    """The API key that it was made with."""
    version_id: str
    """Of the latest version."""
    rules_num: int
    """How many rules that one has."""
    archived_at: int | None = None
    revision: int = 1
    """Counts the changes."""
    changed_at: float = 0.0

    @property
    def file_name(self) -> str:
        """Of two files of a dictionary, the later one has the greater name, on every server.

        The one with more changes is later, then the one that was changed later; the checksum decides between two that
        were changed in the same millisecond.
        """
        content = hashlib.sha256(self.to_bytes()).hexdigest()[:16]
        return f"state-{self.revision:08d}-{int(self.changed_at * 1000):015d}-{content}.json"

    def revise(self, **changes: Any) -> Self:
        """The next state, with these fields changed."""
        return replace(self, **changes, revision=self.revision + 1, changed_at=time.time())

    def to_bytes(self) -> bytes:
        return _seal(asdict(self))

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        return cls(**_unseal(content))


def check_file(dictionary_id: str, name: str, content: bytes) -> None:
    """Raises `DamagedFile` unless this is the content of that file."""
    kind: type[Version | Dictionary] = Version if VERSION_FILE.fullmatch(name) else Dictionary
    try:
        found = kind.from_bytes(content)
        is_named = (found.dictionary_id, found.file_name) == (dictionary_id, name)
    except DamagedFile:
        raise
    except Exception as problem:  # whatever it is: one file must not keep the others from being loaded
        raise DamagedFile(f"it cannot be read: {problem}") from problem
    if not is_named:
        raise DamagedFile(f"it is {found.file_name} of {found.dictionary_id}")


def _seal(fields: dict[str, Any]) -> bytes:
    return json.dumps({"format": _FORMAT, "sha256": _checksum(fields), "content": fields}, indent=1).encode()


def _unseal(content: bytes) -> dict[str, Any]:
    stored = json.loads(content)
    if stored["format"] != _FORMAT:
        raise DamagedFile(f"it has format {stored['format']!r}; this release knows format {_FORMAT}")
    fields: dict[str, Any] = stored["content"]
    if stored["sha256"] != _checksum(fields):
        raise DamagedFile("its checksum does not match")
    return fields


def _checksum(fields: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
