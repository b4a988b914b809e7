"""`svc say`: synthesizes a text and writes or plays the audio."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from svc.audio import formats
from svc.audio.formats import Codec, OutputFormat
from svc.errors import TextTooLong
from svc.service import create_pipeline, create_voices
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import Clip, SynthesisRequest
from svc.text.language.languages import Language
from svc.voices.settings import FASTEST, SLOWEST, VoiceSettings

_PLAYERS = (
    ("ffplay", "-nodisp", "-autoexit", "-loglevel", "error"),
    ("afplay",),
    ("paplay",),
    ("aplay", "-q"),
    ("play", "-q"),
)


def say(
    text: Annotated[str | None, typer.Argument(help="The text to speak; - or no text reads standard input.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The file to write; - is standard output. Without it, the audio is played."
        ),
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A text file to speak.")] = None,
    voice: Annotated[
        str, typer.Option("--voice", "-v", help="The name or id of a voice; `svc voices` lists them.")
    ] = "",
    language: Annotated[
        str, typer.Option("--language", "-l", help="The language of the text, such as en, es or pt-BR.")
    ] = "",
    speed: Annotated[float, typer.Option("--speed", "-s", help="The speaking rate, from 0.5 to 2.")] = 1.0,
    output_format: Annotated[
        str, typer.Option("--format", help="The output format, such as mp3_44100_128, wav_24000 or pcm_16000.")
    ] = "",
    seed: Annotated[int | None, typer.Option(help="Varies the delivery; the same seed gives the same audio.")] = None,
) -> None:
    """Speak a text."""
    if not SLOWEST <= speed <= FASTEST:  # also refuses nan, which a range of typer's lets through
        raise typer.BadParameter(f"The speed must be from {SLOWEST:g} to {FASTEST:g}.")
    settings = Settings()
    voices = create_voices(settings)
    request = SynthesisRequest(
        text=_read_text(text, file, settings.max_characters),
        voice=voices.find(voice) if voice else voices.find_default(),
        settings=VoiceSettings(speed=speed),
        language=_parse_language(language),
        seed=seed,
    )
    audio_format = _choose_format(output_format, output)
    pipeline = create_pipeline(settings)
    pipeline.find_voice = voices.find_common
    audio = _render(pipeline, request, audio_format)
    if output is None:
        _play(audio)
    elif str(output) == "-":
        sys.stdout.buffer.write(audio)
    else:
        output.write_bytes(audio)


def _read_text(text: str | None, file: Path | None, limit: int) -> str:
    if file is not None:
        text = file.read_text(encoding="utf-8", errors="replace")
    elif text is None or text == "-":
        if sys.stdin.isatty():
            raise typer.BadParameter("No text: give a text, --file, or standard input.")
        text = sys.stdin.read()
    if not text.strip():
        raise typer.BadParameter("The text is blank.")
    if len(text) > limit:
        raise TextTooLong(len(text), limit)
    return text


def _parse_language(code: str) -> Language | None:
    if not code:
        return None
    language = Language.parse(code)
    if language is None:
        raise typer.BadParameter(f"Unknown language {code}. Valid values: {', '.join(Language)}.")
    return language


def _choose_format(name: str, output: Path | None) -> OutputFormat:
    if name:
        return formats.find(name)
    if output is None:
        return formats.find(Codec.WAV.default)
    if str(output) == "-":
        return formats.find(formats.DEFAULT)
    try:
        return formats.find(formats.ENDINGS[output.suffix.lower()])
    except KeyError:
        known = ", ".join(formats.ENDINGS)
        raise typer.BadParameter(
            f"Cannot tell the format from the file name {output.name}. Use --format, or one of {known}."
        ) from None


def _render(pipeline: Pipeline, request: SynthesisRequest, audio_format: OutputFormat) -> bytes:
    """Renders the whole clip, with a spinner while the engine loads and a progress bar for long texts."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("loading", total=None)
        pipeline.load()
        progress.update(task, description="synthesizing", total=request.estimate_seconds())
        clip = Clip()
        for part in pipeline.render(request, audio_format, clip):
            progress.advance(task, part.seconds)
    return clip.audio


def _play(audio: bytes) -> None:
    player = next((player for player in _PLAYERS if shutil.which(player[0])), None)
    if player is None:
        raise typer.BadParameter("No audio player found (ffplay, afplay, paplay, aplay, play). Use -o FILE.")
    with tempfile.NamedTemporaryFile(suffix=".wav") as clip:
        clip.write(audio)
        clip.flush()
        subprocess.run([*player, clip.name], check=True)
