"""The guides of docs/ as web pages: which there are, and their Markdown rendered with working links and anchors."""

import posixpath
import re
from collections.abc import Collection
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = "/docs"
INDEX = "README"

_PICTURES = frozenset({".png", ".jpg", ".svg", ".webp"})
_EXTERNAL = re.compile(r"[a-z]+:|//|#")


def find_docs_folder() -> Path:
    """The folder with the guides: in the wheel, or in the checkout that this runs from."""
    installed = Path(str(files("svc"))) / "docs"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "docs"


@dataclass(frozen=True, slots=True)
class GuidePage:
    title: str
    html: str
    anchors: frozenset[str]

    @classmethod
    def render(cls, text: str, name: str, known: Collection[str]) -> "GuidePage":
        """`name` is the page's own path without `.md`; `known` are the files that its links can lead to."""
        markdown = _create_parser()
        tokens = markdown.parse(text)
        anchors = _add_anchors(tokens)
        _rewrite_links(tokens, posixpath.dirname(name), known)
        title = next((_plain_text(tokens[at + 1]) for at, token in enumerate(tokens) if token.tag == "h1"), name)
        html = markdown.renderer.render(_drop_empty_headers(tokens), markdown.options, {})
        # Wide code blocks scroll; tabindex lets the keyboard scroll them too.
        return cls(title, html.replace("<pre>", '<pre tabindex="0">'), frozenset(anchors))


class DocsSite:
    """The guides of a folder. Each is rendered on first use and kept."""

    def __init__(self, folder: Path) -> None:
        self._files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        self._pages: dict[str, GuidePage] = {}
        index = self._files.get(f"{INDEX}.md")
        self.contents = list_links(index.read_text("utf-8")) if index else []
        """The guides that the index page links to, in its order: the path and the title of each."""

    def render_page(self, name: str) -> GuidePage | None:
        """The guide with this path, without `.md`; None if there is none."""
        if name not in self._pages:
            if (path := self._files.get(f"{name}.md")) is None:
                return None
            self._pages[name] = GuidePage.render(path.read_text("utf-8"), name, self._files.keys())
        return self._pages[name]

    def find_picture(self, name: str) -> Path | None:
        path = self._files.get(name)
        return path if path is not None and path.suffix in _PICTURES else None


def list_links(text: str) -> list[tuple[str, str]]:
    """The guides that a Markdown text links to: the path of each without `.md`, and the text of the link."""
    links = []
    for token in _create_parser().parse(text):
        children = token.children or []
        for at, child in enumerate(children):
            target = str(child.attrs.get("href", ""))
            if target.endswith(".md") and not _EXTERNAL.match(target) and not target.startswith("../"):
                links.append((target.removesuffix(".md"), children[at + 1].content))
    return links


def _create_parser() -> MarkdownIt:
    # HTML in a guide is shown as text: only what Markdown can express becomes markup.
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _make_slug(heading: str) -> str:
    """The fragment that links to a heading, spelled as code hosts do."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _add_anchors(tokens: list[Token]) -> list[str]:
    """Gives every heading an id; repeated headings are numbered."""
    anchors: list[str] = []
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            slug = _make_slug(_plain_text(tokens[at + 1]))
            same = sum(each == slug or re.fullmatch(rf"{re.escape(slug)}-\d+", each) is not None for each in anchors)
            anchors.append(f"{slug}-{same}" if same else slug)
            token.attrSet("id", anchors[-1])
    return anchors


def _rewrite_links(tokens: list[Token], folder: str, known: Collection[str]) -> None:
    """Points links to files of docs/ at their pages, and removes links to the rest of the repository."""
    for token in tokens:
        for child in token.children or []:
            for attribute in ("href", "src"):
                target = str(child.attrs.get(attribute, ""))
                if target and not _EXTERNAL.match(target):
                    _rewrite_link(child, attribute, target, folder, known)


def _rewrite_link(token: Token, attribute: str, target: str, folder: str, known: Collection[str]) -> None:
    path, _, fragment = target.partition("#")
    path = posixpath.normpath(posixpath.join(folder, path))
    if path not in known:
        del token.attrs[attribute]
        return
    page = path.removesuffix(".md")
    address = ROOT if page == INDEX else f"{ROOT}/{page}"
    token.attrSet(attribute, f"{address}#{fragment}" if fragment else address)


def _drop_empty_headers(tokens: list[Token]) -> list[Token]:
    """Markdown tables must have a header row; screen readers should not announce one that is empty."""
    kept: list[Token] = []
    head = 0
    for at, token in enumerate(tokens):
        if token.type == "thead_open":
            head = len(kept)
        elif token.type == "th_open" and not tokens[at + 1].content:
            token.tag = tokens[at + 2].tag = "td"
        kept.append(token)
        if token.type == "thead_close" and all(each.tag != "th" for each in kept[head:]):
            del kept[head:]
    return kept


def _plain_text(inline: Token) -> str:
    return "".join(child.content for child in inline.children or [] if child.type in ("text", "code_inline"))
