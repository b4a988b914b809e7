"""`svc watermark check`: whether a custom voice of this service has spoken what is in a file."""

from pathlib import Path
from typing import Annotated

import typer

from svc.audio import decode
from svc.audio.watermark import detect_watermark

app = typer.Typer(no_args_is_help=True, help="Look for the watermark of SVC_WATERMARK.")


@app.callback()
def watermark() -> None:
    """Look for the watermark of SVC_WATERMARK."""


@app.command()
def check(file: Annotated[Path, typer.Argument(help="A recording: MP3, WAV, Opus and so on.")]) -> None:
    """Tell whether a recording carries the watermark. The exit status is 0 when it does, and 3 when it does not."""
    detection = detect_watermark(decode.decode_clip(file.read_bytes()).samples)
    if not detection.found:
        typer.echo("No watermark found.")
        raise typer.Exit(3)
    typer.echo(f"Watermark found: the chance that this is an accident is below {max(detection.p_value, 1e-300):.0e}.")
