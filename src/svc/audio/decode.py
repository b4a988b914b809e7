"""Decoding uploaded recordings of any format into mono samples, within bounds.

Only the containers and codecs listed here are opened. libav supports some hundred more, among them playlists that fetch
other URLs, and decoders that are hardly maintained.
"""

import io
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import av
import numpy as np
from av.audio.stream import AudioStream
from av.error import FFmpegError

from svc.audio.samples import Samples
from svc.errors import ClipDamaged, NotAudio

RATE = 24_000
"""The sample rate of every decoded clip. It is the engine's: no voice could use what lies above its band."""

MAX_SECONDS = 300
"""Audio that is decoded, of all clips together. It bounds the cost of a small file that decodes to hours."""

_TIMEOUT = 20.0  # seconds of decoding; five minutes of audio take less than two
_MIN_SOURCE_RATE, _MAX_SOURCE_RATE = 4_000, 384_000
_MAX_AMPLITUDE = 8.0  # float samples may exceed full scale; much more than this is damage
_MIN_COMPLETE = 0.9  # a clip is cut off if it is shorter than this share of its declared length
_CANCELLED = 0.25  # share of the louder channel's power below which a mono mix has cancelled the voice

# The bytes that a file begins with: their offset, the bytes, and libav's demuxer.
_SIGNATURES = (
    (0, b"fLaC", "flac"),
    (0, b"OggS", "ogg"),
    (0, b"\x1a\x45\xdf\xa3", "matroska"),
    (0, b"caff", "caf"),
    (0, b"#!AMR", "amr"),
    (0, b".snd", "au"),
    (0, b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "asf"),
    (4, b"ftyp", "mov"),
    (4, b"moov", "mov"),
    (4, b"mdat", "mov"),
    (4, b"wide", "mov"),
    (8, b"WAVE", "wav"),
    (8, b"AIFF", "aiff"),
    (8, b"AIFC", "aiff"),
)
_CODEC_PREFIXES = (
    *("aac", "alac", "amr", "flac", "gsm", "mp1", "mp2", "mp3", "vorbis", "wmav"),
    *("opus", "libopus", "pcm_", "adpcm_"),
)
# Without it, opening a file would decode a frame of each of its videos and pictures, however large.
_ALLOWED_DECODERS = ",".join(sorted(name for name in av.codecs_available if name.startswith(_CODEC_PREFIXES)))
_MAX_STREAMS = "20"


@dataclass(frozen=True, eq=False, slots=True)
class Clip:
    samples: Samples
    """Mono, at `RATE`."""
    cut_off: bool = False
    """Whether the file ends, or is damaged, before the end of the recording."""
    too_long: bool = False
    """Whether the recording is longer than what was decoded."""


def decode_clips(contents: Iterable[bytes]) -> list[Clip]:
    """The recordings, up to `MAX_SECONDS` of them together; raises `NotAudio` or `ClipDamaged`."""
    clips: list[Clip] = []
    remaining = MAX_SECONDS * RATE
    for content in contents:
        if remaining > 0:
            clips.append(decode_clip(content, remaining))
            remaining -= len(clips[-1].samples)
    return clips


def decode_clip(content: bytes, max_samples: int = MAX_SECONDS * RATE) -> Clip:
    """The recording in a file's content, up to `max_samples`; raises `NotAudio` or `ClipDamaged`."""
    demuxer = _detect_demuxer(content)
    if demuxer is None:
        raise NotAudio
    try:
        options = {"codec_whitelist": _ALLOWED_DECODERS, "max_streams": _MAX_STREAMS}
        with av.open(io.BytesIO(content), "r", demuxer, container_options=options, metadata_errors="ignore") as file:
            if not file.streams.audio:
                raise NotAudio
            return _decode_stream(file.streams.audio[0], max_samples, cut_off=_is_truncated_wav(content))
    # ValueError: a stream that changes its format in between. OSError: how some demuxers report an early end.
    except (FFmpegError, ValueError, OSError) as error:
        raise ClipDamaged from error


