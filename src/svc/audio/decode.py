"""A recording that somebody sent, whatever it is called: its bytes become mono samples, within bounds.

Only containers and codecs that are listed here are opened. libav knows some hundred more, among them playlists that
fetch other addresses, and decoders that hardly anybody has looked at for years.
"""

import io
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import av
import numpy as np
from av.audio.stream import AudioStream
from av.error import FFmpegError

from svc.audio.pcm import to_int16
from svc.engine.protocol import Samples
from svc.errors import ClipDamaged, NotAudio

RATE = 24_000
"""Every clip comes at this rate, which is the engine's: what lies above its band no voice could use."""

LONGEST = 300
"""Seconds that are read, of all clips together; so a small file that unpacks to hours costs no more than a long one."""

_PATIENCE = 20.0  # seconds of decoding; an honest five minutes take less than two
_SLOWEST_RATE, _FASTEST_RATE = 4_000, 384_000
_LOUDEST = 8.0  # floats may exceed full scale, though not by much unless they are damaged
_CUT_OFF = 0.9  # a clip that is shorter than this share of what it promises was cut off
_CANCELLED = 0.25  # a mix with less than this share of its louder channel's power lost the voice in mixing

# What a file begins with, from which byte on, and who reads it.
_MAGIC = (
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
_CODECS = (  # the beginnings of their names
    *("aac", "alac", "amr", "flac", "gsm", "mp1", "mp2", "mp3", "vorbis", "wmav"),
    *("opus", "libopus", "pcm_", "adpcm_"),
)


@dataclass(frozen=True, eq=False, slots=True)
class Clip:
    samples: Samples
    """Mono, at `RATE`."""
    cut_off: bool = False
    """Whether the file ends, or breaks, before the recording does."""
    too_long: bool = False
    """Whether there is more than was read."""


def read_all(contents: Iterable[bytes]) -> list[Clip]:
    """The recordings, up to `LONGEST` seconds of them; raises `NotAudio` or `ClipDamaged`."""
    clips: list[Clip] = []
    remaining = LONGEST * RATE
    for content in contents:
        if remaining > 0:
            clips.append(read(content, remaining))
            remaining -= len(clips[-1].samples)
    return clips


def read(content: bytes, most: int = LONGEST * RATE) -> Clip:
    """The recording in these bytes, up to so many samples; raises `NotAudio` or `ClipDamaged`."""
    container = _container(content)
    if container is None:
        raise NotAudio
    try:
        with av.open(io.BytesIO(content), "r", format=container, metadata_errors="ignore") as file:
            if not file.streams.audio:
                raise NotAudio
            return _decoded(file.streams.audio[0], most, cut_off=_is_short_wav(content))
    # ValueError: a stream that changes its format on the way. OSError: what some demuxers make of an early end.
    except (FFmpegError, ValueError, OSError) as error:
        raise ClipDamaged from error


def to_flac(samples: Samples) -> bytes:
    """The samples, mono at `RATE`, as a file that `read` understands."""
    out = io.BytesIO()
    with av.open(out, "w", format="flac") as file:
        stream = file.add_stream("flac", rate=RATE, layout="mono")
        frame = av.AudioFrame.from_ndarray(to_int16(samples).reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = RATE
        for packet in (*stream.encode(frame), *stream.encode(None)):
            file.mux(packet)
    return out.getvalue()


def _container(content: bytes) -> str | None:
    """The name of what reads these bytes."""
    for at, magic, name in _MAGIC:
        if content[at : at + len(magic)] == magic:
            return name
    if content[:3] == b"ID3" and len(content) > 10:
        # A tag of a length of its own, before an MP3 or, from some programs, before something else.
        size = content[6] << 21 | content[7] << 14 | content[8] << 7 | content[9]
        after = content[10 + size :][:16]
        return _container(after) if after[:3] != b"ID3" and _container(after) else "mp3"
    if content[:1] == b"\xff" and len(content) > 1:
        # Eleven bits set are a frame of MPEG audio; the two layer bits tell AAC, which is layer 0, from MP3.
        if content[1] & 0xF6 == 0xF0:
            return "aac"
        if content[1] & 0xE0 == 0xE0 and content[1] & 0x06:
            return "mp3"
    return None


def _is_short_wav(content: bytes) -> bool:
    """libav takes the length of a WAV from the file, and not from what the file says."""
    size = int.from_bytes(content[4:8], "little")
    is_streamed = size in (0, 0xFFFF_FFFF)
    return content[:4] == b"RIFF" and not is_streamed and len(content) < _CUT_OFF * size


def _decoded(stream: AudioStream, most: int, cut_off: bool) -> Clip:
    context = stream.codec_context
    if not context.name.startswith(_CODECS):
        raise NotAudio
    if not _SLOWEST_RATE <= context.sample_rate <= _FASTEST_RATE:
        raise ClipDamaged
    promised = _promised(stream)
    channels: list[Samples] = []
    length, broken, too_long = 0, 0, False
    resampler = av.AudioResampler("fltp", "mono" if context.layout.nb_channels == 1 else "stereo", RATE)
    for frame in _frames(stream):
        if frame is None:
            broken += 1
            continue
        for part in resampler.resample(frame):
            channels.append(part.to_ndarray().astype(np.float32))
            length += channels[-1].shape[1]
        if length >= most:
            too_long = True
            break
    if not channels:
        raise ClipDamaged
    samples = _mono(np.concatenate(channels, axis=1)[:, :most])
    missing = promised is not None and not too_long and length / RATE < _CUT_OFF * promised
    return Clip(samples, cut_off=cut_off or missing or broken > 1, too_long=too_long)


def _promised(stream: AudioStream) -> float | None:
    """How many seconds the file says that it holds."""
    if stream.duration is None or stream.time_base is None:
        return None
    return float(stream.duration * stream.time_base)


def _frames(stream: AudioStream) -> Iterator[av.AudioFrame | None]:
    """The frames of the recording; None for a packet that is broken."""
    until = time.monotonic() + _PATIENCE
    for packet in stream.container.demux(stream):  # type: ignore[attr-defined]
        if time.monotonic() > until:
            raise ClipDamaged
        try:
            yield from packet.decode()
        except FFmpegError:
            yield None


def _mono(channels: Samples) -> Samples:
    channels = np.clip(np.nan_to_num(channels, nan=0.0, posinf=0.0, neginf=0.0), -_LOUDEST, _LOUDEST)
    mixed: Samples = channels.mean(axis=0, dtype=np.float32)
    powers = np.square(channels).mean(axis=1)
    # Some devices record the same voice twice with opposite signs: mixed, it would cancel itself out.
    if np.square(mixed).mean() < _CANCELLED * powers.max() and powers.min() > _CANCELLED * powers.max():
        return np.ascontiguousarray(channels[int(powers.argmax())])
    return mixed
