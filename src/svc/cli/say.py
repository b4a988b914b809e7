"""`svc say`: speaks a text to a file, or to the loudspeaker."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
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
from svc.synthesis.pipeline import Pipeline, SpeechChunk, SynthesisRequest, clip
from svc.text.language import Language
from svc.voices.settings import VoiceSettings

# What a file of this name is expected to hold, when no format is given.
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
    text: Annotated[str | None, typer.Argument(help="What to say; - or nothing reads standard input.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write; - is standard output. Without it, plays.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A text file to read aloud.")] = None,
    voice: Annotated[str, typer.Option("--voice", "-v", help="A voice's name or id; `svc voices` lists them.")] = "",
    language: Annotated[str, typer.Option("--language", "-l", help="The language, such as en, es or pt-BR.")] = "",
    speed: Annotated[float, typer.Option("--speed", "-s", help="From 0.5 to 2.")] = 1.0,
    output_format: Annotated[str, typer.Option("--format", help="Such as mp3_44100_128, wav_24000, pcm_16000.")] = "",
    seed: Annotated[int | None, typer.Option(help="Another number is another take.")] = None,
) -> None:
    """Speak a text."""
    settings = Settings()
    voices = create_voices(settings)
    request = SynthesisRequest(
        text=_text(text, file, settings.max_characters),
        voice=voices.find(voice) if voice else voices.default,
        settings=VoiceSettings(speed=speed),
        language=_language(language),
        seed=seed,
    )
    audio_format = _format(output_format, output)
    speech = create_pipeline(settings)
    *_, whole = clip(_with_progress(speech, request), audio_format, speech.sample_rate, request.text)
    if output is None:
        _play(whole.audio)
    elif str(output) == "-":
        sys.stdout.buffer.write(whole.audio)
    else:
        output.write_bytes(whole.audio)


def _text(text: str | None, file: Path | None, limit: int) -> str:
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


def _language(code: str) -> Language | None:
    if not code:
        return None
    language = Language.parse(code)
    if language is None:
        raise typer.BadParameter(f"No such language: {code}. There are {', '.join(Language)}.")
    return language


def _format(name: str, output: Path | None) -> OutputFormat:
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


def _with_progress(speech: Pipeline, request: SynthesisRequest) -> Iterator[SpeechChunk]:
    """The spoken chunks, with a spinner while the engine loads and a bar for texts that take a while."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("loading", total=None)
        speech.load()
        # How long the speech will be is only known at its end: English takes about 15 characters a second.
        progress.update(task, description="speaking", total=len(request.text) / 15 / request.settings.speed)
        for chunk in speech.speak(request):
            progress.advance(task, len(chunk.samples) / speech.sample_rate)
            yield chunk


def _play(audio: bytes) -> None:
    player = next((player for player in _PLAYERS if shutil.which(player[0])), None)
    if player is None:
        raise typer.BadParameter("No player found (ffplay, afplay, paplay, aplay, play): use -o FILE.")
    with tempfile.NamedTemporaryFile(suffix=".wav") as clip:
        clip.write(audio)
        clip.flush()
        subprocess.run([*player, clip.name], check=True)
