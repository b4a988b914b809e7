"""A custom voice: its name, parameters and report, stored as JSON with a checksum, and exported as one archive."""

import hashlib
import io
import json
import re
import secrets
import string
import time
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from svc.auth.keys import Principal, is_operator
from svc.text.language.languages import Language
from svc.voices.built_in import load_built_in_voices
from svc.voices.parameters import VoiceParameters

ID = re.compile(r"custom-[A-Za-z0-9]{20}")
_LOOSE_ID = re.compile(r"(?:custom-?)?([A-Za-z0-9]{20})")
_LETTERS = string.ascii_letters + string.digits
_FORMAT = 1

_ARCHIVED_VOICE, _ARCHIVED_REFERENCE = "voice.json", "reference.flac"
MAX_VOICE_BYTES, MAX_REFERENCE_BYTES = 1_000_000, 20_000_000
_MAX_BYTES = {_ARCHIVED_VOICE: MAX_VOICE_BYTES, _ARCHIVED_REFERENCE: MAX_REFERENCE_BYTES}


def new_id() -> str:
    return "custom-" + "".join(secrets.choice(_LETTERS) for _ in range(20))


def complete_id(voice_id: str) -> str:
    """The id as it is kept. Many clients take letters and digits alone, so its dash or all of its prefix may lack."""
    match = _LOOSE_ID.fullmatch(voice_id)
    return f"custom-{match[1]}" if match else voice_id


class DamagedVoice(ValueError):
    """A stored voice, or its reference, cannot be read or does not match its checksum."""


@dataclass(frozen=True, slots=True)
class ReferenceMeasurements:
    """What was measured of the recordings that a voice was made from."""

    clip_seconds: float
    speech_seconds: float
    used_seconds: float
    """How much of the speech was used: the best, when there is more than a voice needs."""
    level_dbfs: float
    noise_dbfs: float
    snr_db: float
    clipping: float
    """The share of samples that were clipped."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was measured when the voice was made. `asdict` of it is stored and shown: the field names are fixed."""

    measured: ReferenceMeasurements
    similarity: float
    """Of the voice, speaking the preview text, to the reference: 1 is the same person, 0 another."""
    nearest: str
    """The built-in voice that is most similar to the reference."""
    nearest_similarity: float
    warnings: tuple[str, ...]
    refined: bool = False
    """Whether refinement has replaced the first version."""

    def mark_refined(self, similarity: float, nearest: str, nearest_similarity: float) -> "Report":
        """The report of the version that refinement made; the warnings about the recording remain."""
        obsolete = nearest_voice_warning(self.nearest)
        warnings = [each for each in self.warnings if each != obsolete]
        if similarity < nearest_similarity:
            warnings.append(nearest_voice_warning(nearest))
        return replace(
            self,
            similarity=round(similarity, 3),
            nearest=nearest,
            nearest_similarity=round(nearest_similarity, 3),
            warnings=tuple(warnings),
            refined=True,
        )


NOT_MEASURED = Report(ReferenceMeasurements(0, 0, 0, 0, 0, 0, 0), 0.0, "", 0.0, ())
"""The report of a mix, which is made from no recording."""


