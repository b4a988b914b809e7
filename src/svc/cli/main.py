"""The `svc` command: its sub-commands, and how it reports errors."""

import sys
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape

from svc import __version__
from svc.cli import bench, dictionaries, keys, say, serve, voices, watermark
from svc.errors import StorageUnavailable, SvcError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command()(say.say)
app.command()(serve.serve)
app.command()(bench.bench)
app.add_typer(dictionaries.app, name="dictionaries")
app.add_typer(keys.app, name="keys")
app.add_typer(voices.app, name="voices")
app.add_typer(watermark.app, name="watermark")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"svc {__version__}")
        raise typer.Exit


@app.callback()
def svc(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Self-hosted text-to-speech."""


def main() -> None:
    """Runs the command; an error is one readable line and a non-zero exit."""
    try:
        app()
    except StorageUnavailable as error:
        _fail(error.reason)
    except (SvcError, OSError) as error:
        _fail(str(error))
    except ValidationError as error:
        for each in error.errors():
            problem = each["msg"].removeprefix("Value error, ")
            _fail(f"SVC_{'_'.join(map(str, each['loc'])).upper()}: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)


def _fail(message: str) -> None:
    Console(stderr=True).print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True, highlight=False)
    sys.exit(1)
