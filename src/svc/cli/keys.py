"""`svc keys`: creates, lists, changes, rotates and revokes the keys of the keys table."""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Literal, TypeVar

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from svc.auth.keys import KeyLimits, Scope, StoredKey
from svc.auth.table import KeysTable
from svc.errors import KeysUnavailable, NotSupported
from svc.service import create_keys_table
from svc.settings import Settings

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, help="Create, list, change, rotate and revoke the keys of SVC_API_KEYS_TABLE.")

_UNIT_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_LONGEST_NAME = 100
_LONGEST_SECONDS = 5_200 * _UNIT_SECONDS["w"]  # far beyond it, no calendar has a date
_HIGHEST_LIMIT = 1_000_000_000

Key = Annotated[str, typer.Argument(metavar="PREFIX|ID", help="The key, its id, or its prefix as listed.")]


@app.command()
def create(
    name: Annotated[str, typer.Option(help="Whose key it is, or what it is for.")],
    expires: Annotated[str, typer.Option(help="When it expires: 30m, 12h, 30d or 52w from now. Default: never.")] = "",
    scope: Annotated[
        Literal["full", "tts"],
        typer.Option(help="What it may do: everything, or only synthesize speech and list voices."),
    ] = "full",
    max_streams: Annotated[
        int | None, typer.Option(min=1, max=_HIGHEST_LIMIT, help="How many texts it may synthesize at once.")
    ] = None,
    max_waiting: Annotated[
        int | None, typer.Option(min=0, max=_HIGHEST_LIMIT, help="How many of its requests may wait for their turn.")
    ] = None,
    max_characters_per_minute: Annotated[
        int | None, typer.Option(min=1, max=_HIGHEST_LIMIT, help="How many characters it may synthesize in a minute.")
    ] = None,
    max_sockets: Annotated[
        int | None, typer.Option(min=1, max=_HIGHEST_LIMIT, help="How many realtime sockets it may have open.")
    ] = None,
    max_voices: Annotated[
        int | None, typer.Option(min=0, max=_HIGHEST_LIMIT, help="How many custom voices it may make.")
    ] = None,
    max_dictionaries: Annotated[
        int | None, typer.Option(min=0, max=_HIGHEST_LIMIT, help="How many pronunciation dictionaries it may make.")
    ] = None,
) -> None:
    """Create a key. It is shown once; only its hash is stored.

    Limits that are not given are those of SVC_KEY_MAX_STREAMS and the like.
    """
    now = time.time()
    expires_at = int(now) + _parse_duration(expires) if expires else None
    if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise typer.BadParameter(f"The name must have 1 to {_LONGEST_NAME} printable characters.")
    limits = KeyLimits(max_streams, max_waiting, max_characters_per_minute, max_sockets, max_voices, max_dictionaries)
    credential, key = _with_table(
        lambda table: table.create(now, name=name.strip(), scopes=[Scope(scope)], expires_at=expires_at, limits=limits)
    )
    # Only the key goes to standard output, for scripts.
    Console(stderr=True).print(
        f"Key [bold]{key.id}[/] for {escape(key.name)}, {_describe_expiry(key)}. Save it now: it is not shown again.",
        highlight=False,
    )
    typer.echo(credential)


