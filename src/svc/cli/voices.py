"""`svc voices`: lists the voices."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from svc.app import create_voices
from svc.settings import Settings
from svc.text.language import Language


def voices(
    language: Annotated[str, typer.Option("--language", "-l", help="Only voices of this language.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """List the voices."""
    wanted = Language.parse(language) if language else None
    if language and wanted is None:
        raise typer.BadParameter(f"No such language: {language}. There are {', '.join(Language)}.")
    rows = [
        {"name": v.name, "key": v.key, "voice_id": v.voice_id, "language": v.language.value, "gender": v.gender}
        for v in create_voices(Settings())
        if wanted in (None, v.language)
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table(*(column.replace("_", " ") for column in rows[0]), box=None)
    for row in rows:
        table.add_row(*row.values())
    Console().print(table)
