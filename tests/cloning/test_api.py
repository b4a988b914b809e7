"""Cloning over HTTP: the service's own paths, and those of the imitated API with its clients' quirks."""

import base64
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from svc.app import create_app
from svc.audio.samples import Samples
from svc.cloning.speaker_encoder import BuiltInEmbeddings, SpeakerEmbedding, SpeakerEncoder
from svc.engine.fake import FakeEngine
from svc.errors import EngineUnavailable, VoiceNotFound
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from svc.voices.parameters import VoiceParameters
from tests.audio.recordings import RATE, encode_recording, music
from tests.clients.conftest import serving
from tests.cloning.fakes import FakeSpeakerEncoder, load_fake_encoder
from tests.conftest import serve_ready

Serve = Callable[..., AbstractContextManager[TestClient]]


@pytest.fixture
def serve(phonemizer: Phonemizer, tmp_path: Path) -> Serve:
    """A service with the fake engine and encoder; called again, it is the same service after a restart."""

    def serve(**settings: Any) -> AbstractContextManager[TestClient]:
        chosen = Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache", **settings)
        return serve_ready(chosen, Pipeline(FakeEngine(), phonemizer), load_fake_encoder)

    return serve


@pytest.fixture
def client(serve: Serve) -> Iterator[TestClient]:
    with serve() as client:
        yield client


