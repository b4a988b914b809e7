"""The guides as the service shows them: complete, linked, and with nothing from elsewhere."""

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from svc.web import docs_site as library
from svc.web.docs_site import INDEX, DocsSite
from svc.web.markdown_page import Page
from tests.docs.blocks import ROOT

DOCS = ROOT / "docs"
GUIDES = sorted(path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md"))


@pytest.fixture(scope="module")
def guides() -> DocsSite:
    return DocsSite(library.find())


def _addresses(html: str, attribute: str = "href|src") -> list[str]:
    return re.findall(rf'(?:{attribute})="([^"]*)"', html)


def test_the_first_page_leads_to_every_guide(guides: DocsSite) -> None:
    named = {name for name, _ in guides.contents}
    assert named == {name for name in GUIDES if "/" not in name} - {INDEX}


@pytest.mark.parametrize("name", GUIDES)
def test_links_lead_to_pages_and_headings(name: str, client: TestClient, guides: DocsSite) -> None:
    page = guides.page(name)
    assert page is not None
    for address in _addresses(page.html):
        if address.startswith(("https://", "http://")):
            continue
        path, _, fragment = address.partition("#")
        assert not path or client.get(path).status_code == 200, address
        target = guides.page(path.removeprefix("/docs").removeprefix("/") or INDEX) if path else page
        assert not fragment or (target and fragment in target.anchors), address


def test_a_guide_is_shown(client: TestClient) -> None:
    answer = client.get("/docs/quickstart")
    assert answer.headers["content-type"].startswith("text/html")
    assert "<title>Quickstart · svc</title>" in answer.text
    assert '<h2 id="install-and-serve">Install and serve</h2>' in answer.text
    assert '<a href="/docs/quickstart" aria-current="page">' in answer.text


def test_pages_have_more_than_one_name(client: TestClient) -> None:
    assert client.get("/docs").text == client.get("/docs/").text == client.get("/docs/README.md").text
    assert client.get("/docs/api").text == client.get("/docs/api.md").text


@pytest.mark.parametrize("path", ["/docs", "/docs/quickstart", "/docs/interactive"])
def test_everything_comes_from_this_server(path: str, client: TestClient) -> None:
    answer = client.get(path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    loaded = _addresses(answer.text, "src") + re.findall(r'<link [^>]*href="([^"]*)"', answer.text)
    assert loaded
    for address in loaded:
        assert client.get(address).status_code == 200
    assert re.findall(r"<script>|<style|style=| on\w+=", answer.text) == []


def test_the_interactive_page_reads_the_description(client: TestClient) -> None:
    assert '"/openapi.json"' in client.get("/docs/assets/interactive.js").text
    assert client.get("/openapi.json").status_code == 200


def test_pictures_are_shown(client: TestClient) -> None:
    picture = next(path for path in DOCS.rglob("*.png")).relative_to(DOCS)
    answer = client.get(f"/docs/{picture.as_posix()}")
    assert answer.headers["content-type"] == "image/png"


@pytest.mark.parametrize(
    "path",
    [
        "/docs/nothing",
        "/docs/../pyproject.toml",
        "/docs/..%2Fpyproject.toml",
        "/docs/benchmarks/2026-11-15/speed.json",
        "/docs/assets/nothing.js",
        "/docs/assets/..%2Fpage.py",
    ],
)
def test_nothing_else_is_shown(path: str, client: TestClient) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["detail"]["status"] == "not_found"


def test_html_in_a_guide_is_text() -> None:
    page = Page.of("# <b>Hi</b>\n\n<script>alert(1)</script> [x](javascript:alert(1))", "x", [])
    assert "<script" not in page.html
    assert "href" not in page.html


def test_links_are_read_from_where_the_page_lies() -> None:
    text = "# A\n\n[b](../b.md#c) [up](../../README.md) ![p](p.png) [here](#a) [out](https://example.com)"
    html = Page.of(text, "folder/a", ["b.md", "folder/a.md", "folder/p.png"]).html
    assert _addresses(html) == ["/docs/b#c", "/docs/folder/p.png", "#a", "https://example.com"]
    assert ">up</a>" in html


def test_headings_of_the_same_name_are_told_apart() -> None:
    assert Page.of("# A\n\n## `B` & c\n\n## B  c\n", "x", []).anchors >= {"a", "b--c"}
    assert Page.of("# A\n\n## B\n\n## B\n", "x", []).anchors == {"a", "b", "b-1"}


def test_empty_headers_of_tables_are_none() -> None:
    half = Page.of("| a | |\n|---|---|\n| b | c |", "x", []).html
    assert half.count("<th>") == 1
    assert half.count("<td>") == 3
    none = Page.of("| | |\n|---|---|\n| b | c |", "x", []).html
    assert "<thead>" not in none
    assert "<th>" not in none
    assert none.count("<td>") == 2


def test_without_guides_the_service_still_starts(tmp_path: Path) -> None:
    empty = DocsSite(tmp_path)
    assert empty.contents == []
    assert empty.page(INDEX) is None
