"""Japanese: words and kana by haqumei (OpenJTalk in Rust), turned into the IPA per kana that Kokoro was trained on."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

from haqumei import Haqumei

from svc.text.g2p.tokenizer import PhonemeToken, attach_mark, split_clauses, tokenize

# Rows of the kana table, and their phonemes.
_ROWS = {
    "アイウエオ": "a i ɯ e o",
    "ァィゥェォ": "a i ɯ e o",
    "カキクケコ": "ka kʲi kɯ ke ko",
    "ガギグゲゴ": "ɡa ɡʲi ɡɯ ɡe ɡo",
    "サシスセソ": "sa ɕi sɨ se so",
    "ザジズゼゾ": "ʣa ʥi zɨ ʣe ʣo",
    "タチツテト": "ta ʨi ʦɨ te to",
    "ダヂヅデド": "da ʥi zɨ de do",
    "ナニヌネノ": "na ɲi nɯ ne no",
    "ハヒフヘホ": "ha çi ɸɯ he ho",
    "バビブベボ": "ba bʲi bɯ be bo",
    "パピプペポ": "pa pʲi pɯ pe po",
    "マミムメモ": "ma mʲi mɯ me mo",
    "ラリルレロ": "ɾa ɾʲi ɾɯ ɾe ɾo",
    "ヤユヨャュョ": "ja jɯ jo ja jɯ jo",
    "ワヰヱヲヮ": "βa i e o βa",
    "ヴヵヶ": "vɯ ka ke",
    "ヷヸヹヺ": "va vʲi ve vo",
}
# Kana before a small kana: their consonant, and the kana that have it.
_GLIDES = {
    "kʲ": "キ", "ɡʲ": "ギ", "ɕ": "シ", "ʥ": "ジヂ", "ʨ": "チ", "ɲ": "ニ", "ç": "ヒ", "bʲ": "ビ",
    "pʲ": "ピ", "mʲ": "ミ", "ɾʲ": "リ", "tʲ": "テ", "dʲ": "デ", "ɸʲ": "フ",
}  # fmt: skip
_SMALL = {"ャ": "a", "ュ": "ɨ", "ョ": "o", "ェ": "e"}
_LOANWORD_MORAS = {
    "イェ": "je", "ウィ": "βi", "ウェ": "βe", "ウォ": "βo", "クァ": "kᵝa", "クィ": "kᵝi", "クェ": "kᵝe",
    "クォ": "kᵝo", "グァ": "ɡᵝa", "グィ": "ɡᵝi", "グェ": "ɡᵝe", "グォ": "ɡᵝo", "ツァ": "ʦa", "ツィ": "ʦʲi",
    "ツェ": "ʦe", "ツォ": "ʦo", "ティ": "tʲi", "ディ": "dʲi", "トゥ": "tɯ", "ドゥ": "dɯ", "ファ": "ɸa",
    "フィ": "ɸʲi", "フェ": "ɸe", "フォ": "ɸo", "ヴァ": "va", "ヴィ": "vʲi", "ヴェ": "ve", "ヴォ": "vo",
    "ヴュ": "bʲɨ", "ヴョ": "bʲo", "スィ": "si", "ズィ": "zi",
}  # fmt: skip

_MORAS: dict[str, str] = {
    **{kana: sound for row, sounds in _ROWS.items() for kana, sound in zip(row, sounds.split(), strict=True)},
    **{
        kana + small: consonant + vowel
        for consonant, kanas in _GLIDES.items()
        for kana in kanas
        for small, vowel in _SMALL.items()
    },
    **_LOANWORD_MORAS,
    "ッ": "ʔ",
    "ー": "ː",
}
# The phoneme of ン before a consonant; elsewhere it is ɴ.
_NASALS = {
    **dict.fromkeys("mpb", "m"),
    **dict.fromkeys("kɡ", "ŋ"),
    **dict.fromkeys("ɲʨʥ", "ɲ"),
    **dict.fromkeys("ntdɾz", "n"),
}
# An auxiliary (助動詞) belongs to the word of the verb, adjective or auxiliary before it.
_AUXILIARY = "助動詞"
_INFLECTED = ("動詞", "形容詞", _AUXILIARY)
# In characters; a longer clause is analysed in parts.
_LONGEST_CLAUSE = 200


@dataclass(slots=True)
class _Word:
    """The characters `start:end` of a clause, with their kana and their part of speech."""

    start: int
    end: int
    kana: str
    part_of_speech: str


class JapaneseG2P:
    """Phonemizes Japanese text, word by word."""

    def __init__(self, cache_dir: Path | None = None) -> None:
        # Latin letters come here only in names such as "A社": English words are phonemized as English.
        with _unpack_into(cache_dir):
            self._analyser = Haqumei(predict_kana_english=False)

    def phonemize(self, text: str) -> list[PhonemeToken]:
        found: list[PhonemeToken] = []
        for clause in split_clauses(tokenize(text)):
            if clause[0].mark:
                found.append(attach_mark(clause[0]))
                continue
            start, end = clause[0].start, clause[-1].end
            for cut in range(start, end, _LONGEST_CLAUSE):
                found.extend(self._phonemize_clause(text[cut : min(cut + _LONGEST_CLAUSE, end)], cut))
        return found

    def _phonemize_clause(self, clause: str, offset: int) -> list[PhonemeToken]:
        printable = "".join(character if character.isprintable() else " " for character in clause)
        analysed = self._analyser.run_frontend(printable.encode("utf-8", "ignore").decode())
        words = [(word.string, word.pron.replace("’", ""), word.pos) for word in analysed if word.mora_size > 0]
        return [
            PhonemeToken(offset + word.start, offset + word.end, phonemes, space=True)
            for word in _join_auxiliaries(_locate_words(clause, words))
            if (phonemes := kana_to_phonemes(word.kana))
        ]


@contextmanager
def _unpack_into(cache_dir: Path | None) -> Iterator[None]:
    """haqumei unpacks its dictionary (103 MB) when it is first used, into the folder that this variable names."""
    if cache_dir is None:
        yield
        return
    cache_dir.mkdir(parents=True, exist_ok=True)
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(cache_dir)
    try:
        yield
    finally:
        if before is None:
            del os.environ["XDG_CACHE_HOME"]
        else:
            os.environ["XDG_CACHE_HOME"] = before


def _locate_words(clause: str, words: list[tuple[str, str, str]]) -> list[_Word]:
    """Each word with its position in the clause; words that are not found (a number spelt out) share the gap."""
    folded, origins = _fold_width(clause)
    located: list[_Word] = []
    cursor = 0
    missing = ""
    for surface, kana, part_of_speech in words:
        plain = normalize("NFKC", surface)
        at = folded.find(plain, cursor, cursor + len(plain) + 12)
        if at < 0:
            missing += kana
            continue
        if missing and at > cursor:
            located.append(_Word(origins[cursor], origins[at], missing, ""))
        elif missing:
            kana = missing + kana
        missing = ""
        cursor = at + len(plain)
        located.append(_Word(origins[at], origins[cursor], kana, part_of_speech))
    if missing and cursor < len(folded):
        located.append(_Word(origins[cursor], len(clause), missing, ""))
    elif missing and located:
        located[-1].kana += missing
    return located


def _fold_width(clause: str) -> tuple[str, list[int]]:
    """The clause in NFKC, and the original position of each of its characters and of the end."""
    parts = [normalize("NFKC", character) for character in clause]
    origins = [at for at, part in enumerate(parts) for _ in part]
    return "".join(parts), [*origins, len(clause)]


def _join_auxiliaries(words: list[_Word]) -> list[_Word]:
    joined: list[_Word] = []
    for word in words:
        if (
            word.part_of_speech == _AUXILIARY
            and joined
            and joined[-1].part_of_speech in _INFLECTED
            and joined[-1].end == word.start
        ):
            joined[-1].end = word.end
            joined[-1].kana += word.kana
        else:
            joined.append(word)
    return joined


def kana_to_phonemes(kana: str) -> str:
    """The phonemes of a word in katakana."""
    phonemes: list[str] = []
    nasal = False
    at = 0
    while at < len(kana):
        mora = kana[at : at + 2] if kana[at : at + 2] in _MORAS else kana[at]
        at += len(mora)
        sound = _MORAS.get(mora, "")
        if nasal:
            phonemes.append(_NASALS.get(sound[:1], "ɴ"))
        nasal = mora == "ン"
        phonemes.append(sound)
    return "".join(phonemes) + ("ɴ" if nasal else "")
