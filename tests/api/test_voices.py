"""The voices, as clients of the imitated API see them."""

import io
from pathlib import Path

import av
import pytest
from fastapi.testclient import TestClient

from svc.api.voice_schemas import VoiceList, VoicePage
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.conftest import serve_ready

HEART = "svcAfHeart0000000000"


def test_list(client: TestClient) -> None:
    voices = client.get("/v1/voices").json()["voices"]
    assert len(voices) == 54
    for voice in voices:
        assert voice["category"] == "premade"
        assert voice["settings"]["stability"] == 0.5
        assert all(isinstance(value, str) for value in voice["labels"].values())
        assert {"accent", "gender", "language", "age", "description", "use_case"} <= set(voice["labels"])
        assert voice["verified_languages"][0]["model_id"] == "svc-turbo"
    assert "Sarah" in {voice["name"] for voice in voices}


def test_one(client: TestClient) -> None:
    voice = client.get(f"/v1/voices/{HEART}").json()
    assert (voice["voice_id"], voice["name"]) == (HEART, "Heart")
    assert voice["labels"]["accent"] == "american"
    assert voice["labels"]["language"] == "en"
    assert client.get("/v1/voices/af_heart").json() == voice
    assert client.get(f"/v1/voices/{HEART}?with_settings=false").json()["settings"] is None


def test_unknown_ids(client: TestClient, phonemizer: Phonemizer) -> None:
    assert client.get("/v1/voices/nobody").json()["voice_id"] == HEART
    with serve_ready(
        Settings(strict_voices=True, default_voice="bm_george"), Pipeline(FakeEngine(), phonemizer)
    ) as strict:
        for path in ("/v1/voices/nobody", "/v1/voices/nobody/settings"):
            response = strict.get(path)
            assert (response.status_code, response.json()["detail"]["status"]) == (404, "voice_not_found")


def test_search_pages_and_counts(client: TestClient) -> None:
    def ask(**parameters: str | int | list[str]) -> dict[str, object]:
        response = client.get("/v2/voices", params=parameters)
        assert response.status_code == 200
        body: dict[str, object] = response.json()
        return body

    seen: list[str] = []
    token = ""
    while True:
        page = ask(page_size=20, next_page_token=token, sort="name", sort_direction="desc")
        assert page["total_count"] == 54
        seen += [voice["name"] for voice in page["voices"]]  # type: ignore[attr-defined]
        if not page["has_more"]:
            assert page["next_page_token"] is None
            break
        token = str(page["next_page_token"])
    assert len(seen) == 54
    assert [name.lower() for name in seen] == sorted((name.lower() for name in seen), reverse=True)
    assert ask(search="british male")["total_count"] == 4
    assert ask(language=["fr", "it"])["total_count"] == 3
    assert ask(category="cloned")["total_count"] == 0
    assert ask(voice_ids=[HEART])["total_count"] == 1
    assert ask(gender="female", accent="japanese")["total_count"] == 4
    assert ask(page_size=100000, next_page_token="", collection_id="x", fine_tuning_state="y")["has_more"] is False


@pytest.mark.parametrize("token", ["nonsense", "YXQgLTE=", "YXQgMA==", "YXQgMjA", "IGF0IDIw", "é", "99", "YXQgMjA= "])
def test_unknown_page_tokens(client: TestClient, token: str) -> None:
    response = client.get("/v2/voices", params={"next_page_token": token})
    assert (response.status_code, response.json()["detail"]["status"]) == (400, "invalid_page_token")


def test_legacy_names_are_listed_on_request(client: TestClient, phonemizer: Phonemizer) -> None:
    listed = client.get("/v1/voices?show_legacy=true").json()["voices"]
    legacy = {voice["name"]: voice["voice_id"] for voice in listed if voice["is_legacy"]}
    assert set(legacy) == {"Rachel", "Domi", "Bella", "Antoni", "Elli", "Josh", "Arnold", "Adam", "Sam"}
    assert legacy["Rachel"] == "21m00Tcm4TlvDq8ikWAM"
    for voice_id in legacy.values():
        speech = client.post(f"/v1/text-to-speech/{voice_id}", json={"text": "Hello."})
        assert speech.headers["x-svc-voice"] == client.get(f"/v1/voices/{voice_id}").json()["voice_id"]
    assert len(client.get("/v1/voices?show_legacy=false").json()["voices"]) == 54
    with serve_ready(Settings(strict_voices=True), Pipeline(FakeEngine(), phonemizer)) as strict:
        assert len(strict.get("/v1/voices?show_legacy=true").json()["voices"]) == 54, "their ids are unknown there"


