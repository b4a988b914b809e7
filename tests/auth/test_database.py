"""Database URLs as people write them."""

import pytest

from svc.auth.database import normalised


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("sqlite:///keys.db", "sqlite:///keys.db"),
        ("sqlite:////var/lib/svc/keys.db", "sqlite:////var/lib/svc/keys.db"),
        ("sqlite+aiosqlite:///keys.db", "sqlite:///keys.db"),
        ("postgresql://u:p@h:5432/d?sslmode=require", "postgresql://u:p@h:5432/d?sslmode=require"),
        ("postgres://u@h/d", "postgresql://u@h/d"),
        ("postgresql+psycopg://u@h/d", "postgresql://u@h/d"),
        (" PostgreSQL+asyncpg://u@h/d\n", "postgresql://u@h/d"),
        ("postgresql:///d?host=/run/postgresql", "postgresql:///d?host=/run/postgresql"),
    ],
)
def test_understood(written: str, plain: str) -> None:
    assert normalised(written) == plain


@pytest.mark.parametrize(
    "written",
    [
        "",
        "keys.db",
        "mysql://u:secret@h/d",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:keys.db",
        "postgresql://",
        "postgresql:u:secret@h",
        "http://secret",
    ],
)
def test_refused_without_repeating_it(written: str) -> None:
    with pytest.raises(ValueError, match="postgresql://user:password@host/name") as error:
        normalised(written)
    assert "secret" not in str(error.value)
