"""FLAC: lossless, half the size of WAV."""

import hashlib

from svc.audio.containers import LibavEncoder
from svc.audio.formats import Codec, OutputFormat
from svc.audio.pcm import Int16, Writer, to_int16
from svc.audio.samples import Samples

_MARKER = b"fLaC"
_LAST_METADATA_BLOCK = 0x80
_STREAM_INFO_BYTES = 34
_HEADER_BYTES = len(_MARKER) + 4 + _STREAM_INFO_BYTES
# Parts of the stream info, whose values are zero while they are unknown.
_TOTAL_SAMPLES = slice(13, 18)  # its upper four bits belong to the sample size
_MD5 = slice(18, 34)


class FlacWriter(Writer):
    """Frames after a header without a length; `seal` adds the length and the checksum of the samples."""

    def __init__(self, output_format: OutputFormat) -> None:
        self._encoder = LibavEncoder("flac", output_format)
        self._info = self._encoder.extradata[
            :_STREAM_INFO_BYTES
        ]  # before the first frame: the encoder changes it later
        self._samples = 0
        self._md5 = hashlib.md5(usedforsecurity=False)

    def header(self) -> bytes:
        return self._header(self._info)

    def write(self, samples: Int16) -> bytes:
        self._samples += len(samples)
        self._md5.update(samples.astype("<i2").tobytes())
        return b"".join(self._encoder.encode(samples))

    def finish(self) -> bytes:
        # The encoder would add a frame of silence to an empty clip; this format does without frames.
        return b"".join(self._encoder.finish()) if self._samples else b""

    def seal(self, beginning: bytes, length: int) -> bytes:
        info = bytearray(self._info)
        info[_TOTAL_SAMPLES] = (int.from_bytes(info[_TOTAL_SAMPLES], "big") | self._samples).to_bytes(5, "big")
        info[_MD5] = self._md5.digest()
        return self._header(bytes(info)) + beginning[_HEADER_BYTES:]

    def _header(self, info: bytes) -> bytes:
        return _MARKER + bytes([_LAST_METADATA_BLOCK]) + len(info).to_bytes(3, "big") + info


def encode_flac(samples: Samples, sample_rate: int) -> bytes:
    """Mono samples as a file."""
    writer = FlacWriter(OutputFormat("flac", Codec.FLAC, sample_rate))
    content = writer.header() + writer.write(to_int16(samples)) + writer.finish()
    return writer.seal(content, len(content))
