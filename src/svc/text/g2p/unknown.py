"""English words that no lexicon has: a small net that reads letters."""

from itertools import pairwise

import numpy as np
import onnxruntime

from svc.text.g2p.assets import asset, load_json


class LetterNet:
    """Letters to phonemes by a character transformer; its output marks each sound once (as CTC does)."""

    def __init__(self, british: bool) -> None:
        name = "oov_gb" if british else "oov"
        table = load_json(f"{name}.json")
        self._letters = {letter: number for number, letter in enumerate(table["in"], 1)}
        self._sounds = ["", *table["out"]]
        self._longest: int = table["maxlen"]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(asset(f"{name}.onnx")), options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, word: str) -> str:
        numbers = [self._letters[letter] for letter in word if letter in self._letters][: self._longest]
        if not numbers:
            return ""
        (found,) = self._session.run(None, {"chars": np.asarray([numbers], np.int64)})
        path = [0, *found[0].tolist()]
        return "".join(self._sounds[now] for before, now in pairwise(path) if now != before)
