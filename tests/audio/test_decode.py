"""Decoding recordings of every format, and rejecting what is none."""

import io
import struct
import zlib

import av
import numpy as np
import pytest

from svc.audio import decode
from svc.audio.flac import encode_flac
from svc.audio.samples import Samples
from svc.errors import ClipDamaged, NotAudio
from tests.audio.recordings import KINDS, RATE, encode_recording


def correlation(one: Samples, other: Samples) -> float:
    """The highest correlation of two recordings at any delay."""
    length = 1 << (len(one) + len(other)).bit_length()
    products = np.fft.irfft(np.fft.rfft(one, length) * np.fft.rfft(other, length).conj())
    return float(products.max() / np.sqrt(np.square(one).sum() * np.square(other).sum()))


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_every_format_is_decoded(kind: str, channels: int, spoken: Samples) -> None:
    clip = decode.decode_clip(encode_recording(spoken, kind, channels))
    assert clip.samples.dtype == np.float32
    assert len(clip.samples) / RATE == pytest.approx(len(spoken) / RATE, abs=0.1)
    assert not clip.cut_off
    assert not clip.too_long
    assert correlation(clip.samples, spoken) > (0.9 if "8 kHz" not in kind and "µ" not in kind else 0.8)


def test_flac_round_trip(spoken: Samples) -> None:
    assert np.abs(decode.decode_clip(encode_flac(spoken, RATE)).samples - spoken).max() < 1e-4


def test_voice_with_opposite_signs_on_two_channels_does_not_cancel(spoken: Samples) -> None:
    out = io.BytesIO()
    with av.open(out, "w", format="wav") as file:
        stream = file.add_stream("pcm_s16le", rate=RATE, layout="stereo")
        pairs = np.stack([spoken, -spoken], axis=1)
        interleaved = (np.clip(pairs, -1, 1) * 32767).astype(np.int16).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(interleaved, format="s16", layout="stereo")
        frame.sample_rate = RATE
        file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    assert correlation(decode.decode_clip(out.getvalue()).samples, spoken) > 0.99


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
def test_other_files_are_not_audio(content: bytes) -> None:
    with pytest.raises(NotAudio):
        decode.decode_clip(content)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_rejected_or_decoded_in_part(kind: str, spoken: Samples) -> None:
    whole = bytearray(encode_recording(spoken, kind))
    rng = np.random.default_rng(zlib.crc32(kind.encode()))
    for _ in range(25):
        damaged = whole.copy()
        for at in rng.integers(0, len(whole), size=rng.integers(1, 200)):
            damaged[at] = rng.integers(0, 256)
        cut = damaged[: rng.integers(0, len(damaged))]
        for content in (damaged, cut):
            try:
                clip = decode.decode_clip(bytes(content))
            except (NotAudio, ClipDamaged):
                continue
            assert np.isfinite(clip.samples).all()
            assert len(clip.samples) <= decode.MAX_SECONDS * RATE


@pytest.mark.parametrize("kind", ["wav 44.1 kHz", "m4a", "webm", "flac"])
def test_truncated_recording_is_marked_as_cut_off(kind: str, spoken: Samples) -> None:
    whole = encode_recording(spoken, kind)
    try:
        clip = decode.decode_clip(whole[: len(whole) // 2])
    except ClipDamaged:
        assert kind == "m4a"  # its index is at the end
    else:
        assert clip.cut_off or kind == "webm"  # declares no length
        assert 0.3 < len(clip.samples) / len(spoken) < 0.7


def test_small_file_that_decodes_to_hours_is_bounded() -> None:
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
    clip = decode.decode_clip(out.getvalue())
    assert clip.too_long
    assert len(clip.samples) == decode.MAX_SECONDS * RATE


def test_many_long_recordings_are_bounded_together() -> None:
    minutes = encode_recording(np.tile(np.sin(np.arange(RATE, dtype=np.float32)), 200), "flac")
    clips = decode.decode_clips([minutes] * 5)
    assert [round(len(each.samples) / RATE) for each in clips] == [200, 100]
    assert [each.too_long for each in clips] == [False, True]


@pytest.mark.parametrize("rate", [1, 1_000, 4_000_000_000])
def test_impossible_sample_rates_are_rejected(rate: int) -> None:
    header = struct.pack(
        "<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + 8000, b"WAVE", b"fmt ", 16, 1, 1, rate, 2, 2, 16, b"data", 8000
    )
    with pytest.raises(ClipDamaged):
        decode.decode_clip(header + bytes(8000))
