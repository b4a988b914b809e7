"""`svc say`: speaks a text into a file or through the loudspeaker."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from svc.app import create_pipeline, create_voices
from svc.audio import formats
from svc.audio.formats import OutputFormat
from svc.errors import TextTooLong
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.text.language import Language
from svc.voices.settings import VoiceSettings

# The output format by file name, when none is given.
_FORMATS = {
    ".mp3": formats.DEFAULT,
    ".wav": "wav_24000",
    ".opus": "opus_48000_64",
    ".ogg": "opus_48000_64",
    ".pcm": "pcm_24000",
    ".raw": "pcm_24000",
    ".ulaw": "ulaw_8000",
    ".alaw": "alaw_8000",
}
_PLAYERS = (
    ("ffplay", "-nodisp", "-autoexit", "-loglevel", "error"),
    ("afplay",),
    ("paplay",),
    ("aplay", "-q"),
    ("play", "-q"),
)


def say(
    text: Annotated[str | None, typer.Argument(help="The text; - or nothing reads standard input.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write; - is standard output. Without it, plays.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A text file to read aloud.")] = None,
    voice: Annotated[str, typer.Option("--voice", "-v", help="A voice's name or id; `svc voices` lists them.")] = "",
    language: Annotated[str, typer.Option("--language", "-l", help="The language, such as en, es or pt-BR.")] = "",
    speed: Annotated[float, typer.Option("--speed", "-s", help="From 0.5 to 2.")] = 1.0,
    output_format: Annotated[str, typer.Option("--format", help="Such as mp3_44100_128, wav_24000, pcm_16000.")] = "",
    seed: Annotated[int | None, typer.Option(help="Varies the delivery; the same number, the same audio.")] = None,
) -> None:
    """Speak a text."""
    settings = Settings()
    voices = create_voices(settings)
    request = SynthesisRequest(
        text=_read_text(text, file, settings.max_characters),
        voice=voices.find(voice) if voice else voices.default,
        settings=VoiceSettings(speed=speed),
        language=_parse_language(language),
        seed=seed,
    )
    audio_format = _choose_format(output_format, output)
    audio = _render(create_pipeline(settings), request, audio_format)
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
            raise typer.BadParameter("Nothing to say: give a text, --file, or standard input.")
        text = sys.stdin.read()
    if not text.strip():
        raise typer.BadParameter("Nothing to say: the text is blank.")
    if len(text) > limit:
        raise TextTooLong(len(text), limit)
    return text


def _parse_language(code: str) -> Language | None:
    if not code:
        return None
    language = Language.parse(code)
    if language is None:
        raise typer.BadParameter(f"No such language: {code}. There are {', '.join(Language)}.")
    return language


def _choose_format(name: str, output: Path | None) -> OutputFormat:
    if name:
        return formats.find(name)
    if output is None:
        return formats.find("wav_24000")
    if str(output) == "-":
        return formats.find(formats.DEFAULT)
    try:
        return formats.find(_FORMATS[output.suffix.lower()])
    except KeyError:
        known = ", ".join(_FORMATS)
        raise typer.BadParameter(f"What format is {output.name}? Use one of {known}, or --format.") from None


def _render(pipeline: Pipeline, request: SynthesisRequest, audio_format: OutputFormat) -> bytes:
    """The whole clip, with a spinner while the engine loads and a bar for texts that take a while."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("loading", total=None)
        pipeline.load()
        # How long the speech will be is only known at its end: English takes about 15 characters a second.
        progress.update(task, description="speaking", total=len(request.text) / 15 / request.settings.speed)
        *_, whole = pipeline.render(
            request,
            audio_format,
            lambda chunk: progress.advance(task, len(chunk.samples) / pipeline.sample_rate),
        )
    return whole.audio


def _play(audio: bytes) -> None:
    player = next((player for player in _PLAYERS if shutil.which(player[0])), None)
    if player is None:
        raise typer.BadParameter("No player found (ffplay, afplay, paplay, aplay, play): use -o FILE.")
    with tempfile.NamedTemporaryFile(suffix=".wav") as clip:
        clip.write(audio)
        clip.flush()
        subprocess.run([*player, clip.name], check=True)
