"""`svc voices`: lists the voices; adds, gives away, removes, exports and imports custom ones, and compares them with a
mirror.
"""

import asyncio
import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from svc.auth.keys import COMMAND_LINE, COMMAND_LINE_ID
from svc.cloning.cloner import Details
from svc.cloning.refinement_queue import RefinementQueue
from svc.cloning.trial import TrialSynthesis
from svc.errors import BuiltInVoice, ModelLoading
from svc.observability.metrics import Metrics
from svc.service import (
    create_cloner,
    create_custom_voices,
    create_pipeline,
    create_refinement_queue,
    create_voice_sync,
    create_voices,
    load_speaker_encoder,
)
from svc.settings import Settings
from svc.synthesis.scheduler import Scheduler
from svc.text.language.languages import Language
from svc.voices.built_in import load_built_in_voices
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.custom_voice import ID, CustomVoice, DamagedVoice, new_id, pack_archive, unpack_archive
from svc.voices.drift import Drift, find_drift
from svc.voices.object_store import open_object_store
from svc.voices.store import VoiceStore

app = typer.Typer(invoke_without_command=True, help="List the voices; add, remove, export and import custom ones.")

Wanted = Annotated[str, typer.Option("--language", "-l", help="Only voices of this language.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
VoiceId = Annotated[str, typer.Argument(metavar="VOICE_ID", help="The id of a custom voice, as listed.")]


@app.callback()
def voices(context: typer.Context, language: Wanted = "", as_json: AsJson = False) -> None:
    """List the voices; add, remove, export and import custom ones."""
    if context.invoked_subcommand is None:
        list_voices(language, as_json)


@app.command("list")
def list_voices(language: Wanted = "", as_json: AsJson = False) -> None:
    """List the voices, built-in and custom, and how far the refinement of cloned ones is."""
    wanted = _parse_language(language) if language else None
    refinement_queue = create_refinement_queue(Settings())
    rows: list[dict[str, Any]] = [
        {
            "name": voice.name,
            "key": voice.key,
            "voice_id": voice.voice_id,
            "language": voice.language.value,
            "gender": voice.gender,
            "category": "cloned" if voice.custom else "premade",
            "owner": voice.custom.owner or "" if voice.custom else "",
            "refinement_progress": refinement_queue.progress(voice.custom) if voice.custom else None,
        }
        for voice in create_voices(Settings())
        if wanted in (None, voice.language)
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table(*(column.replace("_", " ") for column in rows[0] if column != "refinement_progress"), box=None)
    for row in rows:
        progress = row.pop("refinement_progress")
        if progress is not None:
            row["category"] = f"{row['category']}, {progress:.0%}"
        table.add_row(*(escape(str(value)) for value in row.values()))
    Console().print(table)


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="The name of the voice.")],
    clips: Annotated[list[Path], typer.Argument(help="Recordings of the person: 10 to 20 seconds of clean speech.")],
    description: Annotated[str, typer.Option(help="A short description of the voice.")] = "",
    language: Annotated[str, typer.Option("--language", "-l", help="The language that the person speaks.")] = "en",
    label: Annotated[list[str] | None, typer.Option(help="A label such as accent=irish; repeatable.")] = None,
    consent: Annotated[bool, typer.Option("--consent", help="The person has consented to the cloning.")] = False,
    refine: Annotated[
        bool | None,
        typer.Option(help="Refine the voice in the background, on the next running server. [default: English voices]"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Clone a voice from recordings. Prints its id to standard output and the measurements to standard error."""
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise typer.BadParameter("The name must have 1 to 100 printable characters.")
    details = Details(
        name=name.strip(),
        description=description,
        labels=dict(_parse_label(each) for each in label or []),
        language=_parse_language(language),
        consent=consent,
        refine=refine,
    )
    refinement_queue = create_refinement_queue(Settings())
    voice = asyncio.run(_clone([clip.read_bytes() for clip in clips], details, refinement_queue))
    if as_json:
        typer.echo(json.dumps({"voice_id": voice.voice_id, **asdict(voice.report)}, indent=2))
        return
    console, report = Console(stderr=True, highlight=False), voice.report
    console.print(
        f"{report.measured.used_seconds:.0f} s of speech, signal-to-noise ratio {report.measured.snr_db:.0f} dB. "
        f"Similarity to the recording: {report.similarity:.2f}; "
        f"the most similar built-in voice, {report.nearest}: {report.nearest_similarity:.2f}."
    )
    for warning in report.warnings:
        console.print(f"[yellow]{escape(warning)}[/]")
    if refinement_queue.progress(voice) is not None:
        console.print("The voice will be refined in the background, as soon as a server runs.")
    typer.echo(voice.voice_id)


@app.command()
def remove(voice_id: VoiceId) -> None:
    """Remove a custom voice permanently. A running server notices within seconds."""
    _require_custom(voice_id)
    _open_store().remove(voice_id)


@app.command()
def give(
    voice_id: VoiceId,
    key_id: Annotated[
        str, typer.Argument(metavar="KEY_ID", help="The id of a key, from `svc keys list`; `-` for the server's own.")
    ],
) -> None:
    """Give a custom voice to another key: only its owner may change it, besides whoever runs the server."""
    _require_custom(voice_id)
    if not re.fullmatch(r"-|[0-9a-f]{12}", key_id):
        raise typer.BadParameter("Give the id of a key, such as 3f9a04c1b2d7: `svc keys list` shows them.")
    owner = COMMAND_LINE_ID if key_id == "-" else key_id
    _open_store().change(voice_id, lambda voice: voice.revise(key_id=owner))


@app.command("export")
def export_voice(
    voice_id: VoiceId,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write, such as anna.svcvoice.")],
    without_reference: Annotated[
        bool, typer.Option("--without-reference", help="Leave out the speech that the voice was cloned from.")
    ] = False,
) -> None:
    """Export a custom voice to one file."""
    _require_custom(voice_id)
    store = _open_store()
    try:
        voice = store.read(voice_id)
        reference = None if without_reference else store.read_reference(voice)
    except DamagedVoice as problem:
        raise typer.BadParameter(f"The voice is damaged: {problem}.") from problem
    if reference is None:
        voice = replace(voice, reference=None)
    output.write_bytes(pack_archive(voice, reference))


@app.command("import")
def import_voice(file: Annotated[Path, typer.Argument(help="A file made by `svc voices export`.")]) -> None:
    """Import a custom voice from a file. Prints its id: the same as before, unless that voice was removed here."""
    settings, store = Settings(), _open_store()
    try:
        voice, reference = unpack_archive(file.read_bytes())
    except DamagedVoice as problem:
        raise typer.BadParameter(f"{file}: {problem}.") from problem
    if voice.voice_id in store.signatures():
        raise typer.BadParameter(f"The voice {voice.voice_id} already exists.")
    if store.is_removed(voice.voice_id):
        Console(stderr=True).print("This voice was removed before, and removed ids are not reused: it gets a new id.")
        voice = replace(voice, voice_id=new_id())
    store.add(voice, reference, limit=settings.max_custom_voices)
    typer.echo(voice.voice_id)


@app.command()
def sync(
    repair: Annotated[
        bool,
        typer.Option("--repair/--check", help="Repair what differs, or only show it. Exits with 1 if any is left."),
    ] = False,
) -> None:
    """Compare the custom voices here with the object store (SVC_VOICE_MIRROR).

    Running servers compare and repair all the time. Of two versions the later one wins, and a removal wins over both.
    """
    settings = Settings()
    if settings.voice_mirror is None:
        raise typer.BadParameter("There is no object store to compare with: set SVC_VOICE_MIRROR.")
    drift = asyncio.run(_repair_drift(settings) if repair else _find_drift(settings))
    table = Table("voice id", "problem")
    for each in drift:
        table.add_row(each.voice_id, escape(each.problem))
    if drift:
        Console().print(table)
        raise typer.Exit(1)
    typer.echo("The voices here and in the object store are the same.")


async def _find_drift(settings: Settings) -> list[Drift]:
    assert settings.voice_mirror is not None
    return await find_drift(open_object_store(settings.voice_mirror), _open_store())


async def _repair_drift(settings: Settings) -> list[Drift]:
    """What is left after a fetch, the uploads that it found missing, and a fetch of what they revealed."""
    console = Console(stderr=True)
    for each in await _find_drift(settings):
        console.print(f"{each.voice_id}: {escape(each.problem)}")
    custom_voices = create_custom_voices(settings, VoiceCatalogue(load_built_in_voices()))
    voice_sync = create_voice_sync(settings, custom_voices)
    assert voice_sync is not None
    await voice_sync.fetch()
    await voice_sync.upload()
    await voice_sync.fetch()
    return await _find_drift(settings)


async def _clone(clips: list[bytes], details: Details, refinement_queue: RefinementQueue) -> CustomVoice:
    """Clones as a server does, with an engine and a scheduler of its own."""
    settings = Settings()
    pipeline = create_pipeline(settings)
    voices = VoiceCatalogue(load_built_in_voices())
    custom_voices = create_custom_voices(settings, voices)
    custom_voices.load()
    scheduler = Scheduler(pipeline.load)
    trial = TrialSynthesis(load_speaker_encoder, pipeline, scheduler, voices)
    cloner = create_cloner(settings, trial, voices, custom_voices, refinement_queue, Metrics())
    scheduler.start()
    try:
        await _wait_until_loaded(scheduler)
        return await cloner.clone(clips, details, COMMAND_LINE)
    finally:
        await trial.close()
        await scheduler.close()


async def _wait_until_loaded(scheduler: Scheduler) -> None:
    while True:
        try:
            return scheduler.require_ready()
        except ModelLoading:
            await asyncio.sleep(0.05)


def _open_store() -> VoiceStore:
    return create_custom_voices(Settings(), VoiceCatalogue(load_built_in_voices())).store


def _require_custom(voice_id: str) -> None:
    if not ID.fullmatch(voice_id):
        raise BuiltInVoice(VoiceCatalogue(load_built_in_voices()).find(voice_id).name)


def _parse_language(code: str) -> Language:
    language = Language.parse(code)
    if language is None:
        raise typer.BadParameter(f"Unknown language {code}. Valid values: {', '.join(Language)}.")
    return language.base


def _parse_label(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise typer.BadParameter(f"Invalid label {text}. Give a name and a value, such as accent=irish.")
    return name, value
