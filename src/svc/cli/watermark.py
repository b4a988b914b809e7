"""`svc watermark check`: detects the watermark of custom voices in an audio file."""

from pathlib import Path
from typing import Annotated

import typer

from svc.audio import decode
from svc.audio.watermark import check as look_for

app = typer.Typer(no_args_is_help=True, help="Detect the watermark of SVC_WATERMARK.")


@app.callback()
def watermark() -> None:
    """Detect the watermark of SVC_WATERMARK."""


@app.command()
def check(file: Annotated[Path, typer.Argument(help="An audio file: MP3, WAV, Opus and so on.")]) -> None:
    """Check an audio file for the watermark. The exit status is 0 if it was found, and 3 if not."""
    finding = look_for(decode.read(file.read_bytes()).samples)
    if not finding.found:
        typer.echo("No watermark found.")
        raise typer.Exit(3)
    typer.echo(f"Watermark found. The probability of a false positive is below {max(finding.doubt, 1e-300):.0e}.")
