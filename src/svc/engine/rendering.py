"""From utterances to audio with svc-turbo's networks, window by window, for several sentences at once.

Frames are 25 ms long; pitch, energy and features have two values for each ("half frames").
"""

from collections.abc import Callable, Sequence

import numpy as np

from svc.engine.networks import Feed, Networks
from svc.engine.phonemes import tokenize, vary_prosody
from svc.engine.protocol import TIMBRE_PHONEMES, Array, Samples, Utterance
from svc.engine.sentence import Sentence

_Step = tuple[str, Callable[[Sentence, int], Feed | None], Callable[[Sentence, Sequence[Array]], None]]
_STEPS: tuple[_Step, ...] = (
    ("curves", Sentence.feed_curves, Sentence.store_curves),
    ("text", Sentence.feed_text, Sentence.store_text),
    ("decoder", Sentence.feed_decoder, Sentence.store_decoder),
    ("head", Sentence.feed_head, Sentence.store_head),
)


def begin(networks: Networks, utterances: Sequence[Utterance]) -> list[Sentence]:
    """Predicts the prosody of each utterance, as far as that needs the whole of it."""
    ids = [tokenize(utterance) for utterance in utterances]
    prosodies = networks.run(
        "prosody",
        [
            {
                "ids": each,
                "style": vary_prosody(utterance.choose_style()[:, 128:], utterance.delivery),
                "speed": np.array([utterance.delivery.speed], dtype=np.float32),
            }
            for each, utterance in zip(ids, utterances, strict=True)
        ],
    )
    sentences = [Sentence(*each) for each in zip(utterances, ids, prosodies, strict=True)]
    conditions = networks.run(
        "conditioning",
        [
            {
                "timbre": utterance.choose_style(TIMBRE_PHONEMES)[:, None, :128] + utterance.layer_offsets,
                "summary": sentence.summary,
                "vocoder_embedding": utterance.vocoder_embedding[None],
            }
            for utterance, sentence in zip(utterances, sentences, strict=True)
        ],
    )
    for sentence, outputs in zip(sentences, conditions, strict=True):
        sentence.condition(outputs)
    return sentences


def render(networks: Networks, windows: Sequence[tuple[Sentence, int, int]]) -> list[Samples]:
    """The audio of the frames `start:end` of each sentence; windows of one sentence come in order."""
    for graph, feed, store in _STEPS:
        wanted = [(sentence, each) for sentence, _, end in windows if (each := feed(sentence, end)) is not None]
        for (sentence, _), outputs in zip(wanted, networks.run(graph, [each for _, each in wanted]), strict=True):
            store(sentence, outputs)
    return [sentence.take(start, end) for sentence, start, end in windows]
