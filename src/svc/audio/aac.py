"""AAC in ADTS: a sequence of frames, each with a header of its own, so that it can be streamed and joined."""

from svc.audio.containers import LibavEncoder
from svc.audio.formats import OutputFormat
from svc.audio.pcm import Int16, Writer

_HEADER_BYTES = 7
_SAMPLE_RATES = (96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000)
_LOW_COMPLEXITY = 1  # the profile: MPEG-4's object type less one
_MONO = 1
_SYNC_WITHOUT_CHECKSUM = 0xFFF1
_VARIABLE_RATE = 0x7FF  # in place of the fill of the decoder's buffer


class AdtsWriter(Writer):
    """The encoder's look-ahead, a frame of 1024 samples, is heard as silence at the start: ADTS cannot declare it."""

    def __init__(self, output_format: OutputFormat) -> None:
        self._encoder = LibavEncoder("aac", output_format)
        self._rate_index = _SAMPLE_RATES.index(output_format.sample_rate)

    def write(self, samples: Int16) -> bytes:
        return self._frame(self._encoder.encode(samples))

    def finish(self) -> bytes:
        return self._frame(self._encoder.finish())

    def _frame(self, packets: list[bytes]) -> bytes:
        return b"".join(self._header(len(packet)) + packet for packet in packets)

    def _header(self, packet_bytes: int) -> bytes:
        """Of the fixed part: sync 16, profile 2, rate 4, private 1, channels 3, four flags that are not set.

        Of the variable part: length 13, fullness 11, further frames 2.
        """
        bits = _SYNC_WITHOUT_CHECKSUM
        fields = ((2, _LOW_COMPLEXITY), (4, self._rate_index), (1, 0), (3, _MONO), (4, 0))
        for width, value in (*fields, (13, _HEADER_BYTES + packet_bytes), (11, _VARIABLE_RATE), (2, 0)):
            bits = bits << width | value
        return bits.to_bytes(_HEADER_BYTES, "big")