@app.command("list")
def list_keys(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the keys with their names and states. The keys themselves are not stored."""
    now = time.time()
    keys = _with_table(lambda table: table.list_keys())
    if as_json:
        typer.echo(json.dumps([_to_json(key, now) for key in keys], indent=2))
        return
    table = Table(box=None)
    for column in ("id", "key", "name", "scopes", "expires", "last used", "limits", "state"):
        table.add_column(column, no_wrap=column not in ("name", "limits"))
    for key in keys:
        table.add_row(
            key.id,
            f"{key.prefix}…",
            escape(key.name),
            " ".join(sorted(key.scopes)),
            _format_day(key.expires_at),
            _format_day(key.last_used_at),
            _describe_limits(key.limits),
            _describe_state(key, now),
        )
    Console().print(table)


@app.command()
def change(
    which: Key,
    max_streams: Annotated[
        str | None, typer.Option(metavar="N|default", help="How many texts it may synthesize at once.")
    ] = None,
    max_waiting: Annotated[
        str | None, typer.Option(metavar="N|default", help="How many of its requests may wait for their turn.")
    ] = None,
    max_characters_per_minute: Annotated[
        str | None, typer.Option(metavar="N|default", help="How many characters it may synthesize in a minute.")
    ] = None,
    max_sockets: Annotated[
        str | None, typer.Option(metavar="N|default", help="How many realtime sockets it may have open.")
    ] = None,
    max_voices: Annotated[
        str | None, typer.Option(metavar="N|default", help="How many custom voices it may make.")
    ] = None,
    max_dictionaries: Annotated[
        str | None, typer.Option(metavar="N|default", help="How many pronunciation dictionaries it may make.")
    ] = None,
) -> None:
    """Change the limits of a key, which its tokens share. Servers apply it within SVC_KEYS_CACHE_SECONDS."""
    given = {
        "max_streams": (max_streams, 1),
        "max_waiting": (max_waiting, 0),
        "max_characters_per_minute": (max_characters_per_minute, 1),
        "max_sockets": (max_sockets, 1),
        "max_voices": (max_voices, 0),
        "max_dictionaries": (max_dictionaries, 0),
    }
    limits = {name: _parse_limit(value, least) for name, (value, least) in given.items() if value is not None}
    if not limits:
        raise typer.BadParameter("Give at least one limit, such as --max-streams 4 or --max-streams default.")

    async def find_and_change(table: KeysTable) -> StoredKey:
        await table.change_limits((await _find_key(table, which)).id, limits)
        return await _find_key(table, which)

    key = _with_table(find_and_change)
    Console(stderr=True).print(
        f"Key [bold]{key.id}[/] ({escape(key.name)}) has these limits: {_describe_limits(key.limits)}.", highlight=False
    )


@app.command()
def rotate(which: Key) -> None:
    """Replace a key by a new one with the same id, which keeps its limits and its voices. The old one is revoked."""

    async def find_and_rotate(table: KeysTable) -> tuple[str, StoredKey]:
        key = await _find_key(table, which)
        if key.revoked_at is not None:
            raise typer.BadParameter("This key is revoked. Create another one.")
        return await table.rotate(key.id), key

    credential, key = _with_table(find_and_rotate)
    Console(stderr=True).print(
        f"Key [bold]{key.id}[/] for {escape(key.name)} is replaced, {_describe_expiry(key)}. Save it now: it is not "
        "shown again.",
        highlight=False,
    )
    typer.echo(credential)


@app.command()
def revoke(which: Key) -> None:
    """Revoke a key and the tokens made with it."""

    async def find_and_revoke(table: KeysTable) -> StoredKey:
        key = await _find_key(table, which)
        await table.revoke(key.id, time.time())
        return key

    key = _with_table(find_and_revoke)
    Console(stderr=True).print(f"Revoked key [bold]{key.id}[/] ({escape(key.name)}).", highlight=False)


async def _find_key(table: KeysTable, which: str) -> StoredKey:
    wanted = which.rstrip(".…")
    found = [key for key in await table.list_keys() if wanted == key.id or wanted.startswith(key.prefix)]
    if len(found) != 1:
        raise typer.BadParameter("No key matches, or more than one does. `svc keys list` shows the ids.")
    return found[0]


def _with_table(work: Callable[[KeysTable], Awaitable[T]]) -> T:
    async def run() -> T:
        table = create_keys_table(Settings())
        if table is None:
            raise NotSupported("No keys table is configured. Set SVC_API_KEYS_TABLE, for example to sqlite:///keys.db.")
        try:
            return await work(table)
        except KeysUnavailable as error:
            raise ConnectionError(f"The keys table is unavailable: {error.reason}") from error
        finally:
            await table.close()

    return asyncio.run(run())


def _parse_duration(duration: str) -> int:
    match = re.fullmatch(r"([1-9][0-9]{0,5})([mhdw])", duration.strip().lower())
    if match is None:
        raise typer.BadParameter("Give a duration as a number and a unit: 30m, 12h, 30d or 52w.")
    seconds = int(match[1]) * _UNIT_SECONDS[match[2]]
    if seconds > _LONGEST_SECONDS:
        raise typer.BadParameter("A key may expire within 100 years; without --expires it never does.")
    return seconds


def _parse_limit(limit: str, least: int) -> int | None:
    if limit == "default":
        return None
    if re.fullmatch(r"[0-9]{1,10}", limit) and least <= int(limit) <= _HIGHEST_LIMIT:
        return int(limit)
    raise typer.BadParameter(f"Give a limit as a number from {least} to {_HIGHEST_LIMIT}, or as `default`.")


def _describe_limits(limits: KeyLimits) -> str:
    units = {
        "max_streams": "streams",
        "max_waiting": "waiting",
        "max_characters_per_minute": "characters/min",
        "max_sockets": "sockets",
        "max_voices": "voices",
        "max_dictionaries": "dictionaries",
    }
    return (
        ", ".join(f"{value} {units[name]}" for name, value in asdict(limits).items() if value is not None) or "default"
    )


def _describe_state(key: StoredKey, now: float) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "valid" if key.is_valid(now) else "expired"


def _describe_expiry(key: StoredKey) -> str:
    return f"valid until {_format_day(key.expires_at)}" if key.expires_at else "valid until it is revoked"


def _format_day(at: int | None) -> str:
    if not at:
        return "–"
    try:
        return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"
    except (ValueError, OverflowError, OSError):  # what is in the table may be of another program
        return "in no calendar"


def _to_json(key: StoredKey, now: float) -> dict[str, object]:
    return {
        "id": key.id,
        "prefix": key.prefix,
        "name": key.name,
        "scopes": sorted(key.scopes),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
        "limits": asdict(key.limits),
        "state": _describe_state(key, now),
    }
