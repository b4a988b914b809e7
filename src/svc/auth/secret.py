"""Keys and tokens as their holders see them: a prefix that tells the kind, then random letters and digits."""

import hashlib
import secrets
import string
from enum import StrEnum

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
