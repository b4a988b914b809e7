"""A custom voice as one file, to carry it from server to server or to put it away."""

import io
import zipfile

from svc.voices.custom_voice import CustomVoice, DamagedVoice, StoredReference

_VOICE, _REFERENCE = "voice.json", "reference.flac"
_LARGEST = {_VOICE: 1_000_000, _REFERENCE: 20_000_000}


def pack(voice: CustomVoice, reference: bytes | None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(_VOICE, voice.to_bytes(), zipfile.ZIP_DEFLATED)
        if reference is not None:
            archive.writestr(_REFERENCE, reference)
    return out.getvalue()


def unpack(content: bytes) -> tuple[CustomVoice, bytes | None]:
    """The voice in an archive and its reference, both checked; raises `DamagedVoice`."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            voice = CustomVoice.from_bytes(_read(archive, _VOICE))
            reference = _read(archive, _REFERENCE) if voice.reference else None
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, EOFError) as problem:
        raise DamagedVoice(f"it is no archive of a voice: {problem}") from problem
    if reference is not None and StoredReference.of(reference) != voice.reference:
        raise DamagedVoice("its reference does not match its checksum")
    return voice, reference


def _read(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > _LARGEST[name]:
        raise DamagedVoice(f"{name} is larger than any voice's")
    return archive.read(name)
