"""svc-turbo 2: networks of our own from phonemes to samples (training/acoustic), without recurrent layers.

Only the prosody of a sentence needs all of it. Everything else is rendered in windows, which make exactly the samples
of the whole sentence: the first is short, so that playback starts soon, and each is a bounded piece of work.
"""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from svc.engine.batcher import MOST_AT_ONCE, Batcher
from svc.engine.batches import choose_length, load_batched_networks
from svc.engine.networks import OnnxNetworks
from svc.engine.phonemes import MAX_PHONEMES, SAMPLE_RATE
from svc.engine.protocol import Chunk, Samples, Utterance, warm_up
from svc.engine.rendering import Window, begin, render, render_beside
from svc.engine.runtime import Device, Runtime
from svc.engine.sentence import Sentence
from svc.engine.windows import LONGEST_STEP, split_into_steps
from svc.memory import trim_malloc

log = logging.getLogger(__name__)

_LONGEST_BATCHED_STEP = 192  # frames of 12.5 ms: a GPU is fast, and what a window costs beside it counts


class TurboEngine:
    name = "turbo"
    sample_rate = SAMPLE_RATE
    max_phonemes = MAX_PHONEMES
    fingerprint = ""

    def __init__(self, threads: int, device: Device = "cpu", *, batches: bool | None = None) -> None:
        """`batches`: what threads synthesize at the same time is computed as one; by default on a GPU only."""
        self._runtime = Runtime(threads, device)
        self._batches = device == "cuda" if batches is None else batches
        self._render_beside: Callable[[Window, Window], Samples] | None = None
        self._longest_step = _LONGEST_BATCHED_STEP if self._batches else LONGEST_STEP

    def load(self) -> None:
        if self._batches:
            self._open_batches()
        else:
            self._open()
        warm_up(self)
        trim_malloc()  # loading needs more memory than synthesis

    def _open(self) -> None:
        if not self._runtime.has_fast_int8:
            log.warning("this processor saturates sums of int8 products (it has no VNNI): speech may sound worse")
        networks = OnnxNetworks(self._runtime)
        self.fingerprint = networks.fingerprint
        self._begin: Callable[[Utterance], Sentence] = lambda utterance: begin(networks, [utterance])[0]
        self._render: Callable[[Window], Samples] = lambda window: render(networks, [window])[0]
        if self._runtime.threads > 1:
            self._render_beside = partial(render_beside, networks, pool=ThreadPoolExecutor(thread_name_prefix="head"))

    def _open_batches(self) -> None:
        networks, self.fingerprint = load_batched_networks(self._runtime)
        self._begin = Batcher(partial(begin, networks), _measure_utterance, most=MOST_AT_ONCE, threads=1)
        self._render = Batcher(partial(render, networks), _measure_window, most=MOST_AT_ONCE, threads=2)

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        sentence = self._begin(utterance)
        steps = list(split_into_steps(utterance.phonemes, sentence.phonemes.starts, self._longest_step))
        windows: list[Window] = [(sentence, step.start // 2, step.end // 2) for step in steps]
        for i, (step, window) in enumerate(zip(steps, windows, strict=True)):
            # The first is waited for, so nothing is done beside it.
            if self._render_beside and 0 < i < len(windows) - 1:
                samples = self._render_beside(window, windows[i + 1])
            else:
                samples = self._render(window)
            yield Chunk(samples, sentence.phonemes.timings(step.first, step.last))


def _measure_utterance(utterance: Utterance) -> int:
    return choose_length(len(utterance.before + utterance.phonemes + utterance.after))


def _measure_window(window: Window) -> int:
    _, start, end = window
    return choose_length(end - start)
