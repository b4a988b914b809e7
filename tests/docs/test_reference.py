"""Every endpoint has an example that can be copied."""

import re

from fastapi.testclient import TestClient

from tests.docs.blocks import ROOT, blocks

_CALL = re.compile(r'curl(?: -X (\w+))?[^"]*"(?:https?://[^/"]+)(/[^"?]*)')
# Always a 404: what was spoken is not kept.
_WITHOUT = {
    ("get", "/v1/history/{item_id}"),
    ("get", "/v1/history/{item_id}/audio"),
    ("delete", "/v1/history/{item_id}"),
}


def test_every_endpoint_has_an_example(client: TestClient) -> None:
    described = {
        (method, path)
        for path, operations in client.get("/openapi.json").json()["paths"].items()
        for method in operations
    }
    commands = [
        block.text.replace("\\\n", " ")
        for page in ("api.md", "cloning.md", "dictionaries.md", "openai.md")
        for block in blocks(ROOT / "docs" / page)
        if block.language == "sh"
    ]
    called = {((method or "GET").lower(), path) for text in commands for method, path in _CALL.findall(text)}
    assert {each for each in described - _WITHOUT if not any(_fits(*call, *each) for call in called)} == set()


def _fits(method: str, path: str, described_method: str, template: str) -> bool:
    pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
    return method == described_method and re.fullmatch(pattern, path) is not None
