"""Every output format is encoded in odd chunks, decoded again and compared with what went in."""

from __future__ import annotations

import gc
import io
import itertools
import wave
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import av
import av.logging
import numpy as np
import pytest
import soxr
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.audio import encoders, formats
from svc.audio.formats import OUTPUT_FORMATS, Codec, OutputFormat

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from svc.audio.pcm import Float32

SOURCE_RATE = 24_000
TOLERANCE_SECONDS = 0.060
BURST_SECONDS = 0.050
ODD_CHUNKS = (1, 0, 777, 2, 24_000, 13, 0, 5_000)
RAW_DEMUXERS = {Codec.PCM: "s16le", Codec.ULAW: "mulaw", Codec.ALAW: "alaw"}
DECODERS = {
    Codec.MP3: "mp3float",
    Codec.PCM: "pcm_s16le",
    Codec.ULAW: "pcm_mulaw",
    Codec.ALAW: "pcm_alaw",
    Codec.OPUS: "opus",
    Codec.WAV: "pcm_s16le",
}


def each_format(*, without: Codec | None = None) -> pytest.MarkDecorator:
    chosen = [each for each in OUTPUT_FORMATS.values() if each.codec is not without]
    return pytest.mark.parametrize("output_format", chosen, ids=lambda each: each.name)


