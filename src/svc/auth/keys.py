"""Credentials (keys and tokens), and the principals that they authenticate."""

import hashlib
import math
import secrets
import string
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from hmac import compare_digest

_ALPHABET = string.ascii_letters + string.digits  # no punctuation: a double click selects the whole key
_SECRET_LENGTH = 43  # characters out of 62: 256 random bits
_VISIBLE_LENGTH = 8  # leaves 208 bits secret


class Scope(StrEnum):
    FULL = "full"
    """Everything."""
    TTS = "tts"
    """Synthesis and reading the voices: safe in a browser for a short time."""
    TTS_WEBSOCKET = "tts_websocket"
    """Opening one realtime socket."""


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """The limits of one key; None stands for the default, which the settings hold."""

    max_streams: int | None = None
    """Texts synthesized at once."""
    max_waiting: int | None = None
    """Requests that wait for their turn."""
    max_characters_per_minute: int | None = None
    max_sockets: int | None = None
    """Open realtime sockets."""
    max_voices: int | None = None
    """Custom voices that it made."""
    max_dictionaries: int | None = None
    """Pronunciation dictionaries that it made."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who sends a request, and what they may do."""

    key_id: str
    """Identifies the key and reveals nothing of it; for a token, the key that it was minted with."""
    scopes: frozenset[Scope]
    expires_at: int | None = None
    digest: str | None = field(default=None, repr=False)
    """The credential's hash, with which it is looked up again; None if it is not in the keys table."""
    limits: KeyLimits = KeyLimits()
    """Those of the key `key_id`: a token shares them with the key that it was minted with."""
    token_id: str | None = None
    """Identifies the token, if it is one: beside the limits of its key, it has a rate of its own."""

    def may(self, *scopes: Scope) -> bool:
        """Whether it has one of these scopes, or the full one."""
        return Scope.FULL in self.scopes or not self.scopes.isdisjoint(scopes)

    @property
    def is_operator(self) -> bool:
        """Whether it is whoever runs the server, to whom no rule about owners applies."""
        return is_operator(self.key_id)

    def may_change(self, maker: str) -> bool:
        """Whether it may change what the key with that id has made: that key may, and whoever runs the server."""
        return self.is_operator or self.key_id == maker


_ANYONE_ID, _STATIC_ID = "anyone", "static-"

COMMAND_LINE_ID = "command-line"
"""The key id of what `svc` does on the command line."""

ANYONE = Principal(_ANYONE_ID, frozenset({Scope.FULL}))
"""Every caller of a service without keys."""

COMMAND_LINE = Principal(COMMAND_LINE_ID, frozenset({Scope.FULL}))


def is_operator(key_id: str) -> bool:
    """Whether a key id is not one of the keys table: a key of the settings, the command line, or an open server."""
    return key_id in (_ANYONE_ID, COMMAND_LINE_ID) or key_id.startswith(_STATIC_ID)


@dataclass(frozen=True, slots=True)
class Quota:
    """How many voices, or dictionaries, are stored at most."""

    all_keys: int
    each_key: int
    """Of a key of the keys table that has no limit of its own; whoever runs the server has none."""

    def of_key(self, caller: Principal, own: int | None) -> float:
        if caller.is_operator:
            return math.inf
        return self.each_key if own is None else own


class Kind(StrEnum):
    KEY = "key"
    EPHEMERAL = "ephemeral"
    SINGLE_USE = "single_use"


_PREFIXES = {Kind.EPHEMERAL: "svc_tmp_", Kind.SINGLE_USE: "svc_once_", Kind.KEY: "svc_"}


def generate_credential(kind: Kind) -> str:
    """A prefix that shows the kind, then random letters and digits."""
    return _PREFIXES[kind] + "".join(secrets.choice(_ALPHABET) for _ in range(_SECRET_LENGTH))


def parse_kind(credential: str) -> Kind | None:
    """The kind by the prefix; None for strings that `generate_credential` cannot return."""
    for kind, prefix in _PREFIXES.items():
        secret = credential.removeprefix(prefix)
        if len(secret) == _SECRET_LENGTH and secret != credential and secret.isascii() and secret.isalnum():
            return kind
    return None


def visible_prefix(credential: str) -> str:
    """The part that is listed, so that people can tell keys apart."""
    return credential[: len(credential) - _SECRET_LENGTH + _VISIBLE_LENGTH]


def hash_credential(credential: str) -> str:
    """What is stored of a credential. A fast hash is enough, because random keys cannot be guessed."""
    return hashlib.sha256(credential.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A row of the keys table, without its hash. A token has the limits of the key that it was minted with."""

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
    minted_with: str | None = field(default=None, repr=False)
    """The hash of the key that a token was minted with; for a static key, its mark."""
    limits: KeyLimits = KeyLimits()

    def is_valid(self, now: float) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class StaticKeys:
    """The keys of the settings. Only hashes are kept, so that no log, dump or repr can show a key."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._digests = {f"{_STATIC_ID}{number}": hash_credential(key) for number, key in enumerate(keys, 1)}

    def __bool__(self) -> bool:
        return bool(self._digests)

    def find(self, digest: str) -> Principal | None:
        """Compares with every key in constant time, without an early exit: the time taken reveals nothing."""
        found = None
        for key_id, each in self._digests.items():
            if compare_digest(each, digest):
                found = Principal(key_id, frozenset({Scope.FULL}))
        return found

    def mark(self, key_id: str) -> str | None:
        """What tokens minted with the key are tied to; None if there is no such key any more.

        It is stored with the tokens, and so is a slow hash: a static key may be one that somebody thought up.
        """
        digest = self._digests.get(key_id)
        return digest and _mark(digest)


@cache
def _mark(digest: str) -> str:
    return hashlib.scrypt(digest.encode(), salt=b"svc, minted with", n=2**14, r=8, p=1, dklen=32).hex()
