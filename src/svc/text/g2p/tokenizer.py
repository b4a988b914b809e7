"""A text taken apart into words and marks, each with its place."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from unicodedata import category

# Every mark that is written, and the one of Kokoro's marks that it sounds like.
MARKS: dict[str, str] = {
    **{mark: mark for mark in ';:,.!?—…"()“”'},
    **dict.fromkeys("–―─⸺~～〜", "—"),
    **dict.fromkeys("⋯‥", "…"),
    **dict.fromkeys("«‹„「『《〈【〔", "“"),
    **dict.fromkeys("»›‟」』》〉】〕", "”"),
    **dict.fromkeys("[{（［", "("),
    **dict.fromkeys("]}）］", ")"),
    **dict.fromkeys("、，،､", ","),
    **dict.fromkeys("。．।॥։።｡", "."),
    **dict.fromkeys("！՜", "!"),
    **dict.fromkeys("？؟\u037e՞", "?"),
    **dict.fromkeys("：", ":"),
    **dict.fromkeys("；؛", ";"),
}
HYPHENS = frozenset("-‐‑")
APOSTROPHES = frozenset("'’ʼ＇")
SPOKEN_SYMBOLS = frozenset("&@%+=#$€£¥°×÷<>*")
# Longer words are cut, so that no token outgrows what the engine takes at once.
LONGEST_WORD = 40


@dataclass(frozen=True, slots=True)
class Token:
    """One word or mark of spoken text, the characters `start:end` of it, with its sound.

    `phonemes` is in the alphabet that Kokoro was trained on. `space` says that a space follows.
    """

    start: int
    end: int
    phonemes: str
    space: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """The characters `start:end`: a word, or (with `mark`) a mark as Kokoro knows it."""

    start: int
    end: int
    mark: str = ""


def scan(text: str) -> list[Piece]:
    """The words and marks of `text`, in order; what is neither is left out."""
    pieces: list[Piece] = []
    at = 0
    while at < len(text):
        character = text[at]
        if _is_letter(character):
            end = _word_end(text, at)
            pieces.extend(Piece(cut, min(cut + LONGEST_WORD, end)) for cut in range(at, end, LONGEST_WORD))
        elif character in MARKS:
            end = _repeats(text, at)
            dots = character == "." and end - at > 1
            pieces.append(Piece(at, end, "…" if dots else MARKS[character]))
        elif character in HYPHENS:
            end = _repeats(text, at)
            # A hyphen that begins a text is the mark of a list, not a pause.
            if pieces and (end - at > 1 or _between_spaces(text, at)):
                pieces.append(Piece(at, end, "—"))
        else:
            end = at + 1
            if character in SPOKEN_SYMBOLS:
                pieces.append(Piece(at, end))
        at = end
    return pieces


def _is_letter(character: str) -> bool:
    return character.isalnum() or category(character)[0] == "M"


def _repeats(text: str, at: int) -> int:
    """Where the run of the character at `at` ends: "!!!!" is one mark."""
    end = at + 1
    while end < len(text) and text[end] == text[at]:
        end += 1
    return end


def _between_spaces(text: str, at: int) -> bool:
    before = text[at - 1] if at else " "
    after = text[at + 1] if at + 1 < len(text) else " "
    return before.isspace() and after.isspace()


def _word_end(text: str, start: int) -> int:
    end = start + 1
    while end < len(text):
        if _is_letter(text[end]):
            end += 1
        elif end + 1 < len(text) and _is_letter(text[end + 1]) and _joins(text, start, end):
            end += 2
        else:
            break
    return end + 1 if _takes_full_stop(text, start, end) else end


def _joins(text: str, start: int, at: int) -> bool:
    """Whether the character at `at` is inside one word: "don't", "U.S.", "3.14", "1,000"."""
    before, after = text[at - 1], text[at + 1]
    if text[at] in APOSTROPHES:
        return True
    if text[at] in ".," and before.isdigit() and after.isdigit():
        return True
    return text[at] == "." and _initials(text, start, at) and not text[at + 2 : at + 3].isalpha()


def _initials(text: str, start: int, end: int) -> bool:
    """Whether `start:end` is single letters with full stops between: "U", "U.S"."""
    return text[end - 1].isalpha() and (end - start == 1 or (end - start > 2 and text[end - 2] == "."))


def _takes_full_stop(text: str, start: int, end: int) -> bool:
    """Whether a full stop at `end` belongs to initials ("U.S. troops") and not to the sentence."""
    if text[end : end + 1] != "." or end - start < 3 or text[end - 2] != ".":
        return False
    return any(_is_letter(character) for character in text[end + 1 : end + 4])


def tokens(text: str, pieces: list[Piece], sounds: Iterable[str]) -> list[Token]:
    """One token for each piece that has a sound."""
    voiced = [(piece, sound) for piece, sound in zip(pieces, sounds, strict=True) if sound]
    found = []
    for at, (piece, sound) in enumerate(voiced):
        last = at + 1 == len(voiced)
        space = not last and _apart(text[piece.end : voiced[at + 1][0].start])
        found.append(Token(piece.start, piece.end, sound, space))
    return found


def _apart(gap: str) -> bool:
    """Whether what lies between two pieces separates them; a hyphen or nothing does not."""
    return not all(character in HYPHENS for character in gap)


def hyphenated(text: str, pieces: list[Piece]) -> Iterator[tuple[int, int]]:
    """The pieces, as ranges of their numbers, with those that hyphens join in one range."""
    first = 0
    for at in range(1, len(pieces) + 1):
        if at < len(pieces) and _is_hyphen(text[pieces[at - 1].end : pieces[at].start]):
            continue
        yield first, at
        first = at


def _is_hyphen(gap: str) -> bool:
    return len(gap) == 1 and gap in HYPHENS


def clauses(pieces: list[Piece]) -> Iterator[list[Piece]]:
    """The pieces in stretches without marks, and each mark alone."""
    clause: list[Piece] = []
    for piece in pieces:
        if piece.mark:
            if clause:
                yield clause
            yield [piece]
            clause = []
        else:
            clause.append(piece)
    if clause:
        yield clause
