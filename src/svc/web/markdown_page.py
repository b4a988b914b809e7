"""One guide: Markdown made into HTML, with headings that can be linked to and links that lead to pages."""

import posixpath
import re
from collections.abc import Collection
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = "/docs"

_OUTSIDE = re.compile(r"[a-z]+:|//|#")


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    html: str
    anchors: frozenset[str]

    @classmethod
    def of(cls, text: str, name: str, known: Collection[str]) -> "Page":
        """`name` is the page's own path without `.md`; `known` are the files that its links can lead to."""
        markdown = _markdown()
        tokens = markdown.parse(text)
        anchors = _anchored(tokens)
        _redirected(tokens, posixpath.dirname(name), known)
        title = next((_plain(tokens[at + 1]) for at, token in enumerate(tokens) if token.tag == "h1"), name)
        html = markdown.renderer.render(_without_empty_headers(tokens), markdown.options, {})
        # What is too wide can be scrolled, by keyboard too.
        return cls(title, html.replace("<pre>", '<pre tabindex="0">'), frozenset(anchors))


def linked(text: str) -> list[tuple[str, str]]:
    """The pages that a text links to: the path of each without `.md`, and the words of the link."""
    found = []
    for token in _markdown().parse(text):
        children = token.children or []
        for at, child in enumerate(children):
            target = str(child.attrs.get("href", ""))
            if target.endswith(".md") and not _OUTSIDE.match(target) and not target.startswith("../"):
                found.append((target.removesuffix(".md"), children[at + 1].content))
    return found


def slug(heading: str) -> str:
    """What a heading is called in a link, as code hosts do it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _markdown() -> MarkdownIt:
    # No HTML of the text's own: what is shown is what Markdown can say.
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _anchored(tokens: list[Token]) -> list[str]:
    anchors: list[str] = []
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            name = slug(_plain(tokens[at + 1]))
            same = sum(each == name or re.fullmatch(rf"{re.escape(name)}-\d+", each) is not None for each in anchors)
            anchors.append(f"{name}-{same}" if same else name)
            token.attrSet("id", anchors[-1])
    return anchors


def _redirected(tokens: list[Token], folder: str, known: Collection[str]) -> None:
    """Links to files of docs/ become links to pages; those to the rest of the repository lead nowhere here."""
    for token in tokens:
        for child in token.children or []:
            for attribute in ("href", "src"):
                target = str(child.attrs.get(attribute, ""))
                if target and not _OUTSIDE.match(target):
                    _redirect(child, attribute, target, folder, known)


def _redirect(token: Token, attribute: str, target: str, folder: str, known: Collection[str]) -> None:
    path, _, fragment = target.partition("#")
    path = posixpath.normpath(posixpath.join(folder, path))
    if path not in known:
        del token.attrs[attribute]
        return
    page = path.removesuffix(".md")
    address = ROOT if page == "README" else f"{ROOT}/{page}"
    token.attrSet(attribute, f"{address}#{fragment}" if fragment else address)


def _without_empty_headers(tokens: list[Token]) -> list[Token]:
    """Markdown's tables have to have a header; where that says nothing, screen readers should not announce one."""
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


def _plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or [] if child.type in ("text", "code_inline"))
