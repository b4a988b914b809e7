"""A key or token as the keys table knows it."""

from dataclasses import dataclass

from svc.auth.principal import Scope
from svc.auth.secret import Kind


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
