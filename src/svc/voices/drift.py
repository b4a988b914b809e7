"""Drift: what the custom voices of this server and those in the object store differ in. It only reads."""

import asyncio
from dataclasses import dataclass

from obstore.store import ObjectStore

from svc.errors import VoiceNotFound
from svc.voices.custom_voice import CustomVoice, DamagedVoice
from svc.voices.object_store import ListedVoice, VoiceObjects
from svc.voices.store import VoiceStore


@dataclass(frozen=True, slots=True)
class Drift:
    voice_id: str
    problem: str


async def find_drift(object_store: ObjectStore, store: VoiceStore) -> list[Drift]:
    """The differences, by voice id. A voice that is being changed at this moment may be among them."""
    objects = VoiceObjects(object_store)
    removed, listed = await objects.list_removed(), await objects.list_voices()
    local = await asyncio.to_thread(store.signatures)
    found = []
    for voice_id in sorted(local.keys() | listed.keys() | removed):
        problem = await _compare(objects, store, voice_id, listed.get(voice_id), removed=voice_id in removed)
        if problem:
            found.append(Drift(voice_id, problem))
    return found


async def _compare(
    objects: VoiceObjects, store: VoiceStore, voice_id: str, listed: ListedVoice | None, *, removed: bool
) -> str | None:
    """What differs, in words; None if nothing does."""
    here, problem_here = await asyncio.to_thread(_read, store, voice_id)
    if removed:
        if here or problem_here:
            return "removed in the object store, but still here"
        return "removed, but still in the object store" if listed else None
    if await asyncio.to_thread(store.is_removed, voice_id):
        return "removed here, but not in the object store"
    stored = await objects.fetch_voice(voice_id)
    if problem_here:
        return f"damaged here: {problem_here}"
    if stored is None:
        return "missing in the object store" if here else None
    if stored.voice is None:
        return f"damaged in the object store: {stored.problem}"
    if here is None:
        return "missing here"
    if here.version != stored.voice.version:
        return "older here" if here.version < stored.voice.version else "older in the object store"
    if here.reference and not (listed and here.reference.name in listed.references):
        return "its recording is missing in the object store"
    return None


def _read(store: VoiceStore, voice_id: str) -> tuple[CustomVoice | None, str]:
    """The voice with its recording, or why it is damaged."""
    try:
        voice, _ = store.read_whole(voice_id)
    except VoiceNotFound:
        return None, ""
    except DamagedVoice as problem:
        return None, str(problem)
    return voice, ""
