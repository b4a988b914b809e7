"""The code blocks of README.md, CONTRIBUTING.md and docs/."""

from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

# The word after the language that says: nobody runs this. It has to stay rare.
NOT_RUN = "not-run"


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    words: tuple[str, ...]
    """What stands after the language, such as the client that a program needs."""
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}, line {self.line}:\n{self.text}"

    @property
    def runs(self) -> bool:
        return NOT_RUN not in self.words


def blocks(page: Path) -> list[Block]:
    """The fenced and the indented ones; the latter have no language."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text("utf-8")):
        if token.type in ("fence", "code_block"):
            assert token.map is not None
            language, *words = token.info.split() or [""]
            found.append(Block(page, token.map[0] + 1, language, tuple(words), token.content))
    return found


def all_blocks() -> list[Block]:
    return [block for page in PAGES for block in blocks(page)]
