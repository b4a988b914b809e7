import io
import zipfile

import pytest

from svc.voices.custom_voice import DamagedVoice, pack, unpack
from tests.voices.examples import made_up


def test_there_and_back() -> None:
    voice = made_up()
    again, reference = unpack(pack(voice, b"reference"))
    assert again.to_bytes() == voice.to_bytes()
    assert reference == b"reference"


def test_without_a_reference() -> None:
    voice = made_up(reference=None)
    again, reference = unpack(pack(voice, None))
    assert again.to_bytes() == voice.to_bytes()
    assert reference is None


def archive(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as written:
        for name, content in files.items():
            written.writestr(name.replace("_", "."), content)
    return out.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nonsense",
        archive(),
        archive(voice_json=b"{}"),
        archive(voice_json=b" " * 50_000_000),
        archive(voice_json=made_up().to_bytes()),
        archive(voice_json=made_up().to_bytes(), reference_flac=b"another"),
        pack(made_up(), b"reference")[:-30],
    ],
)
def test_what_is_no_voice(content: bytes) -> None:
    with pytest.raises(DamagedVoice):
        unpack(content)
