"""Japanese: words and readings by OpenJTalk, and the kana-by-kana IPA that Kokoro was trained on."""

from dataclasses import dataclass
from threading import Lock
from unicodedata import normalize

import pyopenjtalk

from svc.text.g2p.tokenizer import Token, clauses, scan

# One row of the kana table an entry: the five kana, and their sounds.
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
# A kana with a small one behind it: the consonant, and the kana that have it.
_GLIDES = {
    "kʲ": "キ", "ɡʲ": "ギ", "ɕ": "シ", "ʥ": "ジヂ", "ʨ": "チ", "ɲ": "ニ", "ç": "ヒ", "bʲ": "ビ",
    "pʲ": "ピ", "mʲ": "ミ", "ɾʲ": "リ", "tʲ": "テ", "dʲ": "デ", "ɸʲ": "フ",
}  # fmt: skip
_SMALL = {"ャ": "a", "ュ": "ɨ", "ョ": "o", "ェ": "e"}
_LOAN_SOUNDS = {
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
    **_LOAN_SOUNDS,
    "ッ": "ʔ",
    "ー": "ː",
}
# How ン sounds before a consonant; elsewhere it is ɴ.
_NASALS = {
    **dict.fromkeys("mpb", "m"),
    **dict.fromkeys("kɡ", "ŋ"),
    **dict.fromkeys("ɲʨʥ", "ɲ"),
    **dict.fromkeys("ntdɾz", "n"),
}
# A verb, an adjective or an ending takes the ending that follows it into its word.
_ENDING = "助動詞"
_INFLECTED = ("動詞", "形容詞", _ENDING)
# A longer stretch without a mark is read in parts.
_LONGEST_CLAUSE = 200


@dataclass(slots=True)
class _Word:
    start: int
    end: int
    kana: str
    kind: str


class JapaneseReader:
    """Reads Japanese text, word by word."""

    def __init__(self) -> None:
        # OpenJTalk keeps one analyser for the whole process.
        self._lock = Lock()

    def read(self, text: str) -> list[Token]:
        found: list[Token] = []
        for clause in clauses(scan(text)):
            if clause[0].mark:
                found.append(Token(clause[0].start, clause[0].end, clause[0].mark, clause[0].mark not in "“("))
                continue
            start, end = clause[0].start, clause[-1].end
            for cut in range(start, end, _LONGEST_CLAUSE):
                found.extend(self._clause(text[cut : min(cut + _LONGEST_CLAUSE, end)], cut))
        return found

    def _clause(self, clause: str, offset: int) -> list[Token]:
        printable = "".join(character if character.isprintable() else " " for character in clause)
        with self._lock:
            # Sudachi's second opinion on homographs is wrong about as often as right, and costs 65 MB.
            analysed = pyopenjtalk.run_frontend(
                printable.encode("utf-8", "ignore").decode(), use_sudachi_kanji_yomi=False
            )
        words = [
            (word["string"], word["pron"].replace("’", ""), word["pos"]) for word in analysed if word["mora_size"] > 0
        ]
        return [
            Token(offset + word.start, offset + word.end, sound, space=True)
            for word in _joined(_placed(clause, words))
            if (sound := pronounce(word.kana))
        ]


def _placed(clause: str, words: list[tuple[str, str, str]]) -> list[_Word]:
    """Each word with its place in the clause; one that is not found (a number spelt out) shares its gap."""
    folded, origins = _folded(clause)
    placed: list[_Word] = []
    cursor = 0
    lost = ""
    for surface, kana, kind in words:
        plain = normalize("NFKC", surface)
        at = folded.find(plain, cursor, cursor + len(plain) + 12)
        if at < 0:
            lost += kana
            continue
        if lost and at > cursor:
            placed.append(_Word(origins[cursor], origins[at], lost, ""))
        elif lost:
            kana = lost + kana
        lost = ""
        cursor = at + len(plain)
        placed.append(_Word(origins[at], origins[cursor], kana, kind))
    if lost and cursor < len(folded):
        placed.append(_Word(origins[cursor], len(clause), lost, ""))
    elif lost and placed:
        placed[-1].kana += lost
    return placed


def _folded(clause: str) -> tuple[str, list[int]]:
    """The clause without differences of width, and where each of its characters (and the end) came from."""
    parts = [normalize("NFKC", character) for character in clause]
    origins = [at for at, part in enumerate(parts) for _ in part]
    return "".join(parts), [*origins, len(clause)]


def _joined(words: list[_Word]) -> list[_Word]:
    joined: list[_Word] = []
    for word in words:
        if word.kind == _ENDING and joined and joined[-1].kind in _INFLECTED and joined[-1].end == word.start:
            joined[-1].end = word.end
            joined[-1].kana += word.kana
        else:
            joined.append(word)
    return joined


def pronounce(kana: str) -> str:
    """The sound of a word written in katakana, in Kokoro's alphabet."""
    sounds: list[str] = []
    nasal = False
    at = 0
    while at < len(kana):
        mora = kana[at : at + 2] if kana[at : at + 2] in _MORAS else kana[at]
        at += len(mora)
        sound = _MORAS.get(mora, "")
        if nasal:
            sounds.append(_NASALS.get(sound[:1], "ɴ"))
        nasal = mora == "ン"
        sounds.append(sound)
    return "".join(sounds) + ("ɴ" if nasal else "")