def _detect_demuxer(content: bytes) -> str | None:
    for offset, signature, demuxer in _SIGNATURES:
        if content[offset : offset + len(signature)] == signature:
            return demuxer
    if content[:3] == b"ID3" and len(content) > 10:
        # A tag of variable length, before an MP3 or, from some programs, before another format.
        size = content[6] << 21 | content[7] << 14 | content[8] << 7 | content[9]
        after = content[10 + size :][:16]
        return _detect_demuxer(after) if after[:3] != b"ID3" and _detect_demuxer(after) else "mp3"
    if content[:1] == b"\xff" and len(content) > 1:
        # Eleven set bits begin a frame of MPEG audio; the two layer bits distinguish AAC, which is layer 0, from MP3.
        if content[1] & 0xF6 == 0xF0:
            return "aac"
        if content[1] & 0xE0 == 0xE0 and content[1] & 0x06:
            return "mp3"
    return None


def _is_truncated_wav(content: bytes) -> bool:
    """Whether a WAV is shorter than its header says: libav goes by the size of the file alone."""
    size = int.from_bytes(content[4:8], "little")
    is_streamed = size in (0, 0xFFFF_FFFF)
    return content[:4] == b"RIFF" and not is_streamed and len(content) < _MIN_COMPLETE * size


def _decode_stream(stream: AudioStream, max_samples: int, cut_off: bool) -> Clip:
    context = stream.codec_context
    if context is None:  # a codec that libav does not know
        raise NotAudio
    if not context.name.startswith(_CODEC_PREFIXES):
        raise NotAudio
    if not _MIN_SOURCE_RATE <= context.sample_rate <= _MAX_SOURCE_RATE:
        raise ClipDamaged
    declared = _declared_seconds(stream)
    channels: list[Samples] = []
    length, damaged_packets, too_long = 0, 0, False
    resampler = av.AudioResampler("fltp", "mono" if context.layout.nb_channels == 1 else "stereo", RATE)
    for frame in _decode_frames(stream):
        if frame is None:
            damaged_packets += 1
            continue
        for part in resampler.resample(frame):
            channels.append(part.to_ndarray().astype(np.float32))
            length += channels[-1].shape[1]
        if length >= max_samples:
            too_long = True
            break
    if not channels:
        raise ClipDamaged
    samples = _mix_to_mono(np.concatenate(channels, axis=1)[:, :max_samples])
    is_short = declared is not None and not too_long and length / RATE < _MIN_COMPLETE * declared
    return Clip(samples, cut_off=cut_off or is_short or damaged_packets > 1, too_long=too_long)


def _declared_seconds(stream: AudioStream) -> float | None:
    """The length that the file declares."""
    if stream.duration is None or stream.time_base is None:
        return None
    return float(stream.duration * stream.time_base)


def _decode_frames(stream: AudioStream) -> Iterator[av.AudioFrame | None]:
    """The frames of the recording; None for a damaged packet."""
    deadline = time.monotonic() + _TIMEOUT
    for packet in stream.container.demux(stream):  # type: ignore[attr-defined]
        if time.monotonic() > deadline:
            raise ClipDamaged
        try:
            yield from packet.decode()
        except FFmpegError:
            yield None


def _mix_to_mono(channels: Samples) -> Samples:
    channels = np.clip(np.nan_to_num(channels, nan=0.0, posinf=0.0, neginf=0.0), -_MAX_AMPLITUDE, _MAX_AMPLITUDE)
    mixed: Samples = channels.mean(axis=0, dtype=np.float32)
    powers = np.square(channels).mean(axis=1)
    # Some devices record the same voice twice with opposite signs: it would cancel in the mix.
    if np.square(mixed).mean() < _CANCELLED * powers.max() and powers.min() > _CANCELLED * powers.max():
        return np.ascontiguousarray(channels[int(powers.argmax())])
    return mixed
