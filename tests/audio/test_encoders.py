"""Every output format is encoded in odd chunks, decoded and compared with the input."""

import gc
import hashlib
import io
import itertools
import wave
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import av
import av.logging
import numpy as np
import pytest
import soxr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from svc.audio import encoders, formats
from svc.audio.formats import OUTPUT_FORMATS, Codec, OutputFormat
from svc.audio.samples import Samples

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
    Codec.AAC: "aac",
    Codec.FLAC: "flac",
}
ADTS_DELAY = 1024  # samples of silence at the start, which ADTS cannot declare


def each_format(*without: Codec) -> pytest.MarkDecorator:
    chosen = [each for each in OUTPUT_FORMATS.values() if each.codec not in without]
    return pytest.mark.parametrize("output_format", chosen, ids=lambda each: each.name)


def make_speech(seconds: float = 3.1) -> Samples:
    """A gliding voice in syllables, with a burst in the first and the last 50 ms that would show a cut."""
    time = np.arange(round(seconds * SOURCE_RATE) + 17) / SOURCE_RATE
    pitch = 130 + 40 * np.sin(2 * np.pi * 0.7 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / SOURCE_RATE
    voice = sum(np.sin(harmonic * phase) / harmonic for harmonic in range(1, 16))
    samples = 0.15 * voice * (0.55 + 0.45 * np.sin(2 * np.pi * 4 * time))
    burst = 0.5 * np.sin(2 * np.pi * 1000 * time[: round(BURST_SECONDS * SOURCE_RATE)])
    samples[: len(burst)] = samples[-len(burst) :] = burst
    return samples.astype(np.float32)


SPEECH = make_speech()


def split(samples: Samples, sizes: Iterable[int]) -> Iterable[Samples]:
    start = 0
    for size in sizes:
        yield samples[start : start + size]
        start += size
        if start >= len(samples):
            return


def encode_stream(samples: Samples, output_format: OutputFormat, sizes: Iterable[int] = (2**30,)) -> bytes:
    """What a streaming client receives."""
    with encoders.create(output_format, SOURCE_RATE) as encoder:
        return b"".join([*map(encoder.encode, split(samples, sizes)), encoder.flush()])


def encode_clip(samples: Samples, output_format: OutputFormat, sizes: Iterable[int] = (2**30,)) -> bytes:
    """What a client of the whole clip receives."""
    with encoders.create(output_format, SOURCE_RATE) as encoder:
        joined = b"".join([*map(encoder.encode, split(samples, sizes)), encoder.flush()])
        return encoder.seal(joined, len(joined))


class Pipe:
    """A file that cannot seek, like a response that is still arriving."""

    def __init__(self, data: bytes) -> None:
        self.read = io.BytesIO(data).read


@dataclass
class Decoded:
    samples: Samples
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
    # libav warns about the duration of every seekable file of raw samples.
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
    samples = np.concatenate([np.empty(0, dtype=np.float32), *map(to_float, frames)])
    return Decoded(
        samples=samples[ADTS_DELAY:] if output_format.codec is Codec.AAC else samples,
        sample_rate=audio.codec_context.sample_rate,
        channels=audio.codec_context.channels,
        bit_rate=bit_rate,
        decoder=audio.codec_context.name,
        warnings=[message for _, _, message in logs],
    )


def to_float(samples: NDArray[Any]) -> Samples:
    scale = 32_768 if samples.dtype == np.int16 else 1
    return np.asarray(samples / scale, dtype=np.float32)


@cache
def decode_speech_clip(output_format: OutputFormat) -> Decoded:
    return decode(encode_clip(SPEECH, output_format, itertools.cycle(ODD_CHUNKS)), output_format, arriving=False)


@cache
def decode_speech_stream(output_format: OutputFormat) -> Decoded:
    return decode(encode_stream(SPEECH, output_format, itertools.cycle(ODD_CHUNKS)), output_format, arriving=True)


def correlation(one: Samples, other: Samples) -> float:
    """The correlation of two signals of the same length."""
    return float(np.dot(one, other) / np.sqrt(np.dot(one, one) * np.dot(other, other) + 1e-12))


@each_format()
def test_file_has_the_requested_codec_and_rates(output_format: OutputFormat) -> None:
    decoded = decode_speech_clip(output_format)
    assert decoded.decoder == DECODERS[output_format.codec]
    assert decoded.sample_rate == output_format.sample_rate
    assert decoded.channels == 1
    if output_format.bit_rate is not None:
        # Ogg's page headers come on top of the bit rate of the audio.
        assert decoded.bit_rate == pytest.approx(output_format.bit_rate, rel=0.05)


@each_format(Codec.AAC)  # libav warns that it has to estimate the duration of every ADTS file
def test_clip_decodes_without_a_warning(output_format: OutputFormat) -> None:
    assert decode_speech_clip(output_format).warnings == []


@each_format(Codec.WAV)  # libav warns about every WAV header without a length
def test_stream_decodes_without_a_warning(output_format: OutputFormat) -> None:
    assert decode_speech_stream(output_format).warnings == []


@each_format(Codec.AAC)  # without a length in its headers, a whole clip is as long as the stream
def test_clip_has_the_length_of_the_speech(output_format: OutputFormat) -> None:
    assert decode_speech_clip(output_format).seconds == pytest.approx(len(SPEECH) / SOURCE_RATE, abs=0.0005)


@each_format()
def test_stream_has_the_length_of_the_speech(output_format: OutputFormat) -> None:
    excess = decode_speech_stream(output_format).seconds - len(SPEECH) / SOURCE_RATE
    assert -0.0005 < excess < TOLERANCE_SECONDS


@pytest.mark.parametrize("extra", range(0, 700, 50))
@pytest.mark.parametrize("name", ["mp3_22050_32", "mp3_24000_48", "mp3_44100_64"])
def test_mp3_has_the_length_of_the_speech_wherever_its_last_frame_ends(name: str, extra: int) -> None:
    output_format = formats.find(name)
    speech = SPEECH[: 4_800 + extra]
    seconds = len(speech) / SOURCE_RATE
    streamed = decode(encode_stream(speech, output_format), output_format, arriving=True)
    whole = decode(encode_clip(speech, output_format), output_format, arriving=False)
    assert 0 <= streamed.seconds - seconds < TOLERANCE_SECONDS
    assert whole.seconds == pytest.approx(seconds, abs=0.0005)


@each_format()
def test_clip_matches_the_speech_from_start_to_end(
    output_format: OutputFormat,
) -> None:
    decoded = decode_speech_clip(output_format)
    expected = soxr.resample(SPEECH, SOURCE_RATE, output_format.sample_rate)
    length = min(len(decoded.samples), len(expected))
    burst = round(BURST_SECONDS * output_format.sample_rate)
    assert correlation(decoded.samples[:length], expected[:length]) > 0.99
    assert correlation(decoded.samples[:burst], expected[:burst]) > 0.97
    assert correlation(decoded.samples[length - burst : length], expected[length - burst : length]) > 0.97


@pytest.mark.slow
@each_format()
def test_stream_matches_the_speech_from_start_to_end(output_format: OutputFormat) -> None:
    decoded = decode_speech_stream(output_format).samples
    expected = soxr.resample(SPEECH, SOURCE_RATE, output_format.sample_rate)
    overhang = len(decoded) - len(expected)
    delay = max(
        range(overhang + 1), key=lambda start: np.dot(decoded[start : start + len(expected)], expected), default=0
    )
    decoded = np.pad(decoded, (0, 1))[delay : delay + len(expected)]
    burst = round(BURST_SECONDS * output_format.sample_rate)
    assert correlation(decoded, expected) > 0.99
    assert correlation(decoded[:burst], expected[:burst]) > 0.97
    assert correlation(decoded[-burst:], expected[-burst:]) > 0.97


@each_format()
def test_chunk_boundaries_do_not_change_the_audio(output_format: OutputFormat) -> None:
    at_once = decode(encode_clip(SPEECH, output_format), output_format, arriving=False)
    np.testing.assert_array_equal(decode_speech_clip(output_format).samples, at_once.samples)


@each_format()
def test_first_bytes_come_early(output_format: OutputFormat) -> None:
    with encoders.create(output_format, SOURCE_RATE) as encoder:
        assert encoder.encode(SPEECH[: round(0.15 * SOURCE_RATE)])


@each_format()
def test_samples_above_full_scale_are_clipped(output_format: OutputFormat) -> None:
    tone = np.sin(2 * np.pi * 300 * np.arange(12_000) / SOURCE_RATE)
    decoded = decode(encode_clip((4 * tone).astype(np.float32), output_format), output_format, arriving=False).samples
    expected = soxr.resample(np.clip(4 * tone, -1, 1), SOURCE_RATE, output_format.sample_rate)
    length = min(len(decoded), len(expected))
    assert correlation(decoded[:length], expected[:length].astype(np.float32)) > 0.98


@each_format(Codec.AAC)
def test_empty_clip_decodes_to_no_samples(output_format: OutputFormat) -> None:
    silence = np.empty(0, dtype=np.float32)
    assert len(decode(encode_clip(silence, output_format), output_format, arriving=False).samples) == 0
    assert decode(encode_stream(silence, output_format), output_format, arriving=True).seconds < TOLERANCE_SECONDS


@pytest.mark.parametrize("name", ["pcm_24000", "pcm_16000", "wav_44100", "ulaw_8000"])
@settings(deadline=None)
@given(sizes=st.lists(st.integers(0, 1_500), max_size=12))
def test_any_chunk_sizes_make_the_same_bytes(name: str, sizes: list[int]) -> None:
    speech, output_format = SPEECH[:6_000], formats.find(name)
    assert encode_stream(speech, output_format, [*sizes, 2**30]) == encode_stream(speech, output_format)


@each_format(Codec.OPUS)  # its pages follow the chunks; the audio is the same
def test_odd_chunks_make_the_same_bytes(output_format: OutputFormat) -> None:
    assert encode_stream(SPEECH, output_format, itertools.cycle(ODD_CHUNKS)) == encode_stream(SPEECH, output_format)


def test_pcm_is_rounded_to_the_nearest_step_little_endian() -> None:
    samples = np.array([0, 0.6 / 32_768, -0.6 / 32_768, 0.5, 1, 1.5, -1, -7], dtype=np.float32)
    steps = np.frombuffer(encode_stream(samples, formats.find("pcm_24000")), dtype="<i2")
    assert steps.tolist() == [0, 1, -1, 16_384, 32_767, 32_767, -32_768, -32_768]


def test_wav_clip_has_its_exact_length_in_the_header_and_a_stream_none() -> None:
    output_format = formats.find("wav_16000")
    whole, streamed = encode_clip(SPEECH, output_format), encode_stream(SPEECH, output_format)
    with wave.open(io.BytesIO(whole)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 16_000)
        assert file.readframes(file.getnframes()) == whole[44:] == streamed[44:]
    assert int.from_bytes(whole[4:8], "little") == len(whole) - 8
    assert streamed[4:8] == streamed[40:44] == b"\xff\xff\xff\xff"


def test_flac_clip_has_its_length_and_checksum_in_the_header_and_a_stream_neither() -> None:
    output_format = formats.find("flac_24000")
    whole, streamed = encode_clip(SPEECH, output_format), encode_stream(SPEECH, output_format)
    assert whole[:4] == b"fLaC"
    assert int.from_bytes(whole[21:26], "big") & 0xF_FFFF_FFFF == len(SPEECH)
    assert whole[26:42] == hashlib.md5(encode_stream(SPEECH, formats.find("pcm_24000"))).digest()
    assert int.from_bytes(streamed[21:26], "big") & 0xF_FFFF_FFFF == 0
    assert streamed[26:42] == bytes(16)
    assert whole[42:] == streamed[42:]


def test_flac_is_lossless_and_smaller() -> None:
    flac, pcm = formats.find("flac_24000"), formats.find("pcm_24000")
    decoded = decode(encode_clip(SPEECH, flac), flac, arriving=False).samples
    np.testing.assert_array_equal(decoded * 32_768, np.frombuffer(encode_stream(SPEECH, pcm), "<i2"))
    assert len(encode_clip(SPEECH, flac)) < 0.8 * len(encode_clip(SPEECH, pcm))


def test_every_frame_of_aac_has_a_header_that_leads_to_the_next() -> None:
    audio = encode_stream(SPEECH, formats.find("aac_24000_64"))
    frames = 0
    while audio:
        assert audio[:2] == b"\xff\xf1"
        audio = audio[(int.from_bytes(audio[3:6], "big") >> 5) & 0x1FFF :]
        frames += 1
    assert frames == 1 + -(-len(SPEECH) // 1024)


def test_closing_an_encoder_frees_its_codec() -> None:
    def count_open_codecs() -> int:
        return sum(isinstance(each, av.AudioCodecContext) for each in gc.get_objects())

    before = count_open_codecs()
    with encoders.create(formats.find("mp3_44100_128"), SOURCE_RATE) as encoder:
        encoder.encode(SPEECH)
        assert count_open_codecs() == before + 1
    assert count_open_codecs() == before
    with pytest.raises(ValueError, match="closed"):
        encoder.encode(SPEECH)