def status_of(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["detail"]["status"]


def clone(client: TestClient, wav: bytes, path: str = "/voices", **fields: Any) -> Any:
    return client.post(
        path, data={"name": "Anna", **fields}, files={"files": ("blob", wav, "application/octet-stream")}
    )


def test_a_clone_has_the_corrected_parameters(phonemizer: Phonemizer, tmp_path: Path, wav: bytes) -> None:
    class CorrectingEncoder(FakeSpeakerEncoder):
        def correct(self, speaker: SpeakerEmbedding, spoken: Samples, rate: int) -> VoiceParameters:
            assert len(spoken) > rate
            return replace(speaker.parameters, timbre=-speaker.parameters.timbre)

    audio: list[bytes] = []
    for encoder in (FakeSpeakerEncoder(), CorrectingEncoder()):
        settings = Settings(data_dir=tmp_path / str(len(audio)), cache_dir=tmp_path / "cache")
        load = partial(_load_with, encoder)
        with serve_ready(settings, Pipeline(FakeEngine(), phonemizer), load) as client:
            voice_id = clone(client, wav).json()["voice_id"]
            path = f"/v1/text-to-speech/{voice_id}?output_format=pcm_24000"
            audio.append(client.post(path, json={"text": "Hello."}).content)
    assert audio[0] != audio[1]


def _load_with(encoder: SpeakerEncoder) -> tuple[SpeakerEncoder, BuiltInEmbeddings]:
    return encoder, load_fake_encoder()[1]


def test_a_voice_is_cloned_listed_and_speaks(client: TestClient, wav: bytes) -> None:
    response = clone(
        client, wav, description="Warm.", labels='{"accent": "irish", "gender": "female"}', language="en-GB"
    )
    assert response.status_code == 200
    voice = response.json()
    voice_id = voice["voice_id"]
    assert voice_id.startswith("custom-")
    assert len(voice_id) == 27
    assert (voice["name"], voice["category"], voice["description"]) == ("Anna", "cloned", "Warm.")
    assert voice["labels"] == {"language": "en", "accent": "irish", "gender": "female"}
    assert voice["is_owner"] is True
    assert voice["created_at_unix"] > 1_700_000_000
    assert voice["verified_languages"][0]["locale"] == "en-GB"
    cloning = voice["cloning"]
    assert 10 < cloning["speech_seconds"] <= cloning["clip_seconds"] < 20
    assert -1 <= cloning["similarity"] <= 1
    assert cloning["nearest_built_in_voice"] == "Heart"
    assert cloning["snr_db"] > 20
    assert cloning["clipping"] == 0
    assert cloning["warnings"] == []
    assert client.get(f"/v1/voices/{voice_id}").json() == voice
    assert voice in client.get("/v1/voices").json()["voices"]
    for query in ({"category": "cloned"}, {"search": "anna warm"}, {"voice_type": "personal"}, {"voice_ids": voice_id}):
        found = client.get("/v2/voices", params=query).json()
        assert [each["voice_id"] for each in found["voices"]] == [voice_id]
    spoken = client.post(f"/v1/text-to-speech/{voice_id}?output_format=pcm_24000", json={"text": "Hello."})
    assert spoken.headers["x-svc-voice"] == voice_id
    other = client.post("/v1/text-to-speech/af_heart?output_format=pcm_24000", json={"text": "Hello."})
    assert spoken.content != other.content
    assert client.post("/v1/text-to-speech/Anna", json={"text": "Hi."}).headers["x-svc-voice"] == voice_id


def test_a_removed_voice_loses_its_settings(client: TestClient, wav: bytes) -> None:
    voice_id = clone(client, wav).json()["voice_id"]
    assert client.post(f"/v1/voices/{voice_id}/settings/edit", json={"speed": 1.5}).status_code == 200
    assert client.get(f"/v1/voices/{voice_id}/settings").json()["speed"] == 1.5
    assert client.delete(f"/voices/{voice_id}").status_code == 200
    assert client.get(f"/v1/voices/{voice_id}/settings").json()["speed"] == 1.0


def test_voices_survive_a_restart(serve: Serve, wav: bytes) -> None:
    with serve() as client:
        voice = clone(client, wav).json()
    with serve() as client:
        assert client.get(f"/v1/voices/{voice['voice_id']}").json() == voice
        assert client.delete(f"/voices/{voice['voice_id']}").json() == {"status": "ok"}
    with serve() as client:
        assert client.get("/v2/voices", params={"category": "cloned"}).json()["voices"] == []


def test_json_with_base64(client: TestClient, wav: bytes) -> None:
    text = base64.b64encode(wav).decode()
    for field in ({"file": text}, {"files": [text]}, {"file": f"data:audio/wav;base64,{text}"}):
        body = {"name": "Böses Müsli 🙂", "labels": {"age": 33, "mood": None}, "consent": True, **field}
        voice = client.post("/voices", json=body).json()
        assert voice["name"] == "Böses Müsli 🙂"
        assert voice["labels"] == {"language": "en", "age": "33"}
        assert voice["cloning"]["consent"] is True


def test_a_voice_is_removed(client: TestClient, wav: bytes) -> None:
    for path in ("/voices", "/v1/voices"):
        voice_id = clone(client, wav).json()["voice_id"]
        response = client.delete(f"{path}/{voice_id}")
        assert (response.status_code, response.json()) == (200, {"status": "ok"})
        assert status_of(client.delete(f"{path}/{voice_id}")) == (404, "voice_not_found")
        spoken = client.post(f"/v1/text-to-speech/{voice_id}", json={"text": "Hi."})
        assert spoken.headers["x-svc-voice"] == "svcAfHeart0000000000"
        assert status_of(client.delete(f"{path}/af_heart")) == (400, "built_in_voice")
        assert status_of(client.delete(f"{path}/svcAfHeart0000000000")) == (400, "built_in_voice")
        for unknown in ("nobody", "custom-1", "custom-..%2f..%2fx", "removed"):
            assert client.delete(f"{path}/{unknown}").status_code == 404


def test_a_voice_is_not_removed_by_name(client: TestClient, wav: bytes) -> None:
    clone(client, wav)
    assert status_of(client.delete("/voices/Anna")) == (404, "voice_not_found")


def test_with_strict_voices_a_removed_one_is_not_found(serve: Serve, wav: bytes) -> None:
    with serve(strict_voices=True) as client:
        voice_id = clone(client, wav).json()["voice_id"]
        assert client.post(f"/v1/text-to-speech/{voice_id}", json={"text": "Hi."}).status_code == 200
        client.delete(f"/voices/{voice_id}")
        assert status_of(client.post(f"/v1/text-to-speech/{voice_id}", json={"text": "Hi."})) == (
            404,
            "voice_not_found",
        )


def test_a_cloned_default_voice_falls_back_when_removed(serve: Serve, wav: bytes) -> None:
    with serve() as client:
        voice_id = clone(client, wav).json()["voice_id"]
    with serve(default_voice=voice_id) as client:
        assert client.get("/v1/voices/nobody").json()["voice_id"] == voice_id
        client.delete(f"/voices/{voice_id}")
        assert client.get("/v1/voices/nobody").json()["name"] == "Heart"
    with pytest.raises(VoiceNotFound, match="SVC_DEFAULT_VOICE"), serve(default_voice=voice_id):
        pass


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ('{"accent": "irish", "age": null, "n": 3}', {"accent": "irish", "n": "3"}),
        ("null", {}),
        ("", {}),
        ("{'accent': 'irish'}", {"accent": "irish"}),
        ("deep and slow", {"description": "deep and slow"}),
        ("[1, 2", {"description": "[1, 2"}),
        ("{" * 5000, {"description": "{" * 300}),
    ],
)
def test_labels_as_clients_send_them(client: TestClient, wav: bytes, labels: str, expected: dict[str, str]) -> None:
    added = clone(client, wav, "/v1/voices/add", labels=labels)
    assert added.status_code == 200
    assert set(added.json()) == {"voice_id", "requires_verification"}
    assert added.json()["requires_verification"] is False
    voice_id = added.json()["voice_id"]
    assert client.get(f"/v1/voices/{voice_id}").json()["labels"] == {"language": "en", **expected}
    client.post(f"/v1/voices/{voice_id}/edit", data={"name": "B", "labels": "{'x': 'y'}"})
    client.post(f"/v1/voices/{voice_id}/edit", data={"name": "B", "labels": labels})
    kept = {"x": "y"} if labels in ("", "null") else expected
    assert client.get(f"/v1/voices/{voice_id}").json()["labels"] == {"language": "en", **kept}


