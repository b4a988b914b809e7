"""`/v1/pronunciation-dictionaries`, and texts that are spoken with dictionaries."""

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from svc.dictionaries.rules import MAX_RULES
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.conftest import serve_ready

ROOT = "/v1/pronunciation-dictionaries"
SPEAK = "/v1/text-to-speech/svcAfHeart0000000000"
UN: dict[str, Any] = {"type": "alias", "string_to_replace": "UN", "alias": "United Nations"}
TOMATO: dict[str, Any] = {
    "type": "phoneme",
    "string_to_replace": "tomato",
    "phoneme": "təˈmɑːtoʊ",
    "alphabet": "ipa",
    "case_sensitive": False,
}
LEXICON = (
    b'<lexicon alphabet="ipa" xml:lang="en-GB"><lexeme><grapheme>UN</grapheme><alias>United Nations</alias></lexeme>'
    b"</lexicon>"
)


@pytest.fixture
def client(tmp_path: Path, phonemizer: Phonemizer) -> Iterator[TestClient]:
    with serve_ready(Settings(data_dir=tmp_path), Pipeline(FakeEngine(), phonemizer)) as client:
        yield client


def add(client: TestClient, name: str = "Names", rules: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    response = client.post(f"{ROOT}/add-from-rules", json={"name": name, "rules": [UN] if rules is None else rules})
    assert response.status_code == 200, response.text
    added: dict[str, Any] = response.json()
    return added


def test_add_from_rules(client: TestClient) -> None:
    body = {"name": " My  names ", "description": "d", "rules": [UN, TOMATO], "workspace_access": "viewer"}
    added = client.post(f"{ROOT}/add-from-rules", json=body).json()
    assert added == {
        "id": added["id"],
        "name": "My names",
        "created_by": "anyone",
        "creation_time_unix": added["creation_time_unix"],
        "version_id": added["version_id"],
        "version_rules_num": 2,
        "description": "d",
        "permission_on_resource": "admin",
    }
    assert client.get(f"{ROOT}/{added['id']}").json() == {
        "id": added["id"],
        "latest_version_id": added["version_id"],
        "latest_version_rules_num": 2,
        "name": "My names",
        "permission_on_resource": "admin",
        "created_by": "anyone",
        "creation_time_unix": added["creation_time_unix"],
        "archived_time_unix": None,
        "description": "d",
        "rules": [
            {**UN, "case_sensitive": True, "word_boundaries": True},
            {**TOMATO, "word_boundaries": True},
        ],
    }


def test_files_in_and_out(client: TestClient) -> None:
    form = {"name": "Names", "description": "d"}
    added = client.post(f"{ROOT}/add-from-file", data=form, files={"file": ("x.pls", LEXICON)}).json()
    assert (added["name"], added["version_rules_num"], added["description"]) == ("Names", 1, "d")
    path = f"{ROOT}/{added['id']}"
    client.post(
        f"{path}/add-rules", json={"rules": [TOMATO, {**UN, "string_to_replace": "ун", "word_boundaries": False}]}
    )
    version_id = client.get(path).json()["latest_version_id"]
    download = client.get(f"{path}/{version_id}/download")
    assert download.headers["content-type"] == "application/pls+xml"
    assert 'xml:lang="en-GB"' in download.text
    again = client.post(f"{ROOT}/add-from-file", data={"name": "Again"}, files={"file": ("f", download.content)}).json()
    assert client.get(f"{ROOT}/{again['id']}").json()["rules"] == client.get(path).json()["rules"]
    first = client.get(f"{path}/{added['version_id']}/download")
    assert "tomato" not in first.text
    empty = client.post(f"{ROOT}/add-from-file", data={"name": "Empty"}, files={"x": ("", b"")})
    assert empty.status_code in (200, 400)


def test_rules_are_edited_in_versions(client: TestClient) -> None:
    added = add(client)
    path = f"{ROOT}/{added['id']}"
    replaced = {**UN, "alias": "you end"}
    versions = [added["version_id"]]
    for route, body, count in (
        ("add-rules", {"rules": [TOMATO, replaced]}, 2),
        ("remove-rules", {"rule_strings": ["tomato", "unknown"]}, 1),
        ("set-rules", {"rules": [TOMATO]}, 1),
        ("set-rules", {"rules": []}, 0),
    ):
        changed = client.post(f"{path}/{route}", json=body).json()
        assert changed == {"id": added["id"], "version_id": changed["version_id"], "version_rules_num": count}
        assert client.get(path).json()["latest_version_id"] == changed["version_id"]
        versions.append(changed["version_id"])
    assert len(set(versions)) == 5
    downloads = [client.get(f"{path}/{version}/download").text for version in versions]
    assert ["you end" in each for each in downloads] == [False, True, True, False, False]
    assert ["tomato" in each for each in downloads] == [False, True, False, True, False]


def test_names_and_archives(client: TestClient) -> None:
    added = add(client)
    path = f"{ROOT}/{added['id']}"
    changed = client.patch(path, json={"name": "Other", "archived": True}).json()
    assert (changed["name"], "rules" in changed) == ("Other", False)
    assert changed["archived_time_unix"] >= added["creation_time_unix"]
    assert client.get(ROOT).json() == {"pronunciation_dictionaries": [], "next_cursor": None, "has_more": False}
    assert client.get(f"{ROOT}?include_archived=true").json()["pronunciation_dictionaries"] == [changed]
    assert client.patch(path, json={"archived": None}).json()["archived_time_unix"]
    assert client.patch(path, json={"archived": False}).json()["archived_time_unix"] is None
    assert client.get(ROOT).json()["pronunciation_dictionaries"][0]["name"] == "Other"


@pytest.mark.parametrize("sort", [None, "creation_time_unix", "name"])
@pytest.mark.parametrize("direction", [None, "ascending", "DESCENDING"])
def test_pages(client: TestClient, sort: str | None, direction: str | None) -> None:
    names = ["b", "A", "c", "B", "a"]
    added = [add(client, name) for name in names]
    query = {name: value for name, value in (("sort", sort), ("sort_direction", direction)) if value}
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = client.get(ROOT, params={**query, **cursor, "page_size": 2}).json()
        found += page["pronunciation_dictionaries"]
        assert page["has_more"] is (page["next_cursor"] is not None)
        if not page["has_more"]:
            break
        cursor = {"cursor": page["next_cursor"]}
        client.delete(f"{ROOT}/{found[-1]['id']}")  # a page goes on where the last one ended
    assert {each["id"] for each in found} == {each["id"] for each in added}
    keys = [each["name"].lower() if sort == "name" else each["creation_time_unix"] for each in found]
    assert keys == sorted(keys, reverse=direction != "ascending")


@pytest.mark.parametrize("cursor", ["x", "bm9uZQ==", "WzEsMl0=", "ＷzEs", "W10=", "eyJhIjoxfQ==", "WyJhIiwgImIiXQ=="])
def test_unknown_cursors(client: TestClient, cursor: str) -> None:
    add(client)
    response = client.get(ROOT, params={"cursor": cursor})
    assert (response.status_code, response.json()["detail"]["status"]) == (400, "invalid_cursor")


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ({**UN, "alias": None}, "alias"),
        ({**UN, "alias": " "}, "alias"),
        ({**UN, "alias": "x" * 201}, "alias"),
        ({**UN, "alias": "a\u0007b"}, "alias"),
        ({**UN, "string_to_replace": ""}, "string_to_replace"),
        ({**UN, "string_to_replace": "x" * 101}, "string_to_replace"),
        ({**UN, "type": "other"}, "type"),
        ({**UN, "case_sensitive": "perhaps"}, "case_sensitive"),
        ({**TOMATO, "alphabet": "x-sampa"}, "alphabet"),
        ({**TOMATO, "phoneme": "QQ1", "alphabet": "cmu-arpabet"}, "phoneme"),
        ({"type": "alias", "alias": "x"}, "string_to_replace"),
    ],
)
def test_invalid_rules(client: TestClient, rule: dict[str, Any], field: str) -> None:
    added = add(client)
    for path in ("add-from-rules", f"{added['id']}/set-rules", f"{added['id']}/add-rules"):
        response = client.post(f"{ROOT}/{path}", json={"name": "x", "rules": [UN, rule]})
        assert response.status_code == 422, response.text
        assert response.json()["detail"][0]["loc"] == ["body", "rules", 1, field]
    assert len(client.get(ROOT).json()["pronunciation_dictionaries"]) == 1
    assert client.get(f"{ROOT}/{added['id']}").json()["latest_version_id"] == added["version_id"]


