"""The address of the keys table: a database URL, as people write it."""

_SQLITE = "sqlite:///"
_SCHEMES = {"sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql"}


def normalised(url: str) -> str:
    """The URL with a plain scheme; a ValueError that repeats nothing of it, for it may hold a password."""
    scheme, separator, rest = url.strip().partition("://")
    scheme = _SCHEMES.get(scheme.lower().partition("+")[0], "")  # which driver is our own affair
    plain = f"{scheme}{separator}{rest}"
    if scheme == "postgresql" and rest:
        return plain
    if plain.startswith(_SQLITE) and plain.removeprefix(_SQLITE).strip("/") not in ("", ":memory:"):
        return plain
    raise ValueError("not a database that can hold keys: use sqlite:///keys.db or postgresql://user:password@host/name")
