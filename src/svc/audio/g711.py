"""Telephone audio: eight bits a sample on a logarithmic scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.audio.formats import Codec
from svc.audio.libav import LibavEncoder
from svc.audio.writer import Writer

if TYPE_CHECKING:
    from svc.audio.formats import OutputFormat
    from svc.audio.writer import Int16

LIBAV_NAMES = {Codec.ULAW: "pcm_mulaw", Codec.ALAW: "pcm_alaw"}


class G711Writer(Writer):
    """µ-law or A-law bytes without a header, as telephone gateways take them."""

    def __init__(self, output_format: OutputFormat) -> None:
        self._encoder = LibavEncoder(LIBAV_NAMES[output_format.codec], output_format)

    def write(self, samples: Int16) -> bytes:
        return b"".join(self._encoder.encode(samples))

    def finish(self) -> bytes:
        return b"".join(self._encoder.finish())