def test_limits(client: TestClient) -> None:
    many = [{**UN, "string_to_replace": f"w{number}"} for number in range(MAX_RULES)]
    added = add(client, rules=many)
    assert len(client.get(f"{ROOT}/{added['id']}").json()["rules"]) == MAX_RULES
    assert client.post(f"{ROOT}/{added['id']}/add-rules", json={"rules": [many[0]]}).status_code == 200
    for response in (
        client.post(f"{ROOT}/{added['id']}/add-rules", json={"rules": [UN]}),
        client.post(f"{ROOT}/add-from-rules", json={"name": "x", "rules": [*many, UN]}),
        client.post(f"{ROOT}/add-from-rules", json={"name": "", "rules": []}),
        client.post(f"{ROOT}/add-from-rules", json={"name": "x" * 101, "rules": []}),
        client.post(f"{ROOT}/add-from-rules", json={"name": "x", "description": "x" * 2001, "rules": []}),
        client.post(f"{ROOT}/add-from-file", data={"description": "no name"}, files={"file": ("x", LEXICON)}),
        client.patch(f"{ROOT}/{added['id']}", json={"name": " "}),
    ):
        assert response.status_code == 422, response.text
    large = client.post(f"{ROOT}/add-from-file", data={"name": "x"}, files={"file": ("x", b" " * 2_500_000)})
    assert (large.status_code, large.json()["detail"]["status"]) == (413, "request_too_large")
    bad = client.post(f"{ROOT}/add-from-file", data={"name": "x"}, files={"file": ("x", b"<!DOCTYPE x><lexicon/>")})
    assert (bad.status_code, bad.json()["detail"]["status"]) == (400, "invalid_lexicon")
    assert "line 1" in bad.json()["detail"]["message"]