def speech_like(seconds: float = 3.1) -> Float32:
    """A gliding voice in syllables, with a burst in the first and the last 50 ms to miss if it were cut."""
    time = np.arange(round(seconds * SOURCE_RATE) + 17) / SOURCE_RATE
    pitch = 130 + 40 * np.sin(2 * np.pi * 0.7 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / SOURCE_RATE
    voice = sum(np.sin(harmonic * phase) / harmonic for harmonic in range(1, 16))
    sound = 0.15 * voice * (0.55 + 0.45 * np.sin(2 * np.pi * 4 * time))
    burst = 0.5 * np.sin(2 * np.pi * 1000 * time[: round(BURST_SECONDS * SOURCE_RATE)])
    sound[: len(burst)] = sound[-len(burst) :] = burst
    return sound.astype(np.float32)


SPEECH = speech_like()


def chunks(samples: Float32, sizes: Iterable[int]) -> Iterable[Float32]:
    start = 0
    for size in sizes:
        yield samples[start : start + size]
        start += size
        if start >= len(samples):
            return


def stream(samples: Float32, output_format: OutputFormat, sizes: Iterable[int] = (2**30,)) -> bytes:
    """What a streaming client receives."""
    with encoders.create(output_format, SOURCE_RATE) as encoder:
        return b"".join([*map(encoder.encode, chunks(samples, sizes)), encoder.flush()])


def clip(samples: Float32, output_format: OutputFormat, sizes: Iterable[int] = (2**30,)) -> bytes:
    """What a client receives who asked for the whole clip."""
    with encoders.create(output_format, SOURCE_RATE) as encoder:
        joined = b"".join([*map(encoder.encode, chunks(samples, sizes)), encoder.flush()])
        return encoder.seal(joined)


class Pipe:
    """A file that can only be read onwards, like a response that is still arriving."""

    def __init__(self, data: bytes) -> None:
        self.read = io.BytesIO(data).read


@dataclass
class Decoded:
    samples: Float32
    sample_rate: int
    channels: int
    bit_rate: int
    decoder: str
    warnings: list[str]

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.sample_rate


def decode(data: bytes, output_format: OutputFormat, *, arriving: bool) -> Decoded:
    demuxer = RAW_DEMUXERS.get(output_format.codec)
    options = {"sample_rate": str(output_format.sample_rate), "ch_layout": "mono"} if demuxer else {}
    # A seekable file of bare samples always draws a remark on its duration, which nothing in it could tell.
    file = Pipe(data) if arriving or demuxer else io.BytesIO(data)
    level = av.logging.get_level()
    av.logging.set_level(av.logging.WARNING)
    av.logging.set_skip_repeated(False)
    try:
        with av.logging.Capture() as logs, av.open(file, "r", format=demuxer, options=options) as container:
            (audio,) = container.streams.audio
            frames = [frame.to_ndarray().reshape(-1) for frame in container.decode(audio)]
            bit_rate = audio.bit_rate or container.bit_rate
    finally:
        av.logging.set_level(level)
    samples = np.concatenate([np.empty(0, dtype=np.float32), *map(as_float, frames)])
    return Decoded(
        samples=samples,
        sample_rate=audio.codec_context.sample_rate,
        channels=audio.codec_context.channels,
        bit_rate=bit_rate,
        decoder=audio.codec_context.name,
        warnings=[message for _, _, message in logs],
    )


def as_float(samples: NDArray[Any]) -> Float32:
    scale = 32_768 if samples.dtype == np.int16 else 1
    return np.asarray(samples / scale, dtype=np.float32)


@cache
def decoded_clip(output_format: OutputFormat) -> Decoded:
    return decode(clip(SPEECH, output_format, itertools.cycle(ODD_CHUNKS)), output_format, arriving=False)


@cache
def decoded_stream(output_format: OutputFormat) -> Decoded:
    return decode(stream(SPEECH, output_format, itertools.cycle(ODD_CHUNKS)), output_format, arriving=True)


def likeness(heard: Float32, meant: Float32) -> float:
    """The correlation of two sounds of the same length."""
    return float(np.dot(heard, meant) / np.sqrt(np.dot(heard, heard) * np.dot(meant, meant) + 1e-12))


@each_format()
def test_the_file_is_what_was_asked_for(output_format: OutputFormat) -> None:
    heard = decoded_clip(output_format)
    assert heard.decoder == DECODERS[output_format.codec]
    assert heard.sample_rate == output_format.sample_rate
    assert heard.channels == 1
    if output_format.bit_rate is not None:
        # Ogg's page headers come on top of the bit rate of the sound itself.
        assert heard.bit_rate == pytest.approx(output_format.bit_rate, rel=0.05)


@each_format()
def test_a_whole_clip_decodes_without_a_warning(output_format: OutputFormat) -> None:
    assert decoded_clip(output_format).warnings == []


@each_format(without=Codec.WAV)  # libav remarks on every WAV header that leaves the length open
def test_a_stream_decodes_without_a_warning(output_format: OutputFormat) -> None:
    assert decoded_stream(output_format).warnings == []


@each_format()
def test_a_whole_clip_lasts_as_long_as_the_speech(output_format: OutputFormat) -> None:
    assert decoded_clip(output_format).seconds == pytest.approx(len(SPEECH) / SOURCE_RATE, abs=0.0005)


@each_format()
def test_a_stream_lasts_as_long_as_the_speech(output_format: OutputFormat) -> None:
    excess = decoded_stream(output_format).seconds - len(SPEECH) / SOURCE_RATE
    assert -0.0005 < excess < TOLERANCE_SECONDS


@pytest.mark.parametrize("extra", range(0, 700, 50))
@pytest.mark.parametrize("name", ["mp3_22050_32", "mp3_24000_48", "mp3_44100_64"])
def test_an_mp3_lasts_as_long_wherever_its_last_frame_is_cut(name: str, extra: int) -> None:
    output_format = formats.find(name)
    speech = SPEECH[: 4_800 + extra]
    seconds = len(speech) / SOURCE_RATE
    streamed = decode(stream(speech, output_format), output_format, arriving=True)
    whole = decode(clip(speech, output_format), output_format, arriving=False)
    assert 0 <= streamed.seconds - seconds < TOLERANCE_SECONDS
    assert whole.seconds == pytest.approx(seconds, abs=0.0005)


@each_format()
def test_a_whole_clip_sounds_like_the_speech_from_its_first_to_its_last_moment(
    output_format: OutputFormat,
) -> None:
    heard = decoded_clip(output_format)
    meant = soxr.resample(SPEECH, SOURCE_RATE, output_format.sample_rate)
    length = min(len(heard.samples), len(meant))
    burst = round(BURST_SECONDS * output_format.sample_rate)
    assert likeness(heard.samples[:length], meant[:length]) > 0.99
    assert likeness(heard.samples[:burst], meant[:burst]) > 0.97
    assert likeness(heard.samples[length - burst : length], meant[length - burst : length]) > 0.97


@each_format()
def test_a_stream_loses_neither_head_nor_tail(output_format: OutputFormat) -> None:
    heard = decoded_stream(output_format).samples
    meant = soxr.resample(SPEECH, SOURCE_RATE, output_format.sample_rate)
    overhang = len(heard) - len(meant)
    delay = max(range(overhang + 1), key=lambda start: np.dot(heard[start : start + len(meant)], meant), default=0)
    heard = np.pad(heard, (0, 1))[delay : delay + len(meant)]
    burst = round(BURST_SECONDS * output_format.sample_rate)
    assert likeness(heard, meant) > 0.99
    assert likeness(heard[:burst], meant[:burst]) > 0.97
    assert likeness(heard[-burst:], meant[-burst:]) > 0.97


@each_format()
def test_chunk_borders_leave_no_trace(output_format: OutputFormat) -> None:
    at_once = decode(clip(SPEECH, output_format), output_format, arriving=False)
    np.testing.assert_array_equal(decoded_clip(output_format).samples, at_once.samples)


@each_format()
def test_bytes_come_long_before_the_end(output_format: OutputFormat) -> None:
    with encoders.create(output_format, SOURCE_RATE) as encoder:
        assert encoder.encode(SPEECH[: round(0.12 * SOURCE_RATE)])


@each_format()
def test_what_is_too_loud_is_clipped_and_does_not_wrap(output_format: OutputFormat) -> None:
    tone = np.sin(2 * np.pi * 300 * np.arange(12_000) / SOURCE_RATE)
    heard = decode(clip((4 * tone).astype(np.float32), output_format), output_format, arriving=False).samples
    meant = soxr.resample(np.clip(4 * tone, -1, 1), SOURCE_RATE, output_format.sample_rate)
    length = min(len(heard), len(meant))
    assert likeness(heard[:length], meant[:length].astype(np.float32)) > 0.98


@each_format()
def test_an_empty_clip_is_an_empty_file(output_format: OutputFormat) -> None:
    silence = np.empty(0, dtype=np.float32)
    assert len(decode(clip(silence, output_format), output_format, arriving=False).samples) == 0
    assert decode(stream(silence, output_format), output_format, arriving=True).seconds < TOLERANCE_SECONDS


@pytest.mark.parametrize("name", ["pcm_24000", "pcm_16000", "wav_44100", "ulaw_8000"])
@settings(deadline=None)
@given(sizes=st.lists(st.integers(0, 1_500), max_size=12))
def test_no_cut_changes_a_byte(name: str, sizes: list[int]) -> None:
    speech, output_format = SPEECH[:6_000], formats.find(name)
    assert stream(speech, output_format, [*sizes, 2**30]) == stream(speech, output_format)


@each_format(without=Codec.OPUS)  # its pages follow the chunks, so that none waits; the sound is the same
def test_odd_chunks_change_not_a_byte(output_format: OutputFormat) -> None:
    assert stream(SPEECH, output_format, itertools.cycle(ODD_CHUNKS)) == stream(SPEECH, output_format)


def test_pcm_is_the_nearest_step_little_endian() -> None:
    samples = np.array([0, 0.6 / 32_768, -0.6 / 32_768, 0.5, 1, 1.5, -1, -7], dtype=np.float32)
    steps = np.frombuffer(stream(samples, formats.find("pcm_24000")), dtype="<i2")
    assert steps.tolist() == [0, 1, -1, 16_384, 32_767, 32_767, -32_768, -32_768]


def test_a_whole_wav_tells_its_exact_length_and_a_stream_leaves_it_open() -> None:
    output_format = formats.find("wav_16000")
    whole, streamed = clip(SPEECH, output_format), stream(SPEECH, output_format)
    with wave.open(io.BytesIO(whole)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 16_000)
        assert file.readframes(file.getnframes()) == whole[44:] == streamed[44:]
    assert int.from_bytes(whole[4:8], "little") == len(whole) - 8
    assert streamed[4:8] == streamed[40:44] == b"\xff\xff\xff\xff"


def test_a_closed_encoder_lets_go_of_its_codec_half_way() -> None:
    def open_codecs() -> int:
        return sum(isinstance(each, av.AudioCodecContext) for each in gc.get_objects())

    before = open_codecs()
    with encoders.create(formats.find("mp3_44100_128"), SOURCE_RATE) as encoder:
        encoder.encode(SPEECH)
        assert open_codecs() == before + 1
    assert open_codecs() == before
    with pytest.raises(ValueError, match="closed"):
        encoder.encode(SPEECH)
