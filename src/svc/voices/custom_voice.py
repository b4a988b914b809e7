"""A custom voice: what somebody called it, what it is made of, and how it was made. As JSON, with a checksum."""

import hashlib
import io
import json
import re
import secrets
import string
import time
import zipfile
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from svc.cloning.reference import Measured
from svc.text.language import Language
from svc.voices.parameters import VoiceParameters

ID = re.compile(r"custom-[A-Za-z0-9]{20}")
_LETTERS = string.ascii_letters + string.digits
_FORMAT = 1


def new_id() -> str:
    return "custom-" + "".join(secrets.choice(_LETTERS) for _ in range(20))


class DamagedVoice(ValueError):
    """Something that calls itself a voice and is none."""


@dataclass(frozen=True, slots=True)
class Report:
    """How a voice was made: what was measured at the time."""

    measured: Measured
    similarity: float
    """Of the voice, speaking a sentence, to the reference: 1 is the same, 0 a stranger."""
    nearest: str
    """The built-in voice that is most like the reference."""
    nearest_similarity: float
    warnings: tuple[str, ...]
    refined: bool = False
    """Whether the voice became a better likeness since."""

    def of_refined(self, similarity: float) -> "Report":
        """The same of a voice that has become more like the recording."""
        outdone = similarity < self.nearest_similarity
        warnings = tuple(each for each in self.warnings if outdone or each != fainter_than(self.nearest))
        return replace(self, similarity=round(similarity, 3), warnings=warnings, refined=True)


def fainter_than(nearest: str) -> str:
    """The warning that a built-in voice would do better."""
    return (
        f"The built-in voice {nearest} is more like the recording than this clone. "
        "A longer and clearer recording may help."
    )


@dataclass(frozen=True, slots=True)
class StoredReference:
    """The file with the speech that a voice was made from."""

    sha256: str
    size: int

    @classmethod
    def of(cls, content: bytes) -> Self:
        return cls(hashlib.sha256(content).hexdigest(), len(content))

    @property
    def name(self) -> str:
        return f"reference-{self.sha256[:16]}.flac"


@dataclass(frozen=True, eq=False, slots=True)
class CustomVoice:
    voice_id: str
    name: str
    language: Language
    parameters: VoiceParameters
    report: Report
    created_at: int
    key_id: str
    """Names the key that it was made with."""
    consent: bool
    """Whether who made it said that the speaker agrees."""
    description: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    reference: StoredReference | None = None
    revision: int = 1
    """Counts the changes."""
    changed_at: float = 0.0
    """When the last one was: decides between two that were made at once, on different servers."""
    preview_token: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    """Whoever has it may hear the voice introduce itself."""

    @property
    def sound(self) -> str:
        """Changes with how the voice sounds, and not with what it is called."""
        return hashlib.sha256(json.dumps(self.parameters.to_json(), sort_keys=True).encode()).hexdigest()

    @property
    def version(self) -> tuple[int, float]:
        """Orders the versions of one voice, the same way on every server: the highest is the latest."""
        return self.revision, self.changed_at

    def changed(self, **changes: Any) -> Self:
        """The next version."""
        return replace(self, **changes, revision=self.revision + 1, changed_at=time.time())

    def to_bytes(self) -> bytes:
        fields = {
            "voice_id": self.voice_id,
            "name": self.name,
            "description": self.description,
            "labels": self.labels,
            "language": self.language.value,
            "created_at": self.created_at,
            "revision": self.revision,
            "changed_at": self.changed_at,
            "key_id": self.key_id,
            "consent": self.consent,
            "preview_token": self.preview_token,
            "reference": asdict(self.reference) if self.reference else None,
            "report": asdict(self.report),
            "parameters": self.parameters.to_json(),
        }
        return json.dumps({"format": _FORMAT, "sha256": _checksum(fields), "voice": fields}, indent=1).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Raises `DamagedVoice`, with the reason, on anything but what `to_bytes` wrote."""
        try:
            stored = json.loads(content)
            if stored["format"] != _FORMAT:
                raise DamagedVoice(f"it has format {stored['format']!r}; this release knows format {_FORMAT}")
            fields = stored["voice"]
            if stored["sha256"] != _checksum(fields):
                raise DamagedVoice("its checksum does not match")
            return cls(**_restored(fields))
        except DamagedVoice:
            raise
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            raise DamagedVoice(f"it cannot be read: {problem}") from problem


def _checksum(fields: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _restored(fields: dict[str, Any]) -> dict[str, Any]:
    if not ID.fullmatch(fields["voice_id"]):
        raise DamagedVoice("its id is none")
    report = fields["report"]
    measured, warnings = Measured(**report["measured"]), tuple(report["warnings"])
    return {
        **fields,
        "language": Language(fields["language"]),
        "parameters": VoiceParameters.from_json(fields["parameters"]),
        "report": Report(**{**report, "measured": measured, "warnings": warnings}),
        "reference": StoredReference(**fields["reference"]) if fields["reference"] else None,
    }


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
