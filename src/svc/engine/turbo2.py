"""svc-turbo 2: networks of our own from phonemes to samples (training/acoustic), without recurrent layers.

Only the prosody of a sentence needs all of it. Everything else is rendered in windows, which make exactly the samples
of the whole sentence: the first is short, so that playback starts soon, and each is a bounded piece of work.
"""

import logging
from collections.abc import Iterator

from svc.engine.networks import OnnxNetworks
from svc.engine.phonemes import MAX_PHONEMES, SAMPLE_RATE
from svc.engine.protocol import Chunk, Utterance, warm_up
from svc.engine.rendering import begin, render
from svc.engine.runtime import Device, Runtime
from svc.engine.windows import split_into_steps
from svc.errors import EngineUnavailable
from svc.memory import trim_malloc

log = logging.getLogger(__name__)


class Turbo2Engine:
    name = "turbo2"
    sample_rate = SAMPLE_RATE
    max_phonemes = MAX_PHONEMES
    fingerprint = ""

    def __init__(self, threads: int, device: Device = "cpu") -> None:
        self._runtime = Runtime(threads, device)

    def load(self) -> None:
        if self._runtime.device != "cpu":
            raise EngineUnavailable("SVC_ENGINE=turbo2 runs on the CPU only. Set SVC_DEVICE=cpu or SVC_ENGINE=turbo.")
        if not self._runtime.has_fast_int8:
            log.warning("this processor saturates sums of int8 products (it has no VNNI): speech may sound worse")
        self._networks = OnnxNetworks(self._runtime)
        self.fingerprint = self._networks.fingerprint
        warm_up(self)
        trim_malloc()  # loading needs more memory than synthesis

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        (sentence,) = begin(self._networks, [utterance])
        for window in split_into_steps(utterance.phonemes, sentence.phonemes.starts):
            (samples,) = render(self._networks, [(sentence, window.start // 2, window.end // 2)])
            yield Chunk(samples, sentence.phonemes.timings(window.first, window.last))