def test_parts_in_any_order_of_any_type_and_chunked(client: TestClient, wav: bytes) -> None:
    def parts() -> Iterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="files"; filename="clip"\r\n'
        yield b"Content-Type: audio/mpeg\r\n\r\n"
        yield from (wav[at : at + 50_000] for at in range(0, len(wav), 50_000))
        yield b'\r\n--x\r\nContent-Disposition: form-data; name="labels"\r\n\r\nnull'
        yield b'\r\n--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nLater\r\n--x--\r\n'

    headers = {"content-type": "multipart/form-data; boundary=x"}
    response = client.post("/v1/voices/add", content=parts(), headers=headers)
    assert response.status_code == 200
    assert client.get(f"/v1/voices/{response.json()['voice_id']}").json()["name"] == "Later"


def test_several_files_make_one_voice(client: TestClient, spoken: Samples) -> None:
    half = len(spoken) // 2
    files = [
        ("files", ("a", encode_recording(spoken[:half], "mp3"))),
        ("files", ("b", encode_recording(spoken[half:], "webm"))),
    ]
    voice = client.post("/voices", data={"name": "Anna"}, files=files).json()
    assert voice["cloning"]["clip_seconds"] == pytest.approx(len(spoken) / RATE, abs=0.2)


def test_a_voice_is_edited(client: TestClient, wav: bytes, spoken: Samples) -> None:
    voice_id = clone(client, wav, description="Old.").json()["voice_id"]
    path = f"/v1/voices/{voice_id}/edit"
    urlencoded = client.post(path, data={"name": "Berta", "labels": "null"})
    assert (urlencoded.status_code, urlencoded.json()) == (200, {"status": "ok"})
    before = client.get(f"/v1/voices/{voice_id}").json()
    assert (before["name"], before["description"], before["cloning"]["revision"]) == ("Berta", "Old.", 2)
    speak = f"/v1/text-to-speech/{voice_id}?output_format=pcm_24000"
    earlier = client.post(speak, json={"text": "Hello."}).content
    more = encode_recording(spoken[::-1].copy()[: RATE * 3], "wav 8 kHz")
    assert client.post(path, data={"name": "Berta"}, files={"files": ("x", more)}).status_code == 200
    after = client.get(f"/v1/voices/{voice_id}").json()
    assert after["cloning"]["revision"] == 3
    assert after["cloning"]["clip_seconds"] > before["cloning"]["used_seconds"] + 2
    assert client.post(speak, json={"text": "Hello."}).content != earlier
    assert status_of(client.post(path, data={}, files={"files": ("x", b"nonsense")})) == (400, "not_audio")
    assert client.get(f"/v1/voices/{voice_id}").json() == after
    assert status_of(client.post("/v1/voices/af_heart/edit", data={"name": "X"})) == (400, "built_in_voice")
    assert status_of(client.post("/v1/voices/custom-nobody/edit", data={"name": "X"})) == (404, "voice_not_found")
    assert status_of(client.post("/v1/voices/Berta/edit", data={"name": "X"})) == (404, "voice_not_found")


