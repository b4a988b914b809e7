"""From an utterance to audio with svc-turbo's networks, window by window.

Frames are 25 ms long; pitch, energy and features have two values for each ("half frames").
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor

import numpy as np

from svc.engine.networks import Feed, Networks
from svc.engine.phonemes import tokenize, vary_prosody
from svc.engine.protocol import TIMBRE_PHONEMES, Array, Utterance
from svc.engine.sentence import Sentence

_Step = tuple[str, Callable[[Sentence, int], Feed | None], Callable[[Sentence, Sequence[Array]], None]]
_CURVES: _Step = ("curves", Sentence.feed_curves, Sentence.store_curves)
_TEXT: _Step = ("text", Sentence.feed_text, Sentence.store_text)
_DECODER: _Step = ("decoder", Sentence.feed_decoder, Sentence.store_decoder)
_HEAD: _Step = ("head", Sentence.feed_head, Sentence.store_head)


def begin(networks: Networks, utterance: Utterance) -> Sentence:
    """Predicts the prosody, as far as that needs the whole utterance."""
    ids = tokenize(utterance)
    prosody = networks.run(
        "prosody",
        {
            "ids": ids,
            "style": vary_prosody(utterance.choose_style()[:, 128:], utterance.delivery),
            "speed": np.array([utterance.delivery.speed], dtype=np.float32),
        },
    )
    sentence = Sentence(utterance, ids, prosody)
    sentence.condition(
        networks.run(
            "conditioning",
            {
                "timbre": utterance.choose_style(TIMBRE_PHONEMES)[:, None, :128] + utterance.layer_offsets,
                "summary": sentence.summary,
                "vocoder_embedding": utterance.vocoder_embedding[None],
            },
        )
    )
    return sentence


def render(networks: Networks, sentence: Sentence, end: int) -> None:
    """Renders the audio before the frame `end`, as far as that is not done."""
    for step in (_CURVES, _TEXT, _DECODER, _HEAD):
        _store(step, sentence, _run(networks, step, sentence, end))


def render_beside(networks: Networks, sentence: Sentence, end: int, next_end: int, pool: Executor) -> None:
    """The same; beside the head, the other networks already work on what comes before `next_end`.

    Many of a network's operations are too small for two threads, and would leave the second core idle.
    """
    for step in (_CURVES, _TEXT, _DECODER):
        _store(step, sentence, _run(networks, step, sentence, end))
    head = pool.submit(_run, networks, _HEAD, sentence, end)
    for step in (_CURVES, _TEXT):
        _store(step, sentence, _run(networks, step, sentence, next_end))
    features = _run(networks, _DECODER, sentence, next_end)
    _store(_HEAD, sentence, head.result())  # drops the features that it was given, before there are more
    _store(_DECODER, sentence, features)


def _run(networks: Networks, step: _Step, sentence: Sentence, end: int) -> Sequence[Array] | None:
    graph, feed, _ = step
    given = feed(sentence, end)
    return None if given is None else networks.run(graph, given)


def _store(step: _Step, sentence: Sentence, outputs: Sequence[Array] | None) -> None:
    *_, store = step
    if outputs is not None:
        store(sentence, outputs)
