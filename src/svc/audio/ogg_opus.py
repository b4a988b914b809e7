"""Opus in Ogg, paged so that a stream never waits for a full page."""

from __future__ import annotations

import secrets
import struct
import zlib
from typing import TYPE_CHECKING

from svc.audio.libav import LibavEncoder
from svc.audio.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc.audio.formats import OutputFormat
    from svc.audio.writer import Int16

PAGE_HEADER = struct.Struct("<4sBBqIIIB")
CHECKSUM = slice(22, 26)
FIRST_PAGE, LAST_PAGE = 0x02, 0x04
PACKETS_PER_PAGE = 50  # one second; at 192 kbit/s a packet takes two of a page's 255 segments
PRE_SKIP = struct.Struct("<10xH")  # where the identification header says how many samples to drop in front
COMMENT_HEADER = struct.pack("<8sI3sI", b"OpusTags", 3, b"svc", 0)
MIRRORED_BYTES = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))

# A constant bit rate, because the caller asked for one: left alone, speech strays from it by 15 %.
OPUS_OPTIONS = {"vbr": "off"}


class OggOpusWriter(Writer):
    """Packets of 20 ms; whatever one call completes goes out at once, in as few pages as hold it."""

    def __init__(self, output_format: OutputFormat) -> None:
        self._encoder = LibavEncoder("libopus", output_format, OPUS_OPTIONS)
        (self._pre_skip,) = PRE_SKIP.unpack_from(self._encoder.extradata)
        self._serial = secrets.randbits(32)  # two clips in one file must differ in it
        self._pages = 0
        self._packets = 0
        self._samples = 0

    def header(self) -> bytes:
        return self._page([self._encoder.extradata], 0, FIRST_PAGE) + self._page([COMMENT_HEADER], 0)

    def write(self, samples: Int16) -> bytes:
        self._samples += len(samples)
        return b"".join(self._audio_page(packets) for packets in pagefuls(self._encoder.encode(samples)))

    def finish(self) -> bytes:
        # The last page's position stops short of its packets: that is how a player knows what is padding.
        return self._page(self._encoder.finish(), self._pre_skip + self._samples, LAST_PAGE)

    def _audio_page(self, packets: list[bytes]) -> bytes:
        self._packets += len(packets)
        return self._page(packets, self._packets * self._encoder.frame_size)

    def _page(self, packets: list[bytes], position: int, flags: int = 0) -> bytes:
        segments = b"".join(b"\xff" * (len(packet) // 255) + bytes([len(packet) % 255]) for packet in packets)
        header = PAGE_HEADER.pack(b"OggS", 0, flags, position, self._serial, self._pages, 0, len(segments))
        self._pages += 1
        page = bytearray(header + segments + b"".join(packets))
        page[CHECKSUM] = crc32(page).to_bytes(4, "little")
        return bytes(page)


def pagefuls(packets: list[bytes]) -> Iterator[list[bytes]]:
    """The packets in groups that fit a page."""
    for start in range(0, len(packets), PACKETS_PER_PAGE):
        yield packets[start : start + PACKETS_PER_PAGE]


def crc32(data: bytes | bytearray) -> int:
    """Ogg's check sum: zlib's polynomial, run over the bits in the other order and without inversions."""
    mirrored = zlib.crc32(data.translate(MIRRORED_BYTES), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int.from_bytes(mirrored.to_bytes(4, "little").translate(MIRRORED_BYTES), "big")