def test_refused_recordings_leave_nothing_behind(client: TestClient, wav: bytes, spoken: Samples) -> None:
    def flac(samples: Samples) -> bytes:
        return encode_recording(samples, "flac")

    for content, status in (
        (b"nonsense", "not_audio"),
        (b"", "not_audio"),
        (wav[:60], "clip_damaged"),
        (encode_recording(spoken, "m4a")[:5000], "clip_damaged"),
        (flac(np.zeros(10 * RATE, np.float32)), "clip_silent"),
        (flac(spoken[:RATE]), "clip_too_short"),
        (flac(spoken[: RATE // 2]), "clip_too_short"),
        (flac(music(12)), "no_speech"),
    ):
        response = clone(client, content)
        assert status_of(response) == (400, status)
        assert response.json()["detail"]["message"]
    assert client.get("/v2/voices", params={"category": "cloned"}).json()["total_count"] == 0


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "  "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"language": "klingon"}, "language"),
        ({"description": "x" * 3000}, "description"),
    ],
)
def test_invalid_fields_are_refused(client: TestClient, wav: bytes, fields: dict[str, str], field: str) -> None:
    response = clone(client, wav, **fields)
    assert response.status_code == 422
    assert response.json()["detail"][0]["loc"] == ["body", field]


def test_requests_without_a_recording_are_refused(client: TestClient) -> None:
    assert client.post("/voices", data={"name": "Anna"}).status_code == 422
    assert client.post("/voices", json={"name": "Anna", "file": "not base64!"}).status_code == 422
    assert client.post("/voices", json={"name": "Anna", "file": {"a": 1}}).status_code == 422
    assert client.post("/voices", json=["x"]).status_code == 422
    assert client.post("/voices", content=b"{", headers={"content-type": "application/json"}).status_code == 422
    broken = client.post("/voices", content=b"x", headers={"content-type": "multipart/form-data; boundary=y"})
    assert broken.status_code in (400, 422)
    assert status_of(client.post("/voices", content=b"x", headers={"content-type": "text/xml"}))[0] == 415


