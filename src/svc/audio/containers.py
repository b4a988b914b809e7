"""Compressed formats, encoded with libav: G.711, MP3 and Opus in Ogg."""

import secrets
import struct
import zlib
from collections.abc import Iterator, Mapping
from fractions import Fraction

import av
import numpy as np

from svc.audio.formats import Codec, OutputFormat
from svc.audio.pcm import FULL_SCALE, Int16, Writer


class LibavEncoder:
    """A mono encoder: takes any number of samples and splits them into the codec's frames."""

    def __init__(self, codec: str, output_format: OutputFormat, options: Mapping[str, str] | None = None) -> None:
        context = av.CodecContext.create(codec, "w")
        assert isinstance(context, av.AudioCodecContext)
        context.sample_rate = output_format.sample_rate
        if output_format.bit_rate is not None:
            context.bit_rate = output_format.bit_rate
        context.layout = "mono"
        # Planar ("s16p") or interleaved ("s16"): the same for one channel, but each codec accepts only one of them. AAC
        # takes floats alone ("fltp").
        accepted = list(context.codec.audio_formats or ())
        context.format = next((each for each in accepted if "s16" in each.name), accepted[0])
        context.options = dict(options or {})
        context.open()
        self._context = context
        self._samples = 0

    @property
    def frame_size(self) -> int:
        """Samples in a packet; 0 if a packet may hold any number."""
        return self._context.frame_size

    @property
    def extradata(self) -> bytes:
        """What a decoder needs before the first packet."""
        return self._context.extradata or b""

    def encode(self, samples: Int16) -> list[bytes]:
        """The packets that these samples complete."""
        if not len(samples):
            return []
        sample_format = self._context.format.name
        values = samples if "s16" in sample_format else samples / np.float32(FULL_SCALE)
        frame = av.AudioFrame.from_ndarray(values.reshape(1, -1), format=sample_format, layout="mono")
        frame.sample_rate = self._context.sample_rate
        frame.time_base = Fraction(1, self._context.sample_rate)
        frame.pts = self._samples
        self._samples += len(samples)
        return [bytes(packet) for packet in self._context.encode(frame)]

    def finish(self) -> list[bytes]:
        """The packets still held back: the codec's look-ahead and the last, shorter frame."""
        # A file without packets is invalid: an empty clip gets a frame of silence, which its declared length hides.
        silence = [] if self._samples else self.encode(np.zeros(self.frame_size, dtype=np.int16))
        return silence + [bytes(packet) for packet in self._context.encode(None)]


G711_CODECS = {Codec.ULAW: "pcm_mulaw", Codec.ALAW: "pcm_alaw"}


class G711Writer(Writer):
    """µ-law or A-law bytes without a header, as telephone gateways expect them."""

    def __init__(self, output_format: OutputFormat) -> None:
        self._encoder = LibavEncoder(G711_CODECS[output_format.codec], output_format)

    def write(self, samples: Int16) -> bytes:
        return b"".join(self._encoder.encode(samples))

    def finish(self) -> bytes:
        return b"".join(self._encoder.finish())


