"""Models, account and history: enough for the start-up code of clients."""

import pytest
from fastapi.testclient import TestClient

from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.conftest import serve_ready


def test_there_is_one_model(client: TestClient) -> None:
    (model,) = client.get("/v1/models").json()
    assert model["model_id"] == "svc-turbo"
    assert model["can_do_text_to_speech"] is True
    assert {each["language_id"] for each in model["languages"]} >= {"en", "es", "fr", "hi", "it", "ja", "pt", "zh"}


def test_aliases_are_opt_in(phonemizer: Phonemizer) -> None:
    aliases = "eleven_multilingual_v2, eleven_flash_v2_5"
    with serve_ready(Settings(model_aliases=aliases), Pipeline(FakeEngine(), phonemizer)) as client:
        models = [model["model_id"] for model in client.get("/v1/models").json()]
    assert models == ["svc-turbo", "eleven_multilingual_v2", "eleven_flash_v2_5"]


def test_the_model_id_is_echoed(client: TestClient) -> None:
    def get_model_header(**body: object) -> str:
        return client.post("/v1/text-to-speech/af_heart", json={"text": "Hi.", **body}).headers["x-svc-model"]

    assert get_model_header() == "svc-turbo"
    assert get_model_header(model_id="eleven_v3") == "eleven_v3"
    assert get_model_header(model_id="bad\r\nheader: 1") == "svc-turbo"
    assert get_model_header(model_id=["x"]) == "svc-turbo"


def test_account(client: TestClient) -> None:
    user = client.get("/v1/user").json()
    subscription = client.get("/v1/user/subscription").json()
    assert user["subscription"].items() <= subscription.items()
    assert subscription["status"] == "active"
    assert subscription["character_limit"] > 10**9
    assert subscription["open_invoices"] == []


@pytest.mark.parametrize("path", ["preferences", "usage", "workspace/seats", "", "x" * 1000, "subscription/x"])
def test_every_path_of_the_family_answers_a_stub(client: TestClient, path: str) -> None:
    user = client.get("/v1/user").json()
    response = client.get(f"/v1/user/{path}")
    assert response.status_code == 200
    assert response.json() == ({"time": [], "usage": {"All": []}} if path == "usage" else user)
    assert client.delete(f"/v1/user/{path}").status_code == 405, "nothing is pretended to be changed"


def test_history_is_empty(client: TestClient) -> None:
    assert client.get("/v1/history?page_size=100").json()["history"] == []
    for response in (client.get("/v1/history/x"), client.get("/v1/history/x/audio"), client.delete("/v1/history/x")):
        assert (response.status_code, response.json()["detail"]["status"]) == (404, "history_item_not_found")
