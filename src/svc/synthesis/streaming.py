"""Synthesis of text that is still being written, as sockets send it."""

from collections.abc import Iterable, Sequence

from svc.audio.formats import OutputFormat
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import AudioPart, Parts, SynthesisRequest
from svc.text.phrase import Phrase


class StreamingSynthesis:
    """Takes text in pieces of any length and speaks it phrase by phrase.

    The samples do not depend on how the text was cut into pieces, only on where it was flushed.
    """

    def __init__(
        self, pipeline: Pipeline, request: SynthesisRequest, output_format: OutputFormat, schedule: Sequence[int]
    ) -> None:
        """The request says how to speak; its own text is not read. For `schedule` see `svc.text.split.Splitter`."""
        self._frontend = pipeline.create_frontend(request, schedule)
        self._synthesizer = pipeline.create_synthesizer(request)
        self._encoder = pipeline.create_encoder(output_format)
        self._held_back = AudioPart()  # characters whose audio is still in the encoder

    def feed(self, text: str, complete: bool = False, flush: bool = False) -> Parts:
        """Adds text and gives the audio of what no further text can change; with `flush`, of everything.

        `complete` says that the last sentence ends with this text. Every part has audio.
        """
        self._encoder.add_text(text)
        yield from self._synthesize(self._frontend.feed(text))
        if complete or flush:
            yield from self._synthesize(self._frontend.flush(pause=flush))

    def finish(self) -> Parts:
        """The audio that the encoder still held back."""
        yield from self._drop_silent(self._encoder.flush())

    def _synthesize(self, phrases: Iterable[Phrase]) -> Parts:
        for chunk in self._synthesizer.synthesize(phrases):
            yield from self._drop_silent(self._encoder.encode(chunk))

    def _drop_silent(self, part: AudioPart) -> Parts:
        """Nothing while there is no audio: the characters go out with the next part that has some."""
        part = AudioPart.join([self._held_back, part])
        self._held_back = AudioPart() if part.audio else part
        if part.audio:
            yield part
