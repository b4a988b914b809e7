"""Mixes over HTTP: spoken like any voice, described, and kept as custom voices."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.conftest import serve_ready

MIX = "af_bella(3)+af_nicole"
PARTS = [{"voice_id": "af_bella", "weight": 3}, {"voice_id": "af_nicole", "weight": 1}]


@pytest.fixture
def service(phonemizer: Phonemizer, tmp_path: Path) -> Iterator[TestClient]:
    settings = Settings(data_dir=tmp_path, max_custom_voices=2, require_consent=True)
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer)) as client:
        yield client


@pytest.mark.parametrize("written", [MIX, quote(MIX, safe=""), "af_bella(3)+af_nicole(1)"])
def test_a_mix_speaks_wherever_an_id_does(client: TestClient, written: str) -> None:
    response = client.post(f"/v1/text-to-speech/{written}?output_format=pcm_24000", json={"text": "Hello."})
    assert response.headers["x-svc-voice"] == MIX
    alone = client.post("/v1/text-to-speech/af_bella?output_format=pcm_24000", json={"text": "Hello."})
    assert response.content != alone.content


def test_a_mix_is_described_and_is_not_in_the_list(client: TestClient) -> None:
    voice = client.get(f"/v1/voices/{quote(MIX)}").json()
    assert (voice["voice_id"], voice["name"], voice["is_mixed"]) == (MIX, "Bella 75% + Nicole 25%", True)
    assert (voice["category"], voice["preview_url"], voice["cloning"]) == ("generated", None, None)
    assert voice["labels"] == {"accent": "american", "gender": "female", "language": "en"}
    assert client.get(f"/v1/voices/{quote(MIX)}/settings").json()["speed"] == 1
    assert all(each["voice_id"] != MIX for each in client.get("/v1/voices").json()["voices"])


def test_a_mix_that_is_not_stored_cannot_be_changed_and_has_no_preview(client: TestClient) -> None:
    path = f"/v1/voices/{quote(MIX)}"
    for response in (
        client.post(f"{path}/settings/edit", json={"speed": 1.1}),
        client.delete(path),
        client.post(f"{path}/edit", data={"name": "Mine"}),
    ):
        assert (response.status_code, response.json()["detail"]["status"]) == (400, "mixed_voice")
    preview = client.get(f"/previews/{quote(MIX)}.mp3")
    assert (preview.status_code, preview.json()["detail"]["status"]) == (404, "voice_not_found")


def test_a_kept_mix_is_a_custom_voice(service: TestClient) -> None:
    kept = service.post("/v1/voices/mix", json={"name": " Mine ", "parts": PARTS}).json()
    assert kept["voice_id"].startswith("custom-")
    assert (kept["name"], kept["category"], kept["is_mixed"], kept["cloning"]) == ("Mine", "cloned", True, None)
    assert kept["labels"]["mix"] == "af_bella(0.75)+af_nicole(0.25)"
    assert service.get(f"/v1/voices/{kept['voice_id']}").json() == kept
    assert kept in service.get("/v1/voices").json()["voices"]

    def speak(voice_id: str) -> bytes:
        path = f"/v1/text-to-speech/{voice_id}?output_format=pcm_24000"
        return service.post(path, json={"text": "Hello."}).content

    assert speak(kept["voice_id"]) == speak(MIX)
    assert service.get(kept["preview_url"]).status_code == 200
    edited = service.post(f"/v1/voices/{kept['voice_id']}/edit", data={"name": "Ours"})
    assert edited.status_code == 200
    refined = service.post(f"/v1/voices/{kept['voice_id']}/edit", data={"refine": "true"})
    assert refined.json()["detail"]["status"] == "no_reference"
    assert service.delete(f"/v1/voices/{kept['voice_id']}").status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "Mine", "parts": PARTS[:1]}, 422),
        ({"name": "Mine", "parts": 5 * PARTS}, 422),
        ({"name": " ", "parts": PARTS}, 422),
        ({"name": "x" * 101, "parts": PARTS}, 422),
        ({"name": "Mine", "parts": [PARTS[0], {"voice_id": "af_sky", "weight": 0}]}, 422),
        ({"name": "Mine", "parts": [PARTS[0], {"voice_id": "af_sky", "weight": "NaN"}]}, 422),
        ({"name": "Mine", "parts": [PARTS[0], {"voice_id": "nobody"}]}, 404),
        ({"name": "Mine", "parts": [PARTS[0], {"voice_id": "af_sky+af_heart"}]}, 404),
        ({"parts": PARTS}, 422),
    ],
)
def test_what_cannot_be_mixed_is_refused(service: TestClient, body: dict[str, object], status: int) -> None:
    assert service.post("/v1/voices/mix", json=body).status_code == status
    assert len(service.get("/v1/voices").json()["voices"]) == 54


def test_kept_mixes_count_as_custom_voices(service: TestClient) -> None:
    answers = [service.post("/v1/voices/mix", json={"name": "Mine", "parts": PARTS}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 400]
    assert answers[-1].json()["detail"]["status"] == "voice_limit_reached"
