"""Splits text into words and punctuation marks, each with its position."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from unicodedata import category

# Every written mark, and the mark of Kokoro's vocabulary that stands for it.
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
_SPOKEN_SYMBOLS = frozenset("&@%+=#$€£¥°×÷<>*")
# Longer words are cut: the engine takes a limited number of phonemes, and espeak-ng crashes on some long words.
_LONGEST_WORD = 40


@dataclass(frozen=True, slots=True)
class Token:
    """The characters `start:end`: a word, or (with `mark`) a mark of Kokoro's vocabulary."""

    start: int
    end: int
    mark: str = ""


@dataclass(frozen=True, slots=True)
class PhonemeToken:
    """The characters `start:end`, a word or mark, with its phonemes; `space` says that a space follows."""

    start: int
    end: int
    phonemes: str
    space: bool


def tokenize(text: str) -> list[Token]:
    """The words and marks of `text`, in order; everything else is left out."""
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        character = text[at]
        if _is_letter(character):
            end = _find_word_end(text, at)
            tokens.extend(Token(cut, min(cut + _LONGEST_WORD, end)) for cut in range(at, end, _LONGEST_WORD))
        elif character in MARKS:
            end = _find_run_end(text, at)
            dots = character == "." and end - at > 1
            tokens.append(Token(at, end, "…" if dots else MARKS[character]))
        elif character in HYPHENS:
            end = _find_run_end(text, at)
            # A hyphen at the beginning of a text is a list bullet, not a pause.
            if tokens and (end - at > 1 or _is_between_spaces(text, at)):
                tokens.append(Token(at, end, "—"))
        else:
            end = at + 1
            if character in _SPOKEN_SYMBOLS:
                tokens.append(Token(at, end))
        at = end
    return tokens


def _is_letter(character: str) -> bool:
    return character.isalnum() or category(character)[0] == "M"


def _find_run_end(text: str, at: int) -> int:
    """The end of the run of equal characters at `at`: "!!!!" is one mark."""
    end = at + 1
    while end < len(text) and text[end] == text[at]:
        end += 1
    return end


def _is_between_spaces(text: str, at: int) -> bool:
    before = text[at - 1] if at else " "
    after = text[at + 1] if at + 1 < len(text) else " "
    return before.isspace() and after.isspace()


def _find_word_end(text: str, start: int) -> int:
    end = start + 1
    while end < len(text):
        if _is_letter(text[end]):
            end += 1
        elif end + 1 < len(text) and _is_letter(text[end + 1]) and _is_inside_word(text, start, end):
            end += 2
        else:
            break
    return end + 1 if _has_full_stop(text, start, end) else end


def _is_inside_word(text: str, start: int, at: int) -> bool:
    """Whether the mark at `at` is part of a word: "don't", "U.S.", "3.14", "1,000"."""
    before, after = text[at - 1], text[at + 1]
    if text[at] in APOSTROPHES:
        return True
    if text[at] in ".," and before.isdigit() and after.isdigit():
        return True
    return text[at] == "." and _is_initials(text, start, at) and not text[at + 2 : at + 3].isalpha()


def _is_initials(text: str, start: int, end: int) -> bool:
    """Whether `start:end` is single letters with full stops between: "U", "U.S"."""
    return text[end - 1].isalpha() and (end - start == 1 or (end - start > 2 and text[end - 2] == "."))


def _has_full_stop(text: str, start: int, end: int) -> bool:
    """Whether a full stop at `end` belongs to initials ("U.S. troops") and not to the sentence."""
    if text[end : end + 1] != "." or end - start < 3 or text[end - 2] != ".":
        return False
    return any(_is_letter(character) for character in text[end + 1 : end + 4])


def attach_phonemes(text: str, tokens: list[Token], phonemes: Iterable[str]) -> list[PhonemeToken]:
    """The tokens with their phonemes; those without any are left out."""
    voiced = [(token, sounds) for token, sounds in zip(tokens, phonemes, strict=True) if sounds]
    found = []
    for at, (token, sounds) in enumerate(voiced):
        last = at + 1 == len(voiced)
        space = not last and _is_separator(text[token.end : voiced[at + 1][0].start])
        found.append(PhonemeToken(token.start, token.end, sounds, space))
    return found


def _is_separator(gap: str) -> bool:
    """Whether the characters between two words separate them; hyphens or nothing do not."""
    return not all(character in HYPHENS for character in gap)


def attach_mark(token: Token) -> PhonemeToken:
    """A mark as its own phoneme, in languages that are written without spaces."""
    return PhonemeToken(token.start, token.end, token.mark, space=token.mark not in "“(")


def group_hyphenated(text: str, tokens: list[Token]) -> Iterator[tuple[int, int]]:
    """Ranges of token indices: tokens that hyphens join are in one range, any other alone."""
    first = 0
    for at in range(1, len(tokens) + 1):
        if at < len(tokens) and _is_hyphen(text[tokens[at - 1].end : tokens[at].start]):
            continue
        yield first, at
        first = at


def _is_hyphen(gap: str) -> bool:
    return len(gap) == 1 and gap in HYPHENS


def split_clauses(tokens: list[Token]) -> Iterator[list[Token]]:
    """The words between two marks as one list, and each mark alone."""
    clause: list[Token] = []
    for token in tokens:
        if token.mark:
            if clause:
                yield clause
            yield [token]
            clause = []
        else:
            clause.append(token)
    if clause:
        yield clause
