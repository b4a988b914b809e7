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


def test_what_the_model_can_do(client: TestClient) -> None:
    (model,) = client.get("/v1/models").json()
    del model["languages"]
    assert model == {
        "model_id": "svc-turbo",
        "name": "svc-turbo",
        "description": "Natural speech in many languages, on your own machine.",
        "can_do_text_to_speech": True,
        "can_do_voice_conversion": False,
        "can_be_finetuned": False,
        "can_use_style": True,
        "can_use_speaker_boost": True,
        "serves_pro_voices": False,
        "requires_alpha_access": False,
        "token_cost_factor": 0.0,
        "max_characters_request_free_user": 40_000,
        "max_characters_request_subscribed_user": 40_000,
        "maximum_text_length_per_request": 40_000,
        "model_rates": {"character_cost_multiplier": 0.0},
        "concurrency_group": "standard",
    }


def test_no_limit_of_an_account_is_near(client: TestClient) -> None:
    subscription = client.get("/v1/user/subscription").json()
    assert {name: subscription[name] for name in subscription if "limit" in name or "count" in name} == {
        "character_count": 0,
        "character_limit": 2**31 - 1,
        "max_character_limit_extension": None,
        "max_credit_limit_extension": "unlimited",
        "can_extend_character_limit": False,
        "allowed_to_extend_character_limit": False,
        "next_character_count_reset_unix": 4_102_444_800,
        "voice_limit": 2**31 - 1,
        "voice_add_edit_counter": 0,
        "professional_voice_limit": 0,
        "can_extend_voice_limit": False,
    }


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
