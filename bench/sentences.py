"""The sentences to speak, each with every way in which it may rightly be written down."""

from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent / "sentences"


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    references: list[str]
    """The text itself, and with the figures in words where the file spells them out."""


def read(name: str, limit: int | None = None) -> list[Sentence]:
    lines = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    written = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [Sentence(forms[0], forms) for forms in written[:limit]]
