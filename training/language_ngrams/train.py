"""Trains the n-grams by which svc tells languages of one script apart: logistic regression on short texts.

    python -m language_ngrams.train build/language_ngrams/packages ../src/svc/data/language-ngrams.npz

A training text is a few words in a row of prose or of a program's message, or little words and words of things in turn.
The features are those of svc/text/language_ngrams.py, which reads the table. Validation: bench/sentences, of which
none is trained on. Needs svc (pip install -e ..).
"""

import argparse
import math
import random
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from svc.text.language.languages import Language, Script
from svc.text.language.ngrams import LONGEST, count_ngrams, prepare

from language_ngrams.corpora import LANGUAGES, Texts, read

sys.path.insert(0, str(Path(__file__).parents[2]))
from bench import sentences

SHARES = {"prose": 0.15, "messages": 0.3, "words": 0.4, "everyday": 0.15}
"""Of the training texts, by where they come from."""
LOANS, ENGLISH_LOANS = 0.25, 0.5
"""Of the training texts: those with words of other languages, names and loans, which do not change the language."""
WORDS = (2, 9)
"""The length of a training text."""
FEWEST = 4
"""How many training texts have an n-gram at least."""
STEP = 0.05
"""Of the rounded weights, which are kept as bytes."""


def sample_text(texts: Texts, rng: random.Random) -> str:
    kind = rng.choices(list(SHARES), SHARES.values())[0]
    count = rng.randint(*WORDS)
    if kind == "words" or not (prose := getattr(texts, kind)):
        words: list[str] = []
        while len(words) < count:
            chosen = texts.little_words if rng.random() < 0.5 and texts.little_words else texts.things
            words += rng.choice(chosen).split()
        return " ".join(words)
    words = rng.choice(prose).split()
    first = rng.randrange(max(1, len(words) - count + 1))
    return " ".join(words[first : first + count])


