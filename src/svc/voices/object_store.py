"""Custom voices in object storage: what is stored where, and puts that do not overwrite what they have not seen.

    voices/custom-…/voice.json            as on disk, with its checksum
    voices/custom-…/reference-….flac      its checksum is in voice.json
    removed/custom-…                      a tombstone: it wins over everything else, for good

S3, Google Cloud Storage and Azure replace an object only if it is still the one that was read (If-Match). A folder
(`file:`) cannot do that, and some self-hosted S3 servers ignore it: there the last of two writers at the same moment
wins at first, and `svc.voices.sync` repairs it on its next round.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import LocalStore, ObjectStore, from_url

from svc.voices.custom_voice import (
    ID,
    MAX_REFERENCE_BYTES,
    MAX_VOICE_BYTES,
    CustomVoice,
    DamagedVoice,
    StoredReference,
)

if TYPE_CHECKING:  # these exist for type checkers only
    from obstore import ObjectMeta, PutMode

_TIMEOUT = timedelta(seconds=30)
_CONNECT_TIMEOUT = timedelta(seconds=5)
_VOICE = "voice.json"


def open_object_store(url: str) -> ObjectStore:
    """Opens `s3://bucket/prefix`, `gs://…`, `az://…` or `file:///folder`, without connecting yet.

    Credentials and endpoints come from the environment variables of each cloud.
    """
    if url.startswith("file:"):
        return LocalStore(unquote(urlsplit(url).path), mkdir=True)
    try:
        return from_url(
            url,
            # Clouds are reached by HTTPS; plain HTTP is only used for an endpoint that is configured with it.
            client_options={"timeout": _TIMEOUT, "connect_timeout": _CONNECT_TIMEOUT, "allow_http": True},
            # Only for short failures: after longer ones `VoiceSync` tries again, with pauses.
            retry_config={"max_retries": 2, "retry_timeout": _TIMEOUT},
        )
    except BaseError as error:
        raise OSError(f"SVC_VOICE_MIRROR: {error}") from error


@dataclass(frozen=True, slots=True)
class StoredVoice:
    """The voice.json of a voice as it was read."""

    voice: CustomVoice | None
    """None if it is damaged."""
    problem: str
    """Why it is damaged."""
    replacing: "PutMode"
    """How a put replaces this one and no later one."""


@dataclass(frozen=True, slots=True)
class ListedVoice:
    """The objects of one voice, as a list of the object store shows them."""

    tag: str | None
    """Changes with the content of voice.json; None if there is none."""
    references: dict[str, datetime]
    """The names of the other objects, and when they were written."""


class Overtaken(Exception):
    """Another server has replaced the voice.json that a put was to replace."""


class VoiceObjects:
    def __init__(self, object_store: ObjectStore) -> None:
        self._object_store = object_store

    async def list_removed(self) -> set[str]:
        return {name for name, *_ in await self._list("removed") if ID.fullmatch(name)}

    async def list_voices(self) -> dict[str, ListedVoice]:
        tags: dict[str, str] = {}
        references: dict[str, dict[str, datetime]] = {}
        for name, folder, tag, written in await self._list("voices"):
            if ID.fullmatch(folder):
                others = references.setdefault(folder, {})
                if name == _VOICE:
                    tags[folder] = tag
                else:
                    others[name] = written
        return {voice_id: ListedVoice(tags.get(voice_id), others) for voice_id, others in references.items()}

    async def is_removed(self, voice_id: str) -> bool:
        try:
            await obstore.head_async(self._object_store, f"removed/{voice_id}")
        except FileNotFoundError:
            return False
        return True

    async def fetch_voice(self, voice_id: str) -> StoredVoice | None:
        """None if there is none."""
        try:
            result = await obstore.get_async(self._object_store, f"voices/{voice_id}/{_VOICE}")
        except FileNotFoundError:
            return None
        replacing = _make_condition(result.meta)
        try:
            if result.meta["size"] > MAX_VOICE_BYTES:
                raise DamagedVoice("it is too large for a voice")
            voice = CustomVoice.from_bytes(bytes(await result.bytes_async()))
            if voice.voice_id != voice_id:
                raise DamagedVoice(f"it is {voice.voice_id}")
        except DamagedVoice as problem:
            return StoredVoice(None, str(problem), replacing)
        return StoredVoice(voice, "", replacing)

    async def fetch_reference(self, voice: CustomVoice) -> bytes | None:
        """Raises `DamagedVoice` if it is missing or damaged."""
        if voice.reference is None:
            return None
        try:
            result = await obstore.get_async(self._object_store, f"voices/{voice.voice_id}/{voice.reference.name}")
        except FileNotFoundError as error:
            raise DamagedVoice("its reference is missing") from error
        if result.meta["size"] > MAX_REFERENCE_BYTES:
            raise DamagedVoice("its reference is too large for a voice")
        content = bytes(await result.bytes_async())
        if StoredReference.of(content) != voice.reference:
            raise DamagedVoice("its reference does not match its checksum")
        return content

    async def put_reference(self, voice: CustomVoice, reference: bytes) -> None:
        """Written also if it is there: a recent object is not deleted as a leftover."""
        assert voice.reference is not None
        await obstore.put_async(self._object_store, f"voices/{voice.voice_id}/{voice.reference.name}", reference)

    async def put_voice(self, voice: CustomVoice, replaced: StoredVoice | None) -> None:
        """Replaces the voice.json that was read, or none; raises `Overtaken` if there is another one by now."""
        path, content = f"voices/{voice.voice_id}/{_VOICE}", voice.to_bytes()
        try:
            await obstore.put_async(
                self._object_store, path, content, mode=replaced.replacing if replaced else "create"
            )
        except (PreconditionError, AlreadyExistsError) as error:
            raise Overtaken from error
        except NotImplementedError:  # a folder can create without overwriting, but not compare
            await obstore.put_async(self._object_store, path, content)

    async def put_removal(self, voice_id: str) -> None:
        await obstore.put_async(self._object_store, f"removed/{voice_id}", b"{}")

    async def delete_voice(self, voice_id: str) -> None:
        """Deletes all objects of a removed voice. Its id is not used again, so that none can be a later one."""
        for name, *_ in await self._list(f"voices/{voice_id}"):
            await self.delete_object(voice_id, name)

    async def delete_object(self, voice_id: str, name: str) -> None:
        with suppress(FileNotFoundError):  # another server was faster
            await obstore.delete_async(self._object_store, f"voices/{voice_id}/{name}")

    async def _list(self, prefix: str) -> list[tuple[str, str, str, datetime]]:
        """The name and the folder of each object, a tag that changes with its content, and when it was written."""
        return [
            (
                each["path"].split("/")[-1],
                each["path"].split("/")[-2],
                each["e_tag"] or f"{each['last_modified']} {each['size']}",
                each["last_modified"],
            )
            async for found in obstore.list(self._object_store, prefix=prefix)
            for each in found
        ]


def _make_condition(meta: "ObjectMeta") -> "PutMode":
    if meta["e_tag"] is None:
        return "overwrite"
    if meta["version"] is None:
        return {"e_tag": meta["e_tag"]}
    return {"e_tag": meta["e_tag"], "version": meta["version"]}  # Google Cloud Storage compares the version
