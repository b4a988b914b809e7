"""The schema of the keys table, and its migrations."""

from svc.auth.database import Script

# Each entry migrates from one version to the next; entries are added, never changed. While a new release replaces an
# old one, both use the same table: a migration may add, but must not remove what the release before it reads.
# For two tables in SQL that both databases understand, a migration framework would add more code than it saves.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # minted_by is the key that a token was minted with: an id of this table, or the key_id of a static key.
        # Times are whole seconds since 1970, which both databases store alike.
        """
        CREATE TABLE svc_keys (
            id VARCHAR NOT NULL PRIMARY KEY,
            hash VARCHAR NOT NULL UNIQUE,
            kind VARCHAR NOT NULL,
            prefix VARCHAR NOT NULL,
            name VARCHAR NOT NULL,
            scopes VARCHAR NOT NULL,
            minted_by VARCHAR,
            created_at BIGINT NOT NULL,
            expires_at BIGINT,
            revoked_at BIGINT,
            consumed_at BIGINT,
            last_used_at BIGINT
        )
        """,
        "CREATE INDEX svc_keys_expiry ON svc_keys (kind, expires_at)",
    ),
    (
        # The fields of KeyLimits; NULL stands for the default.
        "ALTER TABLE svc_keys ADD COLUMN max_streams BIGINT",
        "ALTER TABLE svc_keys ADD COLUMN max_waiting BIGINT",
        "ALTER TABLE svc_keys ADD COLUMN max_characters_per_minute BIGINT",
    ),
    (
        # Of a token: the hash of the key that it was minted with, which `minted_by` also names once it was rotated.
        "ALTER TABLE svc_keys ADD COLUMN minted_with VARCHAR",
    ),
    (
        # Further fields of KeyLimits.
        "ALTER TABLE svc_keys ADD COLUMN max_sockets BIGINT",
        "ALTER TABLE svc_keys ADD COLUMN max_voices BIGINT",
        "ALTER TABLE svc_keys ADD COLUMN max_dictionaries BIGINT",
    ),
)


def migrate() -> Script:
    """Applies the missing migrations."""
    yield "CREATE TABLE IF NOT EXISTS svc_schema (version BIGINT NOT NULL)"
    (row,) = yield "SELECT COALESCE(MAX(version), 0) AS done FROM svc_schema"
    for version, statements in enumerate(MIGRATIONS[row["done"] :], row["done"] + 1):
        for statement in statements:  # noqa: UP028  (`yield from` a tuple takes no rows)
            yield statement
        yield f"INSERT INTO svc_schema (version) VALUES ({version})"