LAME_DELAY = 576  # samples of silence before the audio; decoders add 529 of their own
MPEG1_FRAME = 1152  # samples in a frame at 32 kHz and above; below that (MPEG-2) half as many
FRAME_HEADER_BYTES = 4
MONO_SIDE_INFO_BYTES = {MPEG1_FRAME: 17, MPEG1_FRAME // 2: 9}
PADDING_BIT = 0x02  # of the third header byte: the frame is one byte longer
HAS_FRAME_AND_BYTE_COUNT = 0x03
CONSTANT_BIT_RATE = 0x01
INFO_TAG = struct.Struct(">4sIII 9sB10xB 3s4xI2x")  # left at zero: loudness, presets, the checksum of the audio

# Without a bit reservoir each frame is independent, which saves a frame of latency and lets the first one be left out.
# It cost speech at most 0.4 dB of segmental SNR, measured at 32, 48 and 128 kbit/s.
LAME_OPTIONS = {"reservoir": "0"}

# With bits to spare LAME need not search where to put the noise: at 128 kbit/s speech has the same segmental SNR and
# spectrum without the search, for 17 instead of 29 ms of a core a second. With fewer bits the search is heard.
LAME_FAST = {"compression_level": "7"}
LAME_FAST_BIT_RATE = 96_000


class Mp3Writer(Writer):
    """A sequence of frames; `seal` puts an Info frame before them, which makes playback gapless.

    Delay and padding are fixed numbers of samples, up to 78 ms at the lower rates (MPEG-2). There the first frame,
    which holds nothing but the delay, is left out, so that at most 52 ms remain at any rate. Players that read the Info
    frame remove those as well.
    """

    def __init__(self, output_format: OutputFormat) -> None:
        fast = output_format.bit_rate is not None and output_format.bit_rate >= LAME_FAST_BIT_RATE
        self._encoder = LibavEncoder("libmp3lame", output_format, LAME_OPTIONS | (LAME_FAST if fast else {}))
        self._format = output_format
        self._frames_to_skip = 0 if self._encoder.frame_size == MPEG1_FRAME else 1
        self._delay = LAME_DELAY - self._frames_to_skip * self._encoder.frame_size
        self._samples = 0
        self._frames = 0

    def write(self, samples: Int16) -> bytes:
        self._samples += len(samples)
        return self._take_frames(self._encoder.encode(samples))

    def finish(self) -> bytes:
        return self._take_frames(self._encoder.finish())

    def seal(self, beginning: bytes, length: int) -> bytes:
        return self._make_info_frame(beginning[:FRAME_HEADER_BYTES], length) + beginning

    def _take_frames(self, frames: list[bytes]) -> bytes:
        kept = frames[self._frames_to_skip :]
        self._frames_to_skip -= len(frames) - len(kept)
        self._frames += len(kept)
        return b"".join(kept)

    def _make_info_frame(self, frame_header: bytes, audio_bytes: int) -> bytes:
        """A silent frame of the same kind, whose unused part holds the length, the delay and the padding."""
        assert self._format.bit_rate is not None
        frame_size = self._encoder.frame_size
        length = frame_size * self._format.bit_rate // 8 // self._format.sample_rate
        header = bytearray(frame_header)
        header[2] &= ~PADDING_BIT
        padding = self._frames * frame_size - self._delay - self._samples
        tag = INFO_TAG.pack(
            *(b"Info", HAS_FRAME_AND_BYTE_COUNT, self._frames, length + audio_bytes),
            *(b"LAME3.100", CONSTANT_BIT_RATE, self._format.bit_rate // 1000),
            *((self._delay << 12 | padding).to_bytes(3, "big"), length + audio_bytes),
        )
        frame = bytes(header) + bytes(MONO_SIDE_INFO_BYTES[frame_size]) + tag
        return (frame + struct.pack(">H", crc16(frame))).ljust(length, b"\0")


def crc16(data: bytes) -> int:
    """The checksum of the Info tag (CRC-16/ARC)."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xA001 if crc & 1 else 0)
    return crc


PAGE_HEADER = struct.Struct("<4sBBqIIIB")
CHECKSUM = slice(22, 26)
FIRST_PAGE, LAST_PAGE = 0x02, 0x04
PACKETS_PER_PAGE = 50  # one second; at 192 kbit/s a packet takes two of a page's 255 segments
PRE_SKIP = struct.Struct("<10xH")  # identification header: the number of samples to drop at the start
COMMENT_HEADER = struct.pack("<8sI3sI", b"OpusTags", 3, b"svc", 0)
REVERSED_BITS = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))

# Constant bit rate: with VBR, speech deviates by 15 % from the rate that the format names.
OPUS_OPTIONS = {"vbr": "off"}


class OggOpusWriter(Writer):
    """Packets of 20 ms. The packets that a call completes are returned at once, in as few pages as possible."""

    def __init__(self, output_format: OutputFormat) -> None:
        self._encoder = LibavEncoder("libopus", output_format, OPUS_OPTIONS)
        (self._pre_skip,) = PRE_SKIP.unpack_from(self._encoder.extradata)
        self._serial = secrets.randbits(32)  # must differ between clips that are concatenated into one file
        self._pages = 0
        self._packets = 0
        self._samples = 0

    def header(self) -> bytes:
        return self._make_page([self._encoder.extradata], 0, FIRST_PAGE) + self._make_page([COMMENT_HEADER], 0)

    def write(self, samples: Int16) -> bytes:
        self._samples += len(samples)
        return b"".join(self._make_audio_page(packets) for packets in split_into_pages(self._encoder.encode(samples)))

    def finish(self) -> bytes:
        # The last page's position is before the end of its packets: the rest is padding, which players drop.
        return self._make_page(self._encoder.finish(), self._pre_skip + self._samples, LAST_PAGE)

    def _make_audio_page(self, packets: list[bytes]) -> bytes:
        self._packets += len(packets)
        return self._make_page(packets, self._packets * self._encoder.frame_size)

    def _make_page(self, packets: list[bytes], position: int, flags: int = 0) -> bytes:
        segments = b"".join(b"\xff" * (len(packet) // 255) + bytes([len(packet) % 255]) for packet in packets)
        header = PAGE_HEADER.pack(b"OggS", 0, flags, position, self._serial, self._pages, 0, len(segments))
        self._pages += 1
        page = bytearray(header + segments + b"".join(packets))
        page[CHECKSUM] = crc32(page).to_bytes(4, "little")
        return bytes(page)


def split_into_pages(packets: list[bytes]) -> Iterator[list[bytes]]:
    """The packets in groups that fit into a page."""
    for start in range(0, len(packets), PACKETS_PER_PAGE):
        yield packets[start : start + PACKETS_PER_PAGE]


def crc32(data: bytes | bytearray) -> int:
    """Ogg's checksum: zlib's polynomial with the bits in reverse order and without inversions."""
    reversed_crc = zlib.crc32(data.translate(REVERSED_BITS), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int.from_bytes(reversed_crc.to_bytes(4, "little").translate(REVERSED_BITS), "big")
