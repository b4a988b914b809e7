"""Plain text with what its markup asked for."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from svc.text.markup.prosody import Manner


@dataclass(frozen=True, slots=True)
class Break:
    """Silence of `seconds` before the character at `position`."""

    position: int
    seconds: float

    @property
    def start(self) -> int:
        return self.position

    def shift(self, offset: int) -> "Break":
        return Break(self.position + offset, self.seconds)


@dataclass(frozen=True, slots=True)
class Pronunciation:
    """The characters `start:end` are pronounced as `ipa`."""

    start: int
    end: int
    ipa: str

    def shift(self, offset: int) -> "Pronunciation":
        return Pronunciation(self.start + offset, self.end + offset, self.ipa)


@dataclass(frozen=True, slots=True)
class Substitution:
    """The characters `start:end` are read as if `alias` stood there."""

    start: int
    end: int
    alias: str

    def shift(self, offset: int) -> "Substitution":
        return Substitution(self.start + offset, self.end + offset, self.alias)


@dataclass(frozen=True, slots=True)
class SayAs:
    """The characters `start:end` are a date, a telephone number or the like: see `svc.text.normalise.say_as`."""

    start: int
    end: int
    interpret_as: str
    format: str = ""

    def shift(self, offset: int) -> "SayAs":
        return SayAs(self.start + offset, self.end + offset, self.interpret_as, self.format)


Replacement = Pronunciation | Substitution | SayAs


@dataclass(frozen=True, slots=True)
class Change:
    """From the character at `start` on, the text is spoken in this manner."""

    start: int
    manner: Manner

    def shift(self, offset: int) -> "Change":
        return Change(self.start + offset, self.manner)


@dataclass(slots=True)
class ParsedText:
    """Plain text and what its markup asked for."""

    text: str = ""
    breaks: list[Break] = field(default_factory=list)
    replacements: list[Replacement] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)
    """The position in the caller's text of each character, and of the end."""

    @classmethod
    def join(cls, pieces: Iterable["ParsedText"]) -> "ParsedText":
        whole = cls(origins=[0])
        for piece in pieces:
            length = len(whole.text)
            whole.text += piece.text
            whole.breaks += [each.shift(length) for each in piece.breaks]
            whole.replacements += [each.shift(length) for each in piece.replacements]
            whole.changes += [each.shift(length) for each in piece.changes]
            whole.origins[-1:] = piece.origins
        return whole