def test_limits_are_enforced(serve: Serve, wav: bytes) -> None:
    with serve(max_clip_bytes=len(wav) // 2) as client:
        response = clone(client, wav)
        assert status_of(response) == (413, "request_too_large")
        assert "SVC_MAX_CLIP_BYTES" in response.json()["detail"]["message"]
        many = {"name": "Anna", "file": "A" * (len(wav) // 2)}
        assert status_of(client.post("/voices", json=many)) == (413, "request_too_large")
    with serve(max_custom_voices=1) as client:
        assert clone(client, wav).status_code == 200
        assert status_of(clone(client, wav)) == (400, "voice_limit_reached")
        files = [("files", ("x", b"x"))] * 26
        assert client.post("/voices", data={"name": "A"}, files=files).status_code == 400


def test_the_encoder_is_loaded_at_startup(phonemizer: Phonemizer, tmp_path: Path) -> None:
    loaded = threading.Event()

    def load() -> tuple[SpeakerEncoder, BuiltInEmbeddings]:
        loaded.set()
        return load_fake_encoder()

    with serve_ready(Settings(data_dir=tmp_path), Pipeline(FakeEngine(), phonemizer), load):
        assert loaded.wait(60)


def test_without_an_encoder_only_cloning_fails(phonemizer: Phonemizer, tmp_path: Path, wav: bytes) -> None:
    def load() -> tuple[SpeakerEncoder, BuiltInEmbeddings]:
        raise EngineUnavailable("The encoder is damaged.")

    with serve_ready(Settings(data_dir=tmp_path), Pipeline(FakeEngine(), phonemizer), load) as client:
        for _ in range(2):
            assert status_of(clone(client, wav)) == (503, "engine_unavailable")
        assert client.post("/v1/text-to-speech/af_heart", json={"text": "Hello."}).status_code == 200


def test_an_upload_that_never_ends_is_closed(phonemizer: Phonemizer, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, max_body_seconds=0.3, max_clip_bytes=2_000_000)
    with serving(create_app(settings, Pipeline(FakeEngine(), phonemizer), encoder=load_fake_encoder)) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            head = "POST /voices HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=x\r\n"
            connection.sendall(f"{head}content-length: 100000\r\n\r\n--x\r\n".encode())
            assert connection.recv(1000).startswith(b"HTTP/1.1 408")


def test_consent_is_required_and_logged(serve: Serve, wav: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with serve(require_consent=True, api_key="a-key-of-the-tests") as client, caplog.at_level(logging.INFO, "svc"):
        client.headers["xi-api-key"] = "a-key-of-the-tests"
        for given in ({}, {"consent": "false"}, {"consent": "maybe"}):
            assert status_of(clone(client, wav, **given)) == (403, "consent_required")
            assert status_of(clone(client, wav, "/v1/voices/add", **given)) == (403, "consent_required")
        assert "cloned" not in caplog.text
        voice = clone(client, wav, consent="true").json()
        assert voice["cloning"]["consent"] is True
        path = f"/v1/voices/{voice['voice_id']}/edit"
        assert client.post(path, data={"name": "B"}).status_code == 200
        more = {"files": ("x", wav)}
        assert status_of(client.post(path, data={"name": "B"}, files=more)) == (403, "consent_required")
        assert client.post(path, data={"name": "B", "consent": "1"}, files=more).status_code == 200
        assert "a-key-of-the-tests" not in caplog.text
        logged = next(record.getMessage() for record in caplog.records if "cloned" in record.getMessage())
        assert voice["voice_id"] in logged
        assert "consent: yes" in logged


def test_references_are_kept_unless_disabled(serve: Serve, wav: bytes, tmp_path: Path) -> None:
    with serve() as client:
        kept = clone(client, wav).json()["voice_id"]
    assert len(list((tmp_path / "data/voices" / kept).glob("reference-*.flac"))) == 1
    with serve(keep_references=False) as client:
        dropped = clone(client, wav).json()
        assert dropped["cloning"]["has_reference"] is False
        again = client.post(f"/v1/voices/{kept}/edit", data={"name": "A"}, files={"files": ("x", wav)})
        assert again.status_code == 200
    assert [file.name for file in (tmp_path / "data/voices" / dropped["voice_id"]).iterdir()] == ["voice.json"]
    assert [file.name for file in (tmp_path / "data/voices" / kept).iterdir()] == ["voice.json"]


def test_previews_need_the_token(serve: Serve, wav: bytes) -> None:
    with serve(api_key="a-key-of-the-tests") as client:
        key = {"xi-api-key": "a-key-of-the-tests"}
        files = {"files": ("x", wav)}
        voice = client.post("/voices", data={"name": "Anna"}, files=files, headers=key).json()
        preview = client.get(voice["preview_url"])
        assert (preview.status_code, preview.headers["content-type"]) == (200, "audio/mpeg")
        assert preview.headers["cache-control"].startswith("private")
        bare = voice["preview_url"].partition("?")[0]
        for address in (
            bare,
            f"{bare}?token=",
            f"{bare}?token=wrong",
            f"{bare}?token=%ff",
            bare.replace(voice["voice_id"], "Anna"),
        ):
            assert status_of(client.get(address)) == (404, "voice_not_found")
        client.delete(f"/voices/{voice['voice_id']}", headers=key)
        assert status_of(client.get(voice["preview_url"])) == (404, "voice_not_found")


def test_concurrent_clones(client: TestClient, wav: bytes) -> None:
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(clone(client, wav))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    codes = sorted(answer.status_code for answer in answers)
    assert set(codes) <= {200, 429}
    assert codes[0] == 200
    assert all(answer.headers["retry-after"] for answer in answers if answer.status_code == 429)
    kept = client.get("/v2/voices", params={"category": "cloned"}).json()["total_count"]
    assert kept == codes.count(200)


def test_a_stream_finishes_when_its_voice_is_removed(client: TestClient, wav: bytes) -> None:
    voice_id = clone(client, wav).json()["voice_id"]
    text = {"text": "One sentence. " * 40}
    path = f"/v1/text-to-speech/{voice_id}/stream?output_format=pcm_24000"
    expected = client.post(path, json=text).content
    with client.stream("POST", path, json=text) as response:
        assert client.delete(f"/voices/{voice_id}").status_code == 200
        assert b"".join(response.iter_bytes()) == expected


def test_a_damaged_voice_is_left_out_and_can_be_removed(serve: Serve, wav: bytes, tmp_path: Path) -> None:
    with serve() as client:
        good, bad = (clone(client, wav).json()["voice_id"] for _ in range(2))
    file = tmp_path / "data/voices" / bad / "voice.json"
    stored = json.loads(file.read_text())
    stored["voice"]["name"] = "Mallory"
    file.write_text(json.dumps(stored))
    with serve() as client:
        listed = [voice["voice_id"] for voice in client.get("/v2/voices?category=cloned").json()["voices"]]
        assert listed == [good]
        assert client.delete(f"/voices/{bad}").json() == {"status": "ok"}
    assert not file.exists()
