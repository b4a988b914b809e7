"""A custom voice as an archive: what is packed is unpacked, and what is damaged is refused."""

import io
import zipfile

import pytest

from svc.voices.custom_voice import DamagedVoice, pack_archive, unpack_archive
from tests.voices.examples import make_voice


def test_a_packed_voice_is_unpacked() -> None:
    voice = make_voice()
    again, reference = unpack_archive(pack_archive(voice, b"reference"))
    assert again.to_bytes() == voice.to_bytes()
    assert reference == b"reference"


def test_a_voice_without_a_reference_is_packed() -> None:
    voice = make_voice(reference=None)
    again, reference = unpack_archive(pack_archive(voice, None))
    assert again.to_bytes() == voice.to_bytes()
    assert reference is None


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
