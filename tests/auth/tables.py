"""Keys tables, as one or several replicas open them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from svc.auth.table import KeysTable

NOW = 1_800_000_000.75


@asynccontextmanager
async def open_tables(url: str, replicas: int = 1) -> AsyncIterator[list[KeysTable]]:
    tables = [KeysTable(url) for _ in range(replicas)]
    try:
        yield tables
    finally:
        for table in tables:
            await table.close()
