"""svc-turbo: networks of our own from phonemes to samples (training/acoustic), without recurrent layers.

On a CPU, only the prosody of a sentence needs all of it. Everything else is rendered in windows, which make exactly the
samples of the whole sentence: the first is short, so that playback starts soon, and each is a bounded piece of work. A
GPU speaks many whole sentences at once, sooner than a CPU renders the first window of one.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from svc.engine.batcher import Batcher
from svc.engine.batches import count_at_once, load_batched_networks, measure
from svc.engine.networks import OnnxNetworks
from svc.engine.phonemes import MAX_PHONEMES, SAMPLE_RATE
from svc.engine.protocol import Chunk, Utterance, warm_up
from svc.engine.rendering import begin, render, render_beside
from svc.engine.runtime import Device, Runtime
from svc.engine.windows import split_into_steps
from svc.process.memory import trim_malloc

_LONGEST_CHUNK = 400  # frames of 12.5 ms: what is encoded and sent in one piece, of a sentence that is spoken at once


class TurboEngine:
    name = "turbo"
    sample_rate = SAMPLE_RATE
    max_phonemes = MAX_PHONEMES
    fingerprint = ""

    def __init__(self, threads: int, device: Device = "cpu", *, batches: bool | None = None) -> None:
        """`batches`: what threads synthesize at the same time is computed as one, in floats. By default on a GPU, and
        on a processor that saturates sums of int8 products."""
        self._runtime = Runtime(threads, device)
        self._batches = not self._runtime.has_fast_int8 if batches is None else batches

    def load(self) -> None:
        self._synthesize = self._open_batches() if self._batches else self._open()
        warm_up(self)
        trim_malloc()  # loading needs more memory than synthesis

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        return self._synthesize(utterance)

    def _open(self) -> Callable[[Utterance], Iterator[Chunk]]:
        networks = OnnxNetworks(self._runtime)
        self.fingerprint = networks.fingerprint
        pool = ThreadPoolExecutor(thread_name_prefix="head") if self._runtime.threads > 1 else None

        def synthesize(utterance: Utterance) -> Iterator[Chunk]:
            sentence = begin(networks, utterance)
            steps = list(split_into_steps(utterance.phonemes, sentence.phonemes.starts))
            for i, step in enumerate(steps):
                start, end = step.start // 2, step.end // 2
                # The first is waited for, so nothing is done beside it.
                if pool and 0 < i < len(steps) - 1:
                    render_beside(networks, sentence, end, steps[i + 1].end // 2, pool)
                else:
                    render(networks, sentence, end)
                yield Chunk(sentence.take(start, end), sentence.phonemes.timings(step.first, step.last))

        return synthesize

    def _open_batches(self) -> Callable[[Utterance], Iterator[Chunk]]:
        networks, self.fingerprint = load_batched_networks(self._runtime)
        speak = Batcher(networks.speak, measure, most=count_at_once, threads=2)

        def synthesize(utterance: Utterance) -> Iterator[Chunk]:
            speech = speak(utterance)
            for window in split_into_steps(utterance.phonemes, speech.phonemes.starts, _LONGEST_CHUNK, _LONGEST_CHUNK):
                yield Chunk(speech.take(window.start, window.end), speech.phonemes.timings(window.first, window.last))

        return synthesize
