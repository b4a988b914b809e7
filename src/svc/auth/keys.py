"""Keys and tokens: who may do what, how a credential looks, and what is kept of it."""

import hashlib
import secrets
import string
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from hmac import compare_digest


class Scope(StrEnum):
    FULL = "full"
    """Everything."""
    TTS = "tts"
    """To speak and to see the voices: what is safe in a browser for a while."""
    TTS_WEBSOCKET = "tts_websocket"
    """To open one realtime socket."""


@dataclass(frozen=True, slots=True)
class Principal:
    key_id: str
    """Names the key, never tells it; a token carries the name of the key that it was made with."""
    scopes: frozenset[Scope]
    expires_at: int | None = None
    digest: str | None = field(default=None, repr=False)
    """What to look for in the keys table again; None when there is nothing to look for."""

    def may(self, *scopes: Scope) -> bool:
        """Whether one of these scopes, or the full one, was given."""
        return Scope.FULL in self.scopes or not self.scopes.isdisjoint(scopes)


ANYONE = Principal("anyone", frozenset({Scope.FULL}))
"""Who calls a service that asks for no key."""


_ALPHABET = string.ascii_letters + string.digits  # no marks: a double click selects the whole key
_LENGTH = 43  # 43 of 62 characters are 256 random bits
_SHOWN = 8  # which leaves 208 bits that nobody sees


class Kind(StrEnum):
    KEY = "key"
    EPHEMERAL = "ephemeral"
    SINGLE_USE = "single_use"


_PREFIXES = {Kind.EPHEMERAL: "svc_tmp_", Kind.SINGLE_USE: "svc_once_", Kind.KEY: "svc_"}


def generate(kind: Kind) -> str:
    return _PREFIXES[kind] + "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))


def kind_of(credential: str) -> Kind | None:
    """What a credential says it is; None if this service cannot have made it."""
    for kind, prefix in _PREFIXES.items():
        secret = credential.removeprefix(prefix)
        if len(secret) == _LENGTH and secret != credential and secret.isascii() and secret.isalnum():
            return kind
    return None


def visible_prefix(credential: str) -> str:
    """The beginning, by which people tell keys apart and which gives nothing away."""
    return credential[: len(credential) - _LENGTH + _SHOWN]


def digest(credential: str) -> str:
    """What is kept of a credential. Random keys cannot be guessed, so a fast hash protects them."""
    return hashlib.sha256(credential.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A row, without its hash."""

    id: str
    kind: Kind
    prefix: str
    name: str
    scopes: frozenset[Scope]
    minted_by: str | None
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    consumed_at: int | None
    last_used_at: int | None

    def live(self, now: float) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class StaticKeys:
    """Keeps hashes alone, so that neither a log, a dump nor a repr can show a key."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._digests = tuple(digest(key) for key in keys)

    def __bool__(self) -> bool:
        return bool(self._digests)

    def find(self, credential_digest: str) -> Principal | None:
        """Compares with every key, found or not, so that the time taken tells nothing."""
        found = None
        for number, each in enumerate(self._digests, 1):
            if compare_digest(each, credential_digest):
                found = Principal(f"static-{number}", frozenset({Scope.FULL}))
        return found