def add_loans(text: str, language: str, sources: dict[str, Texts], rng: random.Random) -> str:
    if rng.random() >= (ENGLISH_LOANS if language == "en" else LOANS):
        return text
    words = text.split()
    for at in rng.sample(range(len(words)), rng.randint(1, max(1, len(words) // 2))):
        words[at] = rng.choice(rng.choice(list(sources.values())).things)
    return " ".join(words)


def choose_ngrams(texts: list[str], labels: list[int], size: int) -> list[str]:
    """Those that tell most about the language: the mutual information of having one and of the language."""
    having: dict[str, Counter[int]] = {}
    for text, label in zip(texts, labels, strict=True):
        for ngram in count_ngrams(text):
            having.setdefault(ngram, Counter())[label] += 1
    classes = len(set(labels))

    def measure(found: Counter[int]) -> float:
        total = sum(found.values())
        return sum(n * math.log(n * classes / total) for n in found.values()) if total >= FEWEST else 0.0

    gains = {ngram: measure(found) for ngram, found in having.items()}
    return sorted(sorted(gains, key=lambda ngram: -gains[ngram])[:size])


class Bags:
    """The n-grams of texts, as rows of the table with weights."""

    def __init__(self, texts: list[str], rows: dict[str, int]) -> None:
        self.rows, self.weights = [], []
        for text in texts:
            found = {rows[ngram]: count for ngram, count in count_ngrams(text).items() if ngram in rows}
            self.rows.append(np.fromiter(found, dtype=np.int32, count=len(found)))
            times = np.log1p(np.fromiter(found.values(), dtype=np.float32, count=len(found)))
            self.weights.append(times / np.float32(np.sqrt(max(1, len(text)))))

    def collate(self, chosen: list[int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        starts = np.cumsum([0, *(len(self.rows[i]) for i in chosen)][:-1])
        return (
            torch.from_numpy(np.concatenate([self.rows[i] for i in chosen])),
            torch.from_numpy(starts),
            torch.from_numpy(np.concatenate([self.weights[i] for i in chosen])),
        )


def train(bags: Bags, labels: torch.Tensor, size: int, classes: int, epochs: int, decay: float) -> torch.Tensor:
    table = torch.zeros(size, classes, requires_grad=True)
    optimizer = torch.optim.Adam([table], lr=0.3)
    order, batch = list(range(len(labels))), 2048
    steps = epochs * (len(order) // batch)
    step = 0
    for epoch in range(epochs):
        random.Random(epoch).shuffle(order)
        total = 0.0
        for first in range(0, len(order) - batch + 1, batch):
            some = order[first : first + batch]
            rows, starts, weights = bags.collate(some)
            scores = F.embedding_bag(rows, table, starts, mode="sum", per_sample_weights=weights)
            loss = F.cross_entropy(scores, labels[some], label_smoothing=0.01)
            optimizer.param_groups[0]["lr"] = 0.3 * (1 - step / steps)
            optimizer.zero_grad()
            (loss + decay * table.square().sum()).backward()
            optimizer.step()
            step, total = step + 1, total + float(loss.detach())
        print(f"epoch {epoch}: loss {total / (len(order) // batch):.4f}", flush=True)
    return table.detach()


def validate(table: np.ndarray, rows: dict[str, int], languages: list[str]) -> None:
    """Errors on the sentences of the benchmarks, whole and in their first four words, among languages of one script."""
    scripts = {code: Language.parse(code).script for code in languages}
    for words in (None, 4):
        wrong, total = Counter[str](), 0
        for code in languages:
            name = {"en": "en", "pt": "pt-br", "nn": ""}.get(code, code)
            if not name:
                continue
            lists = [name, f"studied/{name}"]
            for sentence in [each for each in lists if sentences.exist(each)]:
                for each in sentences.read(sentence):
                    text = prepare(" ".join(each.text.split()[:words]))
                    ngrams = {rows[g]: n for g, n in count_ngrams(text).items() if g in rows}
                    scores = np.log1p(np.array(list(ngrams.values()))) @ table[list(ngrams)]
                    best = max(
                        (i for i, c in enumerate(languages) if scripts[c] is scripts[code]), key=lambda i: scores[i]
                    )
                    total += 1
                    if languages[best].replace("nn", "no") != code:
                        wrong[f"{code}→{languages[best]}"] += 1
        print(f"{words or 'all'} words: {total - sum(wrong.values())} of {total} right;", dict(wrong.most_common(20)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--size", type=int, default=50_000, help="n-grams")
    parser.add_argument("--samples", type=int, default=10_000, help="texts of each language")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--decay", type=float, default=1e-6)
    args = parser.parse_args()
    languages = list(LANGUAGES)
    assert {Language.parse(code) for code in languages} >= {
        each for each in Language if each is each.base and each.script in (Script.LATIN, Script.CYRILLIC)
    } - {Language.ENGLISH_GB}
    rng = random.Random(1)
    sources = {code: read(args.packages, code) for code in languages}
    texts, labels = [], []
    for label, code in enumerate(languages):
        texts += [add_loans(sample_text(sources[code], rng), code, sources, rng) for _ in range(args.samples)]
        labels += [label] * args.samples
    texts = [prepare(text) for text in texts]
    ngrams = choose_ngrams(texts, labels, args.size)
    rows = {ngram: row for row, ngram in enumerate(ngrams)}
    print(f"{len(labels)} texts, {len(ngrams)} n-grams", flush=True)
    table = train(Bags(texts, rows), torch.tensor(labels), len(ngrams), len(languages), args.epochs, args.decay)
    gains = np.rint(table.numpy() / STEP).clip(-128, 127).astype(np.int8)
    validate(gains * STEP, rows, languages)
    np.savez_compressed(
        args.output,
        # A character that no n-gram has separates them.
        ngrams=np.frombuffer("\n".join(ngrams).encode(), dtype=np.uint8),
        gains=gains,
        step=np.float32(STEP),
        languages=np.array(languages),
    )
    print(f"longest {LONGEST}, {args.output.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
