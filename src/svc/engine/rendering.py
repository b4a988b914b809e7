"""From utterances to audio with svc-turbo's networks, window by window, for several sentences at once.

Frames are 25 ms long; pitch, energy and features have two values for each ("half frames").
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor

import numpy as np

from svc.engine.networks import Feed, Networks
from svc.engine.phonemes import tokenize, vary_prosody
from svc.engine.protocol import TIMBRE_PHONEMES, Array, Samples, Utterance
from svc.engine.sentence import Sentence

Window = tuple[Sentence, int, int]
"""Of a sentence, the frames from the first of these numbers up to the second."""

_Step = tuple[str, Callable[[Sentence, int], Feed | None], Callable[[Sentence, Sequence[Array]], None]]
_Made = tuple[Sentence, Sequence[Array]]
_CURVES: _Step = ("curves", Sentence.feed_curves, Sentence.store_curves)
_TEXT: _Step = ("text", Sentence.feed_text, Sentence.store_text)
_DECODER: _Step = ("decoder", Sentence.feed_decoder, Sentence.store_decoder)
_HEAD: _Step = ("head", Sentence.feed_head, Sentence.store_head)


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


def render(networks: Networks, windows: Sequence[Window]) -> list[Samples]:
    """The audio of each window; those of one sentence come in order."""
    for step in (_CURVES, _TEXT, _DECODER, _HEAD):
        _store(step, _run(networks, step, windows))
    return [sentence.take(start, end) for sentence, start, end in windows]


def render_beside(networks: Networks, window: Window, following: Window, pool: Executor) -> Samples:
    """The audio of the window; beside the head, the other networks already work on the window that follows.

    Many of a network's operations are too small for two threads, and would leave the second core idle.
    """
    for step in (_CURVES, _TEXT, _DECODER):
        _store(step, _run(networks, step, [window]))
    head = pool.submit(_run, networks, _HEAD, [window])
    for step in (_CURVES, _TEXT):
        _store(step, _run(networks, step, [following]))
    features = _run(networks, _DECODER, [following])
    _store(_HEAD, head.result())  # drops the features that it was given, before there are more
    _store(_DECODER, features)
    sentence, start, end = window
    return sentence.take(start, end)


def _run(networks: Networks, step: _Step, windows: Sequence[Window]) -> list[_Made]:
    graph, feed, _ = step
    wanted = [(sentence, each) for sentence, _, end in windows if (each := feed(sentence, end)) is not None]
    outputs = networks.run(graph, [each for _, each in wanted])
    return [(sentence, each) for (sentence, _), each in zip(wanted, outputs, strict=True)]


def _store(step: _Step, made: Sequence[_Made]) -> None:
    *_, store = step
    for sentence, outputs in made:
        store(sentence, outputs)
