"""What the settings check."""

import pytest

from svc.engine.batcher import MOST_AT_ONCE
from svc.settings import Settings, normalise_database_url
from svc.voices.catalogue import FALLBACK_VOICE


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
def test_normalise_database_url(written: str, plain: str) -> None:
    assert normalise_database_url(written) == plain


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
def test_invalid_url_is_rejected_without_quoting_it(written: str) -> None:
    with pytest.raises(ValueError, match="postgresql://user:password@host/name") as error:
        normalise_database_url(written)
    assert "secret" not in str(error.value)


def test_defaults_that_the_settings_state_themselves_are_those_of_the_rooms() -> None:
    assert Settings.model_fields["default_voice"].default == FALLBACK_VOICE
    assert Settings(device="cuda").workers == MOST_AT_ONCE
