"""Makes the training text: sentences of common words in Kokoro's nine languages, as phoneme ids.

    python -m teacher.corpus corpus.json --sentences 1200

The networks see phonemes and acoustic features, never words, so the sentences need variety of phonemes, lengths and
pauses, not meaning. Words come from wordfreq's lists; the phonemes are misaki's alphabet.
"""

import argparse
import json
import random
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

from wordfreq import top_n_list

LANGUAGES = {
    "a": "en",
    "b": "en",
    "e": "es",
    "f": "fr",
    "h": "hi",
    "i": "it",
    "j": "ja",
    "p": "pt",
    "z": "zh",
}
"""Kokoro's letter for a language, as in its voices' names, and wordfreq's."""
ESPEAK = {"e": "es", "f": "fr-fr", "h": "hi", "i": "it", "p": "pt-br"}
MAX_TOKENS = 200


def read_vocabulary() -> dict[str, int]:
    """Kokoro's symbols and their ids."""
    return json.loads((files("hibari") / "assets/vocab.json").read_text())


def create_phonemizer(language: str) -> Callable[[str], str]:
    if language in "ab":
        from hibari.g2p import G2P

        return G2P(british=language == "b")
    if language == "j":
        from misaki.ja import JAG2P

        japanese = JAG2P(version="pyopenjtalk")
        return lambda text: "".join((t.phonemes or "") + t.whitespace for t in japanese(text)[1])
    if language == "z":
        from misaki.zh import ZHG2P

        chinese = ZHG2P()
        return lambda text: chinese(text)[0]
    from misaki.espeak import EspeakG2P

    espeak = EspeakG2P(language=ESPEAK[language])
    return lambda text: espeak(text)[0]


def generate_sentences(language: str, rng: random.Random) -> Iterator[str]:
    """Endless random sentences: half of the words are among the commonest 300; commas; a mark at the end."""
    words = [w for w in top_n_list(LANGUAGES[language], 20000) if not any(c.isdigit() for c in w)]
    if language in "abefip":
        words = [w for w in words if len(w) > 1 or w in ("a", "i", "e", "y", "o", "à", "é")]
    joined = language in "jz"
    while True:
        count = rng.choice((1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 17, 20))
        text = ""
        for i in range(count):
            word = rng.choice(words[:300] if rng.random() < 0.5 else words)
            text += word if i == 0 or joined else f" {word}"
            if i + 1 < count and rng.random() < 0.12:
                text += "、" if language == "j" else "，" if language == "z" else ","
        end = rng.choice("...?!")
        yield text + ({".": "。", "?": "？", "!": "！"}[end] if joined else end)


def read_shuffled(path: Path, seed: int) -> list[list[int]]:
    """Phoneme ids of all sentences, shuffled; English twice as often as any other (it has two accents)."""
    corpus = json.loads(path.read_text())
    sentences = [ids for language in corpus.values() for ids in language]
    random.Random(seed).shuffle(sentences)
    return sentences


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--sentences", type=int, default=1200, help="per language")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    symbols = read_vocabulary()
    corpus = {}
    for language in LANGUAGES:
        rng, phonemize = random.Random(f"{args.seed}{language}"), create_phonemizer(language)
        sentences: list[list[int]] = []
        for text in generate_sentences(language, rng):
            ids = [symbols[c] for c in phonemize(text).strip() if c in symbols]
            if 3 <= len(ids) <= MAX_TOKENS:
                sentences.append(ids)
            if len(sentences) == args.sentences:
                break
        corpus[language] = sentences
        print(language, len(sentences), "sentences,", sum(map(len, sentences)), "tokens", flush=True)
    args.output.write_text(json.dumps(corpus, separators=(",", ":")))


if __name__ == "__main__":
    main()