def nearest_voice_warning(nearest: str) -> str:
    """The warning that a built-in voice is more similar than the clone."""
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
    """The API key that it was made with, or was given to."""
    consent: bool
    """Whether the request said that the speaker agrees."""
    description: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    reference: StoredReference | None = None
    revision: int = 1
    """Counts the changes."""
    changed_at: float = 0.0
    """When the last change was made: decides between two that were made at once on different servers."""
    blend: tuple[tuple[str, float], ...] = ()
    """The built-in voices in a mix, by key, and their shares. The rest of 1 is the share of the parameters."""
    preview_token: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    """Whoever has it may hear the preview."""
    parameters_hash: str = field(init=False)
    """Changes when the parameters do, and not with the name, the labels or what was measured of the voice."""

    def __post_init__(self) -> None:
        # Here and not when it is asked for: that is on the event loop, for every voice of a list.
        parameters = replace(self.parameters, loudness={}).to_json()
        content = json.dumps([parameters, self.blend] if self.blend else parameters, sort_keys=True).encode()
        object.__setattr__(self, "parameters_hash", hashlib.sha256(content).hexdigest())

    @property
    def version(self) -> tuple[int, float, str]:
        """Orders the versions of one voice the same way on every server: the highest is the latest.

        The version with more changes, then the one that was changed later. The checksum decides between two that were
        changed in the same microsecond.
        """
        return self.revision, self.changed_at, _checksum(self._to_fields())

    @property
    def owner(self) -> str | None:
        """The key of the keys table that it belongs to; None if it belongs to whoever runs the server."""
        return None if is_operator(self.key_id) else self.key_id

    def may_be_changed_by(self, caller: Principal) -> bool:
        """Its owner may change it, and whoever runs the server."""
        return caller.may_change(self.key_id)

    def revise(self, **changes: Any) -> Self:
        """The next version, with these fields changed."""
        return replace(self, **changes, revision=self.revision + 1, changed_at=time.time())

    def to_bytes(self) -> bytes:
        fields = self._to_fields()
        return json.dumps({"format": _FORMAT, "sha256": _checksum(fields), "voice": fields}, indent=1).encode()

    def _to_fields(self) -> dict[str, Any]:
        return {
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
            **({"blend": [list(part) for part in self.blend]} if self.blend else {}),
        }

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Raises `DamagedVoice`, with the reason, on anything but what `to_bytes` wrote.

        Fields that a later release has added are ignored, and are lost when this one changes the voice.
        """
        try:
            stored = json.loads(content)
            if stored["format"] != _FORMAT:
                raise DamagedVoice(f"it has format {stored['format']!r}; this release knows format {_FORMAT}")
            fields = stored["voice"]
            if stored["sha256"] != _checksum(fields):
                raise DamagedVoice("its checksum does not match")
            return cls(**_parse_fields(fields))
        except DamagedVoice:
            raise
        except Exception as problem:  # whatever it is: one voice must not keep the others from being loaded
            raise DamagedVoice(f"it cannot be read: {problem}") from problem


def _checksum(fields: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _parse_fields(fields: dict[str, Any]) -> dict[str, Any]:
    if not ID.fullmatch(fields["voice_id"]):
        raise DamagedVoice("its id is not one of a custom voice")
    report = fields["report"]
    measured = ReferenceMeasurements(**_keep_known(ReferenceMeasurements, report["measured"]))
    return {
        **_keep_known(CustomVoice, fields),
        "language": Language(fields["language"]),
        "parameters": VoiceParameters.from_json(fields["parameters"]),
        "report": Report(**_keep_known(Report, report) | {"measured": measured, "warnings": tuple(report["warnings"])}),
        "reference": StoredReference(**_keep_known(StoredReference, fields["reference"]))
        if fields["reference"]
        else None,
        "blend": _parse_blend(fields.get("blend", ())),
    }


def _keep_known(kind: type[Any], stored: dict[str, Any]) -> dict[str, Any]:
    """The stored fields that this release knows."""
    return {name: stored[name] for name in kind.__slots__ if name in stored}


def _parse_blend(parts: Sequence[Sequence[Any]]) -> tuple[tuple[str, float], ...]:
    known = {voice.key for voice in load_built_in_voices()}
    blend = tuple((str(key), float(share)) for key, share in parts)
    if not all(key in known and 0 < share <= 1 for key, share in blend) or sum(share for _, share in blend) > 1 + 1e-6:
        raise DamagedVoice("it is mixed of voices or shares that do not exist")
    return blend


def pack_archive(voice: CustomVoice, reference: bytes | None) -> bytes:
    """The voice and its reference as one file, for another server or a backup."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(_ARCHIVED_VOICE, voice.to_bytes(), zipfile.ZIP_DEFLATED)
        if reference is not None:
            archive.writestr(_ARCHIVED_REFERENCE, reference)
    return out.getvalue()


def unpack_archive(content: bytes) -> tuple[CustomVoice, bytes | None]:
    """The voice and its reference, both checked; raises `DamagedVoice`."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            voice = CustomVoice.from_bytes(_read_member(archive, _ARCHIVED_VOICE))
            reference = _read_member(archive, _ARCHIVED_REFERENCE) if voice.reference else None
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, EOFError) as problem:
        raise DamagedVoice(f"it is not the archive of a voice: {problem}") from problem
    if reference is not None and StoredReference.of(reference) != voice.reference:
        raise DamagedVoice("its reference does not match its checksum")
    return voice, reference


def _read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > _MAX_BYTES[name]:
        raise DamagedVoice(f"{name} is too large for a voice")
    return archive.read(name)
