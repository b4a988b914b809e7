"""The keys that the settings name."""

from collections.abc import Iterable
from hmac import compare_digest

from svc.auth.principal import Principal, Scope
from svc.auth.secret import digest


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
