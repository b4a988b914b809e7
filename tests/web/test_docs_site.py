"""The guides as web pages: all of them linked, every link valid, and nothing from other servers."""

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from svc.web.docs_site import INDEX, DocsSite, GuidePage, find_docs_folder

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = sorted(path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md"))


@pytest.fixture(scope="module")
def docs_site() -> DocsSite:
    return DocsSite(find_docs_folder())


def find_addresses(html: str, attribute: str = "href|src") -> list[str]:
    return re.findall(rf'(?:{attribute})="([^"]*)"', html)


def test_the_index_links_to_every_guide(docs_site: DocsSite) -> None:
    linked = {name for name, _ in docs_site.contents}
    assert linked == {name for name in GUIDES if "/" not in name} - {INDEX}


@pytest.mark.parametrize("name", GUIDES)
def test_links_lead_to_existing_pages_and_headings(name: str, client: TestClient, docs_site: DocsSite) -> None:
    page = docs_site.render_page(name)
    assert page is not None
    for address in find_addresses(page.html):
        if address.startswith(("https://", "http://")):
            continue
        path, _, fragment = address.partition("#")
        assert not path or client.get(path).status_code == 200, address
        target = docs_site.render_page(path.removeprefix("/docs").removeprefix("/") or INDEX) if path else page
        assert not fragment or (target and fragment in target.anchors), address


def test_a_guide_is_served(client: TestClient) -> None:
    answer = client.get("/docs/quickstart")
    assert answer.headers["content-type"].startswith("text/html")
    assert "<title>Quickstart · svc</title>" in answer.text
    assert '<h2 id="install-and-serve">Install and serve</h2>' in answer.text
    assert '<a href="/docs/quickstart" aria-current="page">' in answer.text


def test_other_addresses_of_a_page(client: TestClient) -> None:
    assert client.get("/docs").text == client.get("/docs/").text == client.get("/docs/README.md").text
    assert client.get("/docs/api").text == client.get("/docs/api.md").text


@pytest.mark.parametrize("path", ["/docs", "/docs/quickstart", "/docs/interactive"])
def test_everything_comes_from_this_server(path: str, client: TestClient) -> None:
    answer = client.get(path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    loaded = find_addresses(answer.text, "src") + re.findall(r'<link [^>]*href="([^"]*)"', answer.text)
    assert loaded
    for address in loaded:
        assert client.get(address).status_code == 200
    assert re.findall(r"<script>|<style|style=| on\w+=", answer.text) == []


def test_the_interactive_page_reads_openapi_json(client: TestClient) -> None:
    assert '"/openapi.json"' in client.get("/docs/assets/interactive.js").text
    assert client.get("/openapi.json").status_code == 200


def test_pictures_are_served(client: TestClient) -> None:
    picture = next(path for path in DOCS.rglob("*.png")).relative_to(DOCS)
    answer = client.get(f"/docs/{picture.as_posix()}")
    assert answer.headers["content-type"] == "image/png"


@pytest.mark.parametrize(
    "path",
    [
        "/docs/nothing",
        "/docs/../pyproject.toml",
        "/docs/..%2Fpyproject.toml",
        "/docs/assets/nothing.js",
        "/docs/assets/..%2Fdocs_site.py",
        "/docs/assets/..%2Ftemplates%2Fguide.html",
    ],
)
def test_other_files_are_not_found(path: str, client: TestClient) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["detail"]["status"] == "not_found"


def test_of_the_folder_only_guides_and_pictures_are_served(tmp_path: Path) -> None:
    (tmp_path / "figures.json").write_text("{}")
    site = DocsSite(tmp_path)
    assert site.render_page("figures.json") is None
    assert site.render_page("figures") is None
    assert site.find_picture("figures.json") is None


def test_html_in_a_guide_is_escaped() -> None:
    page = GuidePage.render("# <b>Hi</b>\n\n<script>alert(1)</script> [x](javascript:alert(1))", "x", [])
    assert "<script" not in page.html
    assert "href" not in page.html


def test_links_are_relative_to_the_folder_of_the_page() -> None:
    text = "# A\n\n[b](../b.md#c) [up](../../README.md) ![p](p.png) [here](#a) [out](https://example.com)"
    html = GuidePage.render(text, "folder/a", ["b.md", "folder/a.md", "folder/p.png"]).html
    assert find_addresses(html) == ["/docs/b#c", "/docs/folder/p.png", "#a", "https://example.com"]
    assert ">up</a>" in html


def test_repeated_headings_are_numbered() -> None:
    assert GuidePage.render("# A\n\n## `B` & c\n\n## B  c\n", "x", []).anchors >= {"a", "b--c"}
    assert GuidePage.render("# A\n\n## B\n\n## B\n", "x", []).anchors == {"a", "b", "b-1"}


def test_empty_table_headers_are_dropped() -> None:
    half = GuidePage.render("| a | |\n|---|---|\n| b | c |", "x", []).html
    assert half.count("<th>") == 1
    assert half.count("<td>") == 3
    none = GuidePage.render("| | |\n|---|---|\n| b | c |", "x", []).html
    assert "<thead>" not in none
    assert "<th>" not in none
    assert none.count("<td>") == 2


def test_an_empty_folder_has_no_guides(tmp_path: Path) -> None:
    empty = DocsSite(tmp_path)
    assert empty.contents == []
    assert empty.render_page(INDEX) is None
