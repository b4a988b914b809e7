"""A custom voice as a file and as an archive: what is written is read, and what is damaged is refused."""

import hashlib
import io
import json
import zipfile
from dataclasses import replace

import pytest

from svc.text.language.languages import Language
from svc.voices.custom_voice import CustomVoice, DamagedVoice, pack_archive, unpack_archive
from tests.voices.examples import make_voice


def test_a_packed_voice_is_unpacked() -> None:
    voice = make_voice()
    again, reference = unpack_archive(pack_archive(voice, b"reference"))
    assert again.to_bytes() == voice.to_bytes()
    assert reference == b"reference"
    assert again.parameters.mask_offset.any()


def test_a_voice_without_a_reference_is_packed() -> None:
    voice = make_voice(reference=None)
    again, reference = unpack_archive(pack_archive(voice, None))
    assert again.to_bytes() == voice.to_bytes()
    assert reference is None


def test_what_a_later_release_adds_is_ignored() -> None:
    """In the voice, its parameters, its report and what was measured."""
    voice = make_voice()
    fields = json.loads(voice.to_bytes())["voice"]
    for part in (fields, fields["parameters"], fields["report"], fields["report"]["measured"], fields["reference"]):
        part["later"] = [1, 2]
    written = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
    later = json.dumps({"format": 1, "sha256": hashlib.sha256(written).hexdigest(), "voice": fields}).encode()
    assert CustomVoice.from_bytes(later).to_bytes() == voice.to_bytes()


def test_measuring_the_loudness_does_not_change_the_hash_of_the_parameters() -> None:
    """Otherwise a queued refinement would be given up."""
    voice = make_voice()
    for parameters, same in (
        (voice.parameters.with_loudness(Language.FRENCH, -30.0), True),
        (replace(voice.parameters, pace=0.9), False),
    ):
        assert (voice.revise(parameters=parameters).parameters_hash == voice.parameters_hash) is same


def zip_files(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_", "."), content)
    return out.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nonsense",
        zip_files(),
        zip_files(voice_json=b"{}"),
        zip_files(voice_json=b" " * 50_000_000),
        zip_files(voice_json=make_voice().to_bytes()),
        zip_files(voice_json=make_voice().to_bytes(), reference_flac=b"another"),
        pack_archive(make_voice(), b"reference")[:-30],
    ],
)
def test_a_damaged_archive_is_refused(content: bytes) -> None:
    with pytest.raises(DamagedVoice):
        unpack_archive(content)