def test_too_many_dictionaries(tmp_path: Path, phonemizer: Phonemizer) -> None:
    settings = Settings(data_dir=tmp_path, max_dictionaries=1)
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer)) as client:
        added = add(client)
        response = client.post(f"{ROOT}/add-from-rules", json={"name": "x", "rules": []})
        assert response.status_code == 400
        assert response.json()["detail"]["status"] == "pronunciation_dictionary_limit_reached"
        client.delete(f"{ROOT}/{added['id']}")
        add(client)


def test_unknown_dictionaries_are_not_found(client: TestClient) -> None:
    added = add(client)
    assert client.delete(f"{ROOT}/{added['id']}").json() == {"status": "ok"}
    for dictionary_id in (added["id"], "x" * 20, "removed", "..%2f.."):
        path = f"{ROOT}/{dictionary_id}"
        for response in (
            client.get(path),
            client.patch(path, json={"name": "x"}),
            client.delete(path),
            client.post(f"{path}/set-rules", json={"rules": [UN]}),
            client.post(f"{path}/add-rules", json={"rules": [UN]}),
            client.post(f"{path}/remove-rules", json={"rule_strings": ["UN"]}),
            client.get(f"{path}/{added['version_id']}/download"),
        ):
            assert response.status_code == 404, response.text
    other = add(client)
    assert client.get(f"{ROOT}/{other['id']}/{added['version_id']}/download").status_code == 404