def test_voices_are_searched_by_every_id_that_names_one(client: TestClient, phonemizer: Phonemizer) -> None:
    ids = ["21m00Tcm4TlvDq8ikWAM", "bm_george", "Sarah", "EXAVITQu4vr4xnSDxMaL", "add", HEART, "nobody"]
    found = client.get("/v2/voices", params={"voice_ids": ids}).json()
    assert [voice["name"] for voice in found["voices"]] == ["Heart", "George", "Sarah"]
    for voice_id in ids:
        if voice_id != "add":
            (one,) = client.get("/v2/voices", params={"voice_ids": voice_id}).json()["voices"]
            assert one == client.get(f"/v1/voices/{voice_id}").json()
    with serve_ready(Settings(strict_voices=True), Pipeline(FakeEngine(), phonemizer)) as strict:
        found = strict.get("/v2/voices", params={"voice_ids": ids}).json()
        assert [voice["name"] for voice in found["voices"]] == ["George", "Sarah", "Heart"]


def test_the_lists_are_rendered_as_their_schema_says(client: TestClient) -> None:
    for path in ("/v1/voices", "/v2/voices?page_size=3", "/v2/voices?search=nobody"):
        response = client.get(path)
        assert response.headers["content-type"] == "application/json"
        model = VoiceList if "v1" in path else VoicePage
        assert model.model_validate(response.json()).model_dump(mode="json") == response.json()


def test_default_settings(client: TestClient) -> None:
    assert client.get("/v1/voices/settings/default").json() == {
        "stability": 0.5,
        "similarity_boost": 0.75,
        "style": 0.0,
        "use_speaker_boost": True,
        "speed": 1.0,
    }


def test_edited_settings_are_kept_and_spoken_with(phonemizer: Phonemizer, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    speak = f"/v1/text-to-speech/{HEART}?output_format=pcm_24000"
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer)) as client:
        before = client.post(speak, json={"text": "Hello."}).content
        edited = client.post(f"/v1/voices/{HEART}/settings/edit", json={"speed": 9, "stability": None})
        assert (edited.status_code, edited.json()) == (200, {"status": "ok"})
        unknown = client.post("/v1/voices/nobody/settings/edit", json={"speed": 1})
        assert unknown.status_code == 404
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer)) as client:
        kept = client.get(f"/v1/voices/{HEART}/settings").json()
        assert (kept["speed"], kept["stability"]) == (2.0, 0.5)
        assert len(client.post(speak, json={"text": "Hello."}).content) < 0.6 * len(before)
        asked = client.post(speak, json={"text": "Hello.", "voice_settings": {"speed": 1.0}}).content
        assert len(asked) == len(before)


def test_previews_play(client: TestClient) -> None:
    for voice in client.get("/v1/voices").json()["voices"][::9]:
        response = client.get(voice["preview_url"])
        assert response.headers["content-type"] == "audio/mpeg"
        with av.open(io.BytesIO(response.content), "r") as container:
            assert sum(int(frame.samples) for frame in container.decode(container.streams.audio[0])) > 44_100
    assert client.get("/previews/nobody.mp3").status_code == 404
    assert client.get("/previews/..%2f..%2fetc%2fpasswd.mp3").status_code == 404


@pytest.mark.parametrize("voice", ["nobody", ""])
def test_wrong_default_voice_stops_the_server(voice: str, phonemizer: Phonemizer) -> None:
    from svc.app import create_app
    from svc.errors import VoiceNotFound

    with pytest.raises(VoiceNotFound):
        create_app(Settings(default_voice=voice), Pipeline(FakeEngine(), phonemizer))
