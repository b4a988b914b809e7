"""The audio encoders of libav, fed with arrays and giving back packets."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import av
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.audio.formats import OutputFormat
    from svc.audio.writer import Int16


class LibavEncoder:
    """One mono encoder: takes any number of samples and cuts them into the codec's own frames."""

    def __init__(self, codec: str, output_format: OutputFormat, options: Mapping[str, str] | None = None) -> None:
        context = av.CodecContext.create(codec, "w")
        assert isinstance(context, av.AudioCodecContext)
        context.sample_rate = output_format.sample_rate
        if output_format.bit_rate is not None:
            context.bit_rate = output_format.bit_rate
        context.layout = "mono"
        # Planar ("s16p") or interleaved ("s16"): the same with one channel, but codecs know only one of them.
        context.format = next(known for known in context.codec.audio_formats or () if "s16" in known.name)
        context.options = dict(options or {})
        context.open()
        self._context = context
        self._samples = 0

    @property
    def frame_size(self) -> int:
        """Samples in one packet; 0 where a packet may hold any number."""
        return self._context.frame_size

    @property
    def extradata(self) -> bytes:
        """What a decoder must know before the first packet."""
        return self._context.extradata or b""

    def encode(self, samples: Int16) -> list[bytes]:
        """The packets that these samples complete."""
        if not len(samples):
            return []
        frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format=self._context.format.name, layout="mono")
        frame.sample_rate = self._context.sample_rate
        frame.time_base = Fraction(1, self._context.sample_rate)
        frame.pts = self._samples
        self._samples += len(samples)
        return [bytes(packet) for packet in self._context.encode(frame)]

    def finish(self) -> list[bytes]:
        """The packets still inside: the codec's look-ahead and the last, shorter frame."""
        # A file without a packet is none: an empty clip gets a frame of silence, which its length then hides.
        silence = [] if self._samples else self.encode(np.zeros(self.frame_size, dtype=np.int16))
        return silence + [bytes(packet) for packet in self._context.encode(None)]