def test_tokens_may_not_see_or_change_dictionaries(tmp_path: Path, phonemizer: Phonemizer) -> None:
    settings = Settings(data_dir=tmp_path, api_key="a-key", api_keys_table=f"sqlite:///{tmp_path}/keys.db")
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer)) as client:
        key = {"xi-api-key": "a-key"}
        assert client.get(ROOT).status_code == 401
        token = {"xi-api-key": client.post("/v1/tokens/ephemeral", headers=key).json()["token"]}
        body = {"name": "x", "rules": [UN]}
        added = client.post(f"{ROOT}/add-from-rules", headers=key, json=body).json()
        assert added["created_by"] == "static-1"
        path = f"{ROOT}/{added['id']}"
        for method, each in (
            ("GET", ROOT),
            ("GET", path),
            ("DELETE", path),
            ("PATCH", path),
            ("POST", f"{path}/set-rules"),
        ):
            response = client.request(method, each, headers=token, json={"name": "x", "rules": []})
            assert (response.status_code, response.json()["detail"]["status"]) == (401, "insufficient_scope")
        spoken = client.post(
            SPEAK,
            headers=token,
            json={"text": "UN", "pronunciation_dictionary_locators": [{"pronunciation_dictionary_id": added["id"]}]},
        )
        assert spoken.headers["x-svc-dictionaries"] == f"{added['id']}/{added['version_id']}"


def spoken_words(response: Any) -> str:
    """The words that were read; one that two chunks share counts once."""
    assert response.status_code == 200, response.text
    parts = [part["normalized_alignment"] for part in map(json.loads, response.text.splitlines())]
    text = "".join("".join(part["characters"]) for part in parts if part)
    return re.sub(r"(\w{4,}) ?(?=\1)", "", text)


@pytest.mark.parametrize("path", ["/with-timestamps", "/stream/with-timestamps"])
def test_speech_with_dictionaries(client: TestClient, path: str) -> None:
    added = add(client, rules=[UN])
    changed = client.post(f"{ROOT}/{added['id']}/add-rules", json={"rules": [{**UN, "alias": "you end"}]}).json()
    second = add(client, rules=[{**UN, "alias": "never"}, {**UN, "string_to_replace": "EU", "alias": "European Union"}])
    text = "The UN and the EU met on <b>3</b> May."

    def speak(*locators: object) -> Any:
        return client.post(SPEAK + path, json={"text": text, "pronunciation_dictionary_locators": list(locators)})

    def locator(dictionary: dict[str, Any], version: str | None = None) -> dict[str, Any]:
        return {"pronunciation_dictionary_id": dictionary["id"], "version_id": version}

    assert "The UN and the EU" in spoken_words(speak())
    assert "The you end and the EU" in spoken_words(speak(locator(added)))
    old = speak(locator(added, added["version_id"]), locator(second))
    assert "The United Nations and the European Union met" in spoken_words(old)
    assert old.headers["x-svc-dictionaries"] == (
        f"{added['id']}/{added['version_id']}, {second['id']}/{second['version_id']}"
    )
    original = "".join(
        "".join(part["alignment"]["characters"]) for part in map(json.loads, old.text.splitlines()) if part["alignment"]
    )
    assert original == text
    unknown = speak({"pronunciation_dictionary_id": "x"}, locator(added, "x"), 5, added["id"])
    assert unknown.headers["x-svc-dictionaries"] == f"{added['id']}/{changed['version_id']}"
    assert speak(locator(added, "x")).headers["x-svc-dictionaries"] == "none"
    assert "x-svc-dictionaries" not in speak().headers


def test_unknown_dictionaries_are_logged(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        client.post(SPEAK, json={"text": "Hi.", "pronunciation_dictionary_locators": ["nobody-knows-it\n" * 100]})
    assert "nobody-knows-it" in caplog.text
    assert "does not exist and is ignored" in caplog.text
