"""How accurate and how fast are English phonemizers, svc's and others that are installed, on words in context?

It scores the tables of tests/text; no rule was made for the second one.
"""

import argparse
import json
import re
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from svc.text.g2p import Phonemizer
from svc.text.g2p.espeak_process import Espeak
from svc.text.language.languages import Language

TABLES = ("english_pronunciations.tsv", "english_pronunciations_held_out.tsv")
FOLDER = Path(__file__).parents[2] / "tests" / "text"
# Differences that are inaudible or a matter of notation.
FOLDED = str.maketrans({"ˌ": None, "ᵊ": "ə", "T": "t", "ɾ": "t", "ᵻ": "ɪ", "ː": None, " ": None})
# From the IPA of most libraries to the alphabet of the tables.
SPELLINGS = {
    "^": "", "aɪ": "I", "aʊ": "W", "d͡ʒ": "ʤ", "dʒ": "ʤ", "eɪ": "A", "t͡ʃ": "ʧ", "tʃ": "ʧ", "ɔɪ": "Y", "oʊ": "O",
    "ɜːɹ": "ɜɹ", "ɜː": "ɜɹ", "ɝ": "ɜɹ", "ɚ": "əɹ", "ɐ": "ə", "g": "ɡ",
}  # fmt: skip

Words = Iterable[tuple[str, str]]
Reader = Callable[[str], Words]
"""From a text to its words and their phonemes."""


def load_svc() -> Reader:
    phonemizer = Phonemizer()

    def read(text: str) -> Words:
        return [(text[t.start : t.end], t.phonemes) for t in phonemizer(text, Language.ENGLISH_US)]

    return read


def load_hibari() -> Reader:
    g2p: Any = import_module("hibari.g2p").G2P()
    return lambda text: [(token.text, token.phonemes or "") for token in g2p.phonemize_tokens(g2p.tokenize(text))]


def load_gruut() -> Reader:
    sentences: Any = import_module("gruut").sentences
    return lambda text: [
        (word.text, respell("".join(word.phonemes or ())))
        for sentence in sentences(text, lang="en-us")
        for word in sentence
    ]


def load_espeak() -> Reader:
    library = Espeak()

    def read(text: str) -> Words:
        words = re.findall(r"[\w'’-]+", text)
        [sounds] = library([text], "en-us")
        if len(sounds) != len(words):
            sounds = ["".join(sound) for sound in library(words, "en-us")]
        return zip(words, map(respell, sounds), strict=True)

    return read


def respell(ipa: str) -> str:
    for theirs, ours in SPELLINGS.items():
        ipa = ipa.replace(theirs, ours)
    return re.sub("(.)\u0329", r"ᵊ\1", ipa)


def score(read: Reader, name: str) -> tuple[int, int]:
    """The number of rows of a table, and how many are right."""
    rows = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    right = 0
    for row in rows:
        sentence, sounds = row.split("\t")
        start, end = sentence.index("["), sentence.index("]") - 1
        text = sentence.replace("[", "").replace("]", "")
        found, position = "", 0
        for word, sound in read(text):
            place = text.find(word, position)
            if place < 0:
                continue
            position = place + len(word)
            if place < end and position > start:
                found += sound
        right += found.translate(FOLDED) in [sound.translate(FOLDED) for sound in sounds.split("|")]
    return len(rows), right


PHONEMIZERS = {"svc": load_svc, "hibari": load_hibari, "gruut": load_gruut, "espeak": load_espeak}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    target = parser.parse_args().json
    results: dict[str, dict[str, float]] = {}
    for name, load in PHONEMIZERS.items():
        try:
            read = load()
        except ImportError:
            continue
        read("Hello.")
        began = time.perf_counter()
        scores = [score(read, table) for table in TABLES]
        seconds = time.perf_counter() - began
        results[name] = {
            "tuned": scores[0][1] / scores[0][0],
            "held out": scores[1][1] / scores[1][0],
            "ms a sentence": 1000 * seconds / sum(rows for rows, _ in scores),
        }
    table = Table("", "tuned", "held out", "ms a sentence")
    for name, result in results.items():
        table.add_row(name, f"{result['tuned']:.1%}", f"{result['held out']:.1%}", f"{result['ms a sentence']:.1f}")
    Console().print(table)
    if target:
        target.write_text(json.dumps(results, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
