"""From the engine's float samples to the bytes that the caller asked for, chunk by chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from svc.audio.containers import G711Writer, Mp3Writer, OggOpusWriter
from svc.audio.formats import Codec
from svc.audio.pcm import PcmWriter, WavWriter, to_int16
from svc.audio.resample import Resampler

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.audio.formats import OutputFormat
    from svc.audio.pcm import Float32, Writer

WRITERS: dict[Codec, Callable[[OutputFormat], Writer]] = {
    Codec.MP3: Mp3Writer,
    Codec.PCM: PcmWriter,
    Codec.ULAW: G711Writer,
    Codec.ALAW: G711Writer,
    Codec.OPUS: OggOpusWriter,
    Codec.WAV: WavWriter,
}


def create(output_format: OutputFormat, source_rate: int) -> Encoder:
    """An encoder for mono float samples at `source_rate`."""
    writer = WRITERS[output_format.codec](output_format)
    return Encoder(Resampler(source_rate, output_format.sample_rate), writer)


class Encoder:
    """Resamples, rounds to int16 once, and writes: `encode` each chunk, then `flush`.

    The bytes joined are a playable stream. A caller who has the whole clip in hand lets `seal` complete it:
    only then is the length known that WAV and MP3 headers tell.
    """

    def __init__(self, resampler: Resampler, writer: Writer) -> None:
        self._stages: tuple[Resampler, Writer] | None = (resampler, writer)
        self._header = writer.header()

    def encode(self, samples: Float32) -> bytes:
        """All bytes that these samples complete; often none for a short chunk."""
        return self._encode(samples, last=False)

    def flush(self) -> bytes:
        """Everything still held back. Nothing can be encoded afterwards."""
        return self._encode(np.empty(0, dtype=np.float32), last=True)

    def seal(self, clip: bytes) -> bytes:
        """The joined output of `encode` and `flush` as a finished file, exact in its length."""
        _, writer = self._open_stages()
        return writer.seal(clip)

    def close(self) -> None:
        """Frees the native codec and resampler at once, also when the speech was abandoned half-way."""
        self._stages = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _encode(self, samples: Float32, *, last: bool) -> bytes:
        resampler, writer = self._open_stages()
        audio = writer.write(to_int16(resampler.feed(np.ascontiguousarray(samples, dtype=np.float32), last=last)))
        if last:
            audio += writer.finish()
        # The header travels with the first sound: a stream that fails before it has then sent nothing yet.
        if audio or last:
            audio, self._header = self._header + audio, b""
        return audio

    def _open_stages(self) -> tuple[Resampler, Writer]:
        if self._stages is None:
            raise ValueError("the encoder is closed")
        return self._stages
