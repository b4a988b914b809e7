"""Synthesis of text that is still being written, as sockets send it."""

from collections.abc import Iterable, Sequence

from svc.audio.formats import OutputFormat
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import AudioPart, Parts, SynthesisRequest
from svc.text.sentences.phrases import Phrase


class StreamingSynthesis:
    """Takes text in pieces of any length and speaks it phrase by phrase, turn after turn if it is a dialogue.

    The samples do not depend on how the text was cut into pieces, only on where it was flushed and where turns begin.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        output_format: OutputFormat,
        schedule: Sequence[int],
        align_all: bool = False,
    ) -> None:
        """For `schedule` see `svc.text.sentences.split.Splitter`.

        With `align_all`, silence waits for the characters after it.
        """
        self._pipeline = pipeline
        self._schedule = schedule
        self._align_all = align_all
        self._encoder = pipeline.create_encoder(output_format)
        self._turn: SynthesisRequest | None = None
        self._held_back: list[AudioPart] = []

    def feed(self, turn: SynthesisRequest, text: str, complete: bool = False, flush: bool = False) -> Parts:
        """Adds text and gives the audio of what no further text can change; with `flush`, of everything.

        `turn` says how to speak; its own text is not read. Another one than before begins a new turn: the text of the
        last one must have been `complete`, which says that its last sentence ended. A part without audio is the end of
        a step that only read.
        """
        if turn is not self._turn:
            self._begin(turn)
        self._encoder.add_text(text)
        yield from self._synthesize(self._frontend.feed(text))
        if complete or flush:
            yield from self._synthesize(self._frontend.flush(pause=flush))
            yield from self._release()

    def finish(self) -> Parts:
        """The audio that the encoder still held back."""
        self._held_back.append(self._encoder.flush())
        yield from self._release()

    def _begin(self, turn: SynthesisRequest) -> None:
        if self._turn:
            self._encoder.begin_turn(turn.pause_after(self._turn) if self._encoder.seconds else 0.0)
        self._turn = turn
        self._frontend = self._pipeline.create_frontend(turn, self._schedule)
        self._synthesizer = self._pipeline.create_synthesizer(turn, self._encoder.seconds)

    def _synthesize(self, phrases: Iterable[Phrase]) -> Parts:
        for chunk in self._synthesizer.synthesize(phrases):
            if not len(chunk.samples):
                yield AudioPart()
                continue
            self._held_back.append(self._encoder.encode(chunk))
            if self._held_back[-1].alignment.characters or not self._align_all:
                yield from self._release()

    def _release(self) -> Parts:
        """Nothing while there is no audio: the characters go out with the next part that has some."""
        part = AudioPart.join(self._held_back)
        if part.audio:
            self._held_back = []
            yield part
