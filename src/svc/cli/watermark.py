"""`svc watermark check`: detects the watermark of custom voices in an audio file."""

from pathlib import Path
from typing import Annotated

import typer

from svc.audio import decode
from svc.audio.watermark import detect_watermark

app = typer.Typer(no_args_is_help=True, help="Detect the watermark of SVC_WATERMARK.")


@app.callback()
def watermark() -> None:
    """Detect the watermark of SVC_WATERMARK."""


@app.command()
def check(file: Annotated[Path, typer.Argument(help="An audio file: MP3, WAV, Opus and so on.")]) -> None:
    """Check an audio file for the watermark. The exit status is 0 if it was found, and 3 if not."""
    detection = detect_watermark(decode.decode_clip(file.read_bytes()).samples)
    if not detection.found:
        typer.echo("No watermark found.")
        raise typer.Exit(3)
    typer.echo(f"Watermark found. The probability of a false positive is below {max(detection.p_value, 1e-300):.0e}.")
