"""Files that lie about themselves, or grow when they are decoded: refused or cut, in bounded memory and time."""

import io
import struct
import tracemalloc
from fractions import Fraction

import av
import numpy as np
import pytest

from svc.audio import decode
from svc.errors import ClipDamaged, NotAudio
from tests.audio.recordings import RATE, encode_recording

HOUR = np.zeros(3600 * RATE // 6, dtype=np.float32)


def make_wav(
    tag: int = 1,
    channels: int = 1,
    rate: int = RATE,
    bits: int = 16,
    align: int | None = None,
    data: bytes = bytes(8000),
    data_size: int | None = None,
    riff_size: int | None = None,
    fmt_size: int = 16,
) -> bytes:
    """A WAV file whose header says what it is told to."""
    align = (channels * bits // 8) & 0xFFFF if align is None else align
    riff_size = 36 + len(data) if riff_size is None else riff_size
    head = struct.pack("<4sI4s4sI", b"RIFF", riff_size, b"WAVE", b"fmt ", fmt_size)
    head += struct.pack("<HHIIHH", tag, channels, rate, (rate * align) & 0xFFFF_FFFF, align, bits)
    return head + b"data" + struct.pack("<I", len(data) if data_size is None else data_size) + data


@pytest.mark.parametrize("tag", [0, 3, 5, 0x99, 0x1234, 0x674F, 0xFFFE, 0xFFFF])
def test_unknown_codec_tags(tag: int) -> None:
    with pytest.raises((NotAudio, ClipDamaged)):
        decode.decode_clip(make_wav(tag))


@pytest.mark.parametrize(
    "content",
    [
        make_wav(data_size=0xFFFF_FFFF, riff_size=0xFFFF_FFFF, data=bytes(56)),
        make_wav(data_size=0xFFFF_FFFE, data=bytes(56)),
        make_wav(data_size=0),
        make_wav(data=b""),
        make_wav(data=bytes(1)),
        make_wav(data=bytes(7999)),
        make_wav(riff_size=0),
        make_wav(channels=0, align=2),
        make_wav(channels=255),
        make_wav(channels=65_535, align=65_535),
        make_wav(rate=0),
        make_wav(rate=4_000_000_000),
        make_wav(bits=0, align=2),
        make_wav(bits=65_535),
        make_wav(align=0),
        make_wav(align=65_535),
        make_wav(fmt_size=0),
        make_wav(fmt_size=17),
        make_wav(fmt_size=0xFFFF_FFFF),
        make_wav()[:30],
        make_wav()[:36],
        b"RF64" + make_wav()[4:],
        b"RIFX" + make_wav()[4:],
    ],
)
def test_headers_that_lie(content: bytes) -> None:
    """Each is refused, or yields no more audio than its bytes can hold."""
    tracemalloc.start()
    try:
        clip = decode.decode_clip(content)
    except (NotAudio, ClipDamaged):
        pass
    else:
        assert len(clip.samples) <= len(content)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize("kind", ["flac", "ogg opus", "mp3", "m4a", "webm"])
def test_silence_that_decodes_to_much_more_is_cut(kind: str) -> None:
    content = encode_recording(HOUR, kind, bit_rate=None if kind == "flac" else 8_000)
    clip = decode.decode_clip(content)
    assert clip.too_long
    assert len(clip.samples) == decode.MAX_SECONDS * RATE


def test_pictures_and_videos_are_not_decoded() -> None:
    """A small video of a huge picture, which opening the file would otherwise decode."""
    out = io.BytesIO()
    with av.open(out, "w", format="mov") as file:
        stream = file.add_stream("png", rate=1)
        stream.width, stream.height, stream.pix_fmt = 8_000, 8_000, "gray"
        frame = av.VideoFrame.from_ndarray(np.zeros((8_000, 8_000), np.uint8), format="gray")
        frame.pts, frame.time_base = 0, Fraction(1)
        file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    assert len(out.getvalue()) < 500_000
    with pytest.raises(NotAudio):
        decode.decode_clip(out.getvalue())


def test_cover_art_is_ignored() -> None:
    out = io.BytesIO()
    samples = np.sin(np.arange(3 * RATE, dtype=np.float32) / 10)
    with av.open(io.BytesIO(encode_recording(samples, "m4a")), "r") as source, av.open(out, "w", format="mp4") as file:
        picture = file.add_stream("png", rate=1)
        picture.width, picture.height, picture.pix_fmt = 64, 64, "rgb24"
        sound = file.add_stream_from_template(source.streams.audio[0])
        image = av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), format="rgb24")
        image.pts, image.time_base = 0, Fraction(1)
        file.mux(picture.encode(image))
        file.mux(picture.encode(None))
        for packet in source.demux(source.streams.audio[0]):
            if packet.dts is not None:
                packet.stream = sound
                file.mux(packet)
    assert len(decode.decode_clip(out.getvalue()).samples) == pytest.approx(3 * RATE, rel=0.1)
