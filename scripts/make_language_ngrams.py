"""Writes the n-grams by which svc tells languages of one script apart into src/svc/data/language-ngrams.npz.

    python scripts/make_language_ngrams.py

They are those of py3langid, a naive Bayes classifier of 142 languages, as far as they tell the languages of svc in
Latin and Cyrillic letters apart. Its own file takes most of a second to load, and 80 MB of memory.
"""

from collections import deque
from pathlib import Path

import numpy as np
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from svc.text.language import Language, Script

TARGET = Path(__file__).parent.parent / "src/svc/data/language-ngrams.npz"
STEP = 0.06
"""Of the rounded logarithms, which are kept as bytes."""
LEAST_SPREAD = 1.0
"""How much the logarithms of an n-gram differ at least between the languages that are kept."""


def main() -> None:
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    found = {label: Language.parse(label) for label in identifier.labels}
    kept = [
        label for label, language in found.items() if language and language.script in (Script.LATIN, Script.CYRILLIC)
    ]
    columns = [identifier.nb_classes.index(label) for label in kept]
    logarithms = np.asarray(identifier.nb_ptc[:, columns], dtype=np.float32)
    floor = logarithms.min(axis=0)
    gains = np.rint((logarithms - floor) / STEP).clip(0, 255).astype(np.uint8)
    spread = gains.max(axis=1) >= LEAST_SPREAD / STEP
    ngrams, rows = [], []
    for ngram, feature in sorted(_list_ngrams(identifier).items()):
        if feature >= 0 and spread[feature]:
            ngrams.append(ngram)
            rows.append(gains[feature])
    np.savez_compressed(
        TARGET,
        # A byte that no UTF-8 text has separates them.
        ngrams=np.frombuffer(b"\xff".join(ngrams), dtype=np.uint8),
        gains=np.stack(rows),
        step=np.float32(STEP),
        floor=floor,
        prior=np.asarray(identifier.nb_pc[columns], dtype=np.float32),
        languages=np.array(kept),
    )
    print(f"{len(ngrams)} n-grams of {len(kept)} languages, {TARGET.stat().st_size / 1e3:.0f} kB")


def _list_ngrams(identifier: LanguageIdentifier) -> dict[bytes, int]:
    """The n-gram of each state of its automaton, and its feature: the shortest way to a state is what it has read."""
    ngrams = {0: b""}
    waiting = deque([0])
    while waiting:
        state = waiting.popleft()
        first = identifier._rowbase[state]
        for byte, after in enumerate(identifier.tk_nextmove[first : first + 256]):
            if after not in ngrams:
                ngrams[after] = ngrams[state] + bytes([byte])
                waiting.append(after)
    return {ngram: identifier.tk_output[state] for state, ngram in ngrams.items() if ngram}


if __name__ == "__main__":
    main()
