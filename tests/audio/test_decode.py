"""Whatever people send: every kind of file is read, and what is no recording is told from what is."""

import io
import struct
import zlib

import av
import numpy as np
import pytest

from svc.audio import decode
from svc.engine.protocol import Samples
from svc.errors import ClipDamaged, NotAudio
from tests.audio.recordings import KINDS, RATE, encoded


def alike(one: Samples, other: Samples) -> float:
    """How well two recordings of the same thing agree, whatever the delay that a codec puts in front."""
    length = 1 << (len(one) + len(other)).bit_length()
    correlation = np.fft.irfft(np.fft.rfft(one, length) * np.fft.rfft(other, length).conj())
    return float(correlation.max() / np.sqrt(np.square(one).sum() * np.square(other).sum()))


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_recording(kind: str, channels: int, spoken: Samples) -> None:
    recorded = decode.read(encoded(spoken, kind, channels))
    assert recorded.samples.dtype == np.float32
    assert len(recorded.samples) / RATE == pytest.approx(len(spoken) / RATE, abs=0.1)
    assert not recorded.cut_off
    assert not recorded.too_long
    assert alike(recorded.samples, spoken) > (0.9 if "8 kHz" not in kind and "µ" not in kind else 0.8)


def test_what_is_kept_is_read_again(spoken: Samples) -> None:
    assert np.abs(decode.read(decode.to_flac(spoken)).samples - spoken).max() < 1e-4


def test_a_voice_with_opposite_signs_on_two_channels_is_not_lost(spoken: Samples) -> None:
    out = io.BytesIO()
    with av.open(out, "w", format="wav") as file:
        stream = file.add_stream("pcm_s16le", rate=RATE, layout="stereo")
        pairs = np.stack([spoken, -spoken], axis=1)
        interleaved = (np.clip(pairs, -1, 1) * 32767).astype(np.int16).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(interleaved, format="s16", layout="stereo")
        frame.sample_rate = RATE
        file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    assert alike(decode.read(out.getvalue()).samples, spoken) > 0.99


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"RIFF",
        b"not audio at all",
        b"\x89PNG\r\n\x1a\n" + bytes(1000),
        b"%PDF-1.7\n" + bytes(1000),
        b"PK\x03\x04" + bytes(1000),
        b"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nfile:///etc/passwd\n",
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"<html><body>404</body></html>",
        bytes(5000),
    ],
)
def test_what_is_no_recording(content: bytes) -> None:
    with pytest.raises(NotAudio):
        decode.read(content)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_named_errors_or_read_as_far_as_they_go(kind: str, spoken: Samples) -> None:
    whole = bytearray(encoded(spoken, kind))
    chance = np.random.default_rng(zlib.crc32(kind.encode()))
    for _ in range(25):
        damaged = whole.copy()
        for at in chance.integers(0, len(whole), size=chance.integers(1, 200)):
            damaged[at] = chance.integers(0, 256)
        cut = damaged[: chance.integers(0, len(damaged))]
        for content in (damaged, cut):
            try:
                recorded = decode.read(bytes(content))
            except (NotAudio, ClipDamaged):
                continue
            assert np.isfinite(recorded.samples).all()
            assert len(recorded.samples) <= decode.LONGEST * RATE


@pytest.mark.parametrize("kind", ["wav 44.1 kHz", "m4a", "webm", "flac"])
def test_a_recording_that_was_cut_off_says_so(kind: str, spoken: Samples) -> None:
    whole = encoded(spoken, kind)
    try:
        recorded = decode.read(whole[: len(whole) // 2])
    except ClipDamaged:
        assert kind == "m4a"  # its table of contents comes last
    else:
        assert recorded.cut_off or kind == "webm"  # which was made for endless streams and promises nothing
        assert 0.3 < len(recorded.samples) / len(spoken) < 0.7


def test_a_small_file_that_unpacks_to_hours_is_read_no_further_than_any() -> None:
    out = io.BytesIO()
    with av.open(out, "w", format="flac") as file:
        stream = file.add_stream("flac", rate=8_000, layout="mono")
        silence = np.zeros((1, 8_000 * 60), dtype=np.int16)
        for minute in range(120):
            frame = av.AudioFrame.from_ndarray(silence, format="s16", layout="mono")
            frame.sample_rate, frame.pts = 8_000, minute * 8_000 * 60
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    assert len(out.getvalue()) < 2_000_000
    recorded = decode.read(out.getvalue())
    assert recorded.too_long
    assert len(recorded.samples) == decode.LONGEST * RATE


def test_many_long_recordings_are_read_no_further_than_one() -> None:
    minutes = encoded(np.tile(np.sin(np.arange(RATE, dtype=np.float32)), 200), "flac")
    clips = decode.read_all([minutes] * 5)
    assert [round(len(each.samples) / RATE) for each in clips] == [200, 100]
    assert [each.too_long for each in clips] == [False, True]


@pytest.mark.parametrize("rate", [1, 1_000, 4_000_000_000])
def test_impossible_rates(rate: int) -> None:
    header = struct.pack(
        "<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + 8000, b"WAVE", b"fmt ", 16, 1, 1, rate, 2, 2, 16, b"data", 8000
    )
    with pytest.raises(ClipDamaged):
        decode.read(header + bytes(8000))
