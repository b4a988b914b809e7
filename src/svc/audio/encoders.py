"""Encoding the engine's float samples into an output format, chunk by chunk."""

from collections.abc import Callable
from typing import Self

import numpy as np

from svc.audio.aac import AdtsWriter
from svc.audio.containers import G711Writer, Mp3Writer, OggOpusWriter
from svc.audio.flac import FlacWriter
from svc.audio.formats import Codec, OutputFormat
from svc.audio.pcm import PcmWriter, WavWriter, Writer, to_int16
from svc.audio.resample import Resampler
from svc.audio.samples import Samples

WRITERS: dict[Codec, Callable[[OutputFormat], Writer]] = {
    Codec.MP3: Mp3Writer,
    Codec.PCM: PcmWriter,
    Codec.ULAW: G711Writer,
    Codec.ALAW: G711Writer,
    Codec.OPUS: OggOpusWriter,
    Codec.WAV: WavWriter,
    Codec.AAC: AdtsWriter,
    Codec.FLAC: FlacWriter,
}


class Encoder:
    """Resamples, rounds to int16 once, and writes: `encode` each chunk, then `flush`.

    The concatenated bytes are a playable stream. For a whole clip, `seal` puts the exact length into the headers of
    WAV, MP3 and FLAC.
    """

    def __init__(self, resampler: Resampler, writer: Writer) -> None:
        self._stages: tuple[Resampler, Writer] | None = (resampler, writer)
        self._header = writer.header()

    def encode(self, samples: Samples) -> bytes:
        """The bytes that these samples complete; often none for a short chunk."""
        return self._encode(samples, last=False)

    def flush(self) -> bytes:
        """The bytes still held back. Nothing can be encoded afterwards."""
        return self._encode(np.empty(0, dtype=np.float32), last=True)

    def seal(self, beginning: bytes, length: int) -> bytes:
        """The beginning of a finished file: `encode` and `flush` gave so many bytes, of which these are the first."""
        _, writer = self._require_open()
        return writer.seal(beginning, length)

    def close(self) -> None:
        """Frees the native codec and resampler at once, also in the middle of a stream."""
        self._stages = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _encode(self, samples: Samples, *, last: bool) -> bytes:
        resampler, writer = self._require_open()
        audio = writer.write(to_int16(resampler.feed(np.ascontiguousarray(samples, dtype=np.float32), last=last)))
        if last:
            audio += writer.finish()
        # The header goes out with the first audio: a stream that fails before that has sent nothing yet.
        if audio or last:
            audio, self._header = self._header + audio, b""
        return audio

    def _require_open(self) -> tuple[Resampler, Writer]:
        if self._stages is None:
            raise ValueError("the encoder is closed")
        return self._stages


def create(output_format: OutputFormat, source_rate: int) -> Encoder:
    """An encoder for mono float samples at `source_rate`."""
    writer = WRITERS[output_format.codec](output_format)
    return Encoder(Resampler(source_rate, output_format.sample_rate), writer)
