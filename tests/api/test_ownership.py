"""Whose voice it is: who may use it, who may change it, and whose settings are heard."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from websockets.exceptions import ConnectionClosed

from svc.auth.keys import Scope
from svc.auth.table import KeysTable
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from svc.voices.custom_voice import CustomVoice
from svc.voices.store import VoiceStore
from tests.api.realtime.conftest import audio, running
from tests.cloning.fakes import load_fake_encoder
from tests.conftest import serve_ready
from tests.voices.examples import make_voice

HEART = "svcAfHeart0000000000"
HELLO = {"text": "Hello."}

Headers = dict[str, str]


class World:
    """Two keys of a table, one of the environment, and a voice of the first key beside one of the operator."""

    def __init__(self, folder: Path, phonemizer: Phonemizer) -> None:
        self.folder = folder
        self._phonemizer = phonemizer
        self._table = f"sqlite:///{folder}/keys.db"
        (self.anna, anna_id), (self.berta, _) = asyncio.run(self._create_keys())
        self.operator = {"xi-api-key": "environment"}
        self.voice = make_voice("Anna's", key_id=anna_id, reference=None)
        self.common = make_voice("Common", key_id="anyone", reference=None)
        store = VoiceStore(folder / "data/voices")
        for voice in (self.voice, self.common):
            store.add(voice, None)

    async def _create_keys(self) -> list[tuple[Headers, str]]:
        table = KeysTable(self._table)
        try:
            created = [await table.create(1, scopes=[Scope.FULL], name=name) for name in ("Anna", "Berta")]
        finally:
            await table.close()
        return [({"xi-api-key": credential}, key.id) for credential, key in created]

    def choose(self, sharing: str = "shared", **others: Any) -> dict[str, Any]:
        return {
            "api_key": "environment",
            "api_keys_table": self._table,
            "voice_sharing": sharing,
            "data_dir": self.folder / "data",
            "cache_dir": self.folder / "cache",
            **others,
        }

    @contextmanager
    def serve(self, sharing: str = "shared", **others: Any) -> Iterator[TestClient]:
        settings = Settings.model_validate(self.choose(sharing, **others))
        with serve_ready(settings, Pipeline(FakeEngine(), self._phonemizer), load_fake_encoder) as client:
            yield client


@pytest.fixture
def world(tmp_path: Path, phonemizer: Phonemizer) -> World:
    return World(tmp_path, phonemizer)


def ask(client: TestClient, method: str, path: str, headers: Headers, **content: Any) -> tuple[int, str]:
    response = client.request(method, path, headers=headers, **content)
    is_error = response.status_code >= 400
    return response.status_code, response.json()["detail"]["status"] if is_error else "ok"


def list_names(client: TestClient, headers: Headers, path: str = "/v1/voices") -> set[str]:
    voices = client.get(path, headers=headers).json()["voices"]
    return {voice["name"] for voice in voices if voice["category"] == "cloned"}


def who_speaks(client: TestClient, voice: CustomVoice, headers: Headers) -> str:
    response = client.post(f"/v1/text-to-speech/{voice.voice_id}", json=HELLO, headers=headers)
    assert response.status_code == 200
    return response.headers["x-svc-voice"]


def test_a_shared_voice_is_used_by_all_and_changed_by_its_owner(world: World) -> None:
    path = f"/v1/voices/{world.voice.voice_id}"
    with world.serve() as client:
        for key in (world.anna, world.berta, world.operator):
            assert (
                list_names(client, key) == list_names(client, key, "/v2/voices?page_size=100") == {"Anna's", "Common"}
            )
            assert who_speaks(client, world.voice, key) == world.voice.voice_id
        owners = [client.get(path, headers=key).json()["is_owner"] for key in (world.anna, world.berta, world.operator)]
        assert owners == [True, False, True]
        for method, address, content in (
            ("POST", f"{path}/edit", {"data": {"name": "Mine"}}),
            ("POST", f"{path}/edit", {"data": {"refine": "true"}}),
            ("POST", f"{path}/edit", {"json": {"name": "Mine"}}),
            ("DELETE", path, {}),
            ("DELETE", path.removeprefix("/v1"), {}),
        ):
            assert ask(client, method, address, world.berta, **content) == (403, "not_voice_owner")
        assert ask(client, "POST", f"{path}/edit", world.operator, data={"name": "Hers"}) == (200, "ok")
        assert ask(client, "POST", f"{path}/edit", world.anna, data={"name": "Mine"}) == (200, "ok")
        assert list_names(client, world.berta) == {"Mine", "Common"}
        assert ask(client, "DELETE", path, world.anna) == (200, "ok")


def test_a_private_voice_does_not_exist_for_others(world: World) -> None:
    path = f"/v1/voices/{world.voice.voice_id}"
    with world.serve("private", strict_voices=True) as client:
        for key in (world.anna, world.operator):
            assert list_names(client, key) == {"Anna's", "Common"}
            assert who_speaks(client, world.voice, key) == world.voice.voice_id
            found = client.get("/v2/voices", params={"voice_ids": world.voice.voice_id}, headers=key).json()
            assert found["total_count"] == 1
        assert (
            list_names(client, world.berta) == list_names(client, world.berta, "/v2/voices?page_size=100") == {"Common"}
        )
        found = client.get("/v2/voices", params={"voice_ids": world.voice.voice_id}, headers=world.berta).json()
        assert found["total_count"] == 0
        speech = f"/v1/text-to-speech/{world.voice.voice_id}"
        for method, address, content in (
            ("GET", path, {}),
            ("GET", "/v1/voices/Anna's", {}),
            ("GET", f"{path}/settings", {}),
            ("POST", f"{path}/settings/edit", {"json": {"speed": 2}}),
            ("POST", f"{path}/edit", {"data": {"name": "Mine"}}),
            ("DELETE", path, {}),
            ("POST", speech, {"json": HELLO}),
            ("POST", f"{speech}/stream", {"json": HELLO}),
            ("POST", f"{speech}/with-timestamps", {"json": HELLO}),
            ("POST", f"{speech}/stream/with-timestamps", {"json": HELLO}),
            ("GET", f"/previews/{world.voice.voice_id}.mp3", {}),
        ):
            assert ask(client, method, address, world.berta, **content) == (404, "voice_not_found"), address
    with world.serve("private") as client:
        assert who_speaks(client, world.voice, world.berta) == HEART, "as an unknown voice"
        assert client.get(path, headers=world.berta).json()["voice_id"] == HEART
        assert ask(client, "DELETE", path, world.berta) == (404, "voice_not_found")
        assert who_speaks(client, world.voice, world.anna) == world.voice.voice_id


@pytest.mark.parametrize("sharing", ["shared", "private"])
def test_voices_of_the_operator_are_used_by_all_and_changed_by_none_of_them(world: World, sharing: str) -> None:
    path = f"/v1/voices/{world.common.voice_id}"
    with world.serve(sharing) as client:
        for key in (world.anna, world.berta):
            assert who_speaks(client, world.common, key) == world.common.voice_id
            assert ask(client, "POST", f"{path}/edit", key, data={"name": "Mine"}) == (403, "not_voice_owner")
            assert ask(client, "DELETE", path, key) == (403, "not_voice_owner")
        assert ask(client, "DELETE", path, world.operator) == (200, "ok")


def test_tokens_act_for_the_key_that_minted_them(world: World) -> None:
    with world.serve("private") as client:
        speakers = []
        for key in (world.anna, world.berta, world.operator):
            token = client.post("/v1/tokens/ephemeral", headers=key).json()["token"]
            bearer = {"authorization": f"Bearer {token}"}
            speakers.append(who_speaks(client, world.voice, bearer))
            assert list_names(client, bearer) == list_names(client, key)
        assert speakers == [world.voice.voice_id, HEART, world.voice.voice_id]


def test_a_damaged_voice_is_removed_by_the_operator_alone(world: World) -> None:
    (world.folder / "data/voices" / world.voice.voice_id / "voice.json").write_text("damaged")
    with world.serve() as client:
        path = f"/v1/voices/{world.voice.voice_id}"
        assert ask(client, "DELETE", path, world.anna) == (404, "voice_not_found")
        assert ask(client, "DELETE", path, world.operator) == (200, "ok")


def test_a_rotated_key_keeps_its_voices(world: World) -> None:
    async def rotate() -> str:
        table = KeysTable(world.choose()["api_keys_table"])
        try:
            return await table.rotate(world.voice.key_id)
        finally:
            await table.close()

    with world.serve("private", keys_cache_seconds=0) as client:
        token = client.post("/v1/tokens/ephemeral", headers=world.anna).json()["token"]
        new = {"xi-api-key": asyncio.run(rotate())}
        assert who_speaks(client, world.voice, new) == world.voice.voice_id
        for old in (world.anna, {"xi-api-key": token}):
            assert ask(client, "GET", "/v1/voices", old) == (401, "invalid_api_key")


def test_settings_edited_with_one_key_are_not_heard_with_another(world: World) -> None:
    def measure(client: TestClient, key: Headers, voice_id: str = HEART) -> int:
        path = f"/v1/text-to-speech/{voice_id}?output_format=pcm_8000"
        return len(client.post(path, json=HELLO, headers=key).content)

    def edit(client: TestClient, key: Headers, speed: float, voice_id: str = HEART) -> None:
        path = f"/v1/voices/{voice_id}/settings/edit"
        assert ask(client, "POST", path, key, json={"speed": speed}) == (200, "ok")

    with world.serve() as client:
        plain = measure(client, world.berta)
        edit(client, world.anna, 2)
        assert measure(client, world.anna) < 0.7 * plain
        assert measure(client, world.berta) == measure(client, world.operator) == plain
        own = client.get("/v1/voices", headers=world.anna).json()["voices"]
        assert next(voice for voice in own if voice["voice_id"] == HEART)["settings"]["speed"] == 2
        token = client.post("/v1/tokens/ephemeral", headers=world.anna).json()["token"]
        assert measure(client, {"xi-api-key": token}) == measure(client, world.anna)
        edit(client, world.operator, 0.5)
        assert measure(client, world.berta) == plain
    with world.serve() as client:  # after a restart
        speeds = [
            client.get(f"/v1/voices/{HEART}/settings", headers=key).json()["speed"]
            for key in (world.anna, world.berta, world.operator)
        ]
        assert speeds == [2, 1, 0.5]
        edit(client, world.anna, 2, world.voice.voice_id)
        assert measure(client, world.berta, world.voice.voice_id) < 0.7 * plain, "the owner tunes the voice for all"
        edit(client, world.berta, 1, world.voice.voice_id)
        assert measure(client, world.anna, world.voice.voice_id) < 0.7 * plain


def test_a_clone_belongs_to_the_key_that_made_it(world: World, wav: bytes) -> None:
    def clone(client: TestClient, key: Headers) -> Any:
        return client.post("/voices", data={"name": "New"}, files={"files": wav}, headers=key).json()

    with world.serve("private") as client:
        made, by_operator = clone(client, world.berta), clone(client, world.operator)
        assert (made["is_owner"], by_operator["is_owner"]) == (True, True)
        assert list_names(client, world.anna) == {"Anna's", "Common", "New"}, "the operator's is everybody's"
        assert client.get(made["preview_url"]).status_code == 200, "whoever has the address of a preview may hear it"
        path = f"/v1/voices/{made['voice_id']}/edit"
        assert ask(client, "POST", path, world.anna, data={"refine": "true"}) == (404, "voice_not_found")
        assert ask(client, "POST", path, world.berta, data={"refine": "true"}) == (200, "ok")
    with world.serve("private") as client:
        assert ask(client, "DELETE", f"/voices/{made['voice_id']}", world.anna) == (404, "voice_not_found")
        assert ask(client, "DELETE", f"/voices/{made['voice_id']}", world.berta) == (200, "ok")


def test_an_open_server_knows_no_owners(world: World, phonemizer: Phonemizer) -> None:
    settings = Settings(data_dir=world.folder / "data", cache_dir=world.folder / "cache", voice_sharing="private")
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer)) as client:
        assert list_names(client, {}) == {"Anna's", "Common"}
        assert ask(client, "DELETE", f"/voices/{world.voice.voice_id}", {}) == (200, "ok")


@pytest.mark.slow
def test_sockets(world: World, phonemizer: Phonemizer) -> None:
    """The voice and the settings are those of the key, whether it comes in the handshake or in the first message."""

    def in_message(key: Headers) -> dict[str, str]:
        return {"xi_api_key": key["xi-api-key"]}

    with running(phonemizer, **world.choose("private", strict_voices=True)) as service:

        def speak(kind: str, key: Headers, first: dict[str, str], voice: str) -> int:
            """How many bytes of audio came."""
            with service.open(kind, key, voice=voice) as caller:
                end = {"context_id": "1", "text": "", "flush": True} if kind.startswith("multi") else {"text": ""}
                try:
                    caller.send({"text": "Hello. ", "context_id": "1", **first}, end)
                    if kind.startswith("multi"):
                        caller.send({"context_id": "1", "close_context": True}, {"close_socket": True})
                except ConnectionClosed:
                    pass
                frames = caller.rest()
                refusals = [frame["error"] for frame in frames if "error" in frame]
                assert refusals in ([], ["voice_not_found"])
                return len(audio(frames))

        for kind in ("stream-input", "multi-stream-input"):
            for key, first in ((world.anna, {}), ({}, in_message(world.anna)), (world.operator, {})):
                assert speak(kind, key, first, world.voice.voice_id) > 1000
            for key, first in ((world.berta, {}), ({}, in_message(world.berta))):
                assert speak(kind, key, first, world.voice.voice_id) == 0
                assert speak(kind, key, first, HEART) > 1000
        plain = speak("stream-input", world.berta, {}, HEART)
        httpx.post(f"{service.address}/v1/voices/{HEART}/settings/edit", json={"speed": 2}, headers=world.anna)
        assert speak("stream-input", {}, in_message(world.anna), HEART) < 0.7 * plain
        assert speak("stream-input", {}, in_message(world.berta), HEART) == plain


DICTIONARIES = "/v1/pronunciation-dictionaries"
RULE = {"type": "alias", "string_to_replace": "svc", "alias": "service"}


def add_dictionary(client: TestClient, headers: Headers) -> dict[str, Any]:
    body = {"name": "Anna's", "rules": [RULE]}
    added = client.post(f"{DICTIONARIES}/add-from-rules", headers=headers, json=body)
    assert added.status_code == 200
    fields: dict[str, Any] = added.json()
    return fields


def list_dictionaries(client: TestClient, headers: Headers) -> list[tuple[str, str]]:
    found = client.get(DICTIONARIES, headers=headers).json()["pronunciation_dictionaries"]
    return [(each["name"], each["permission_on_resource"]) for each in found]


def list_changes(path: str) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        ("POST", f"{path}/set-rules", {"json": {"rules": [RULE]}}),
        ("POST", f"{path}/add-rules", {"json": {"rules": [RULE]}}),
        ("POST", f"{path}/remove-rules", {"json": {"rule_strings": ["svc"]}}),
        ("PATCH", path, {"json": {"name": "Mine"}}),
        ("DELETE", path, {}),
    ]


def test_a_dictionary_is_used_by_all_and_changed_by_its_owner(world: World) -> None:
    with world.serve() as client:
        added = add_dictionary(client, world.anna)
        path = f"{DICTIONARIES}/{added['id']}"
        permissions = [list_dictionaries(client, key) for key in (world.anna, world.berta, world.operator)]
        assert permissions == [[("Anna's", "admin")], [("Anna's", "viewer")], [("Anna's", "admin")]]
        assert ask(client, "GET", path, world.berta) == (200, "ok")
        for method, address, content in list_changes(path):
            refused = ask(client, method, address, world.berta, **content)
            assert refused == (403, "not_pronunciation_dictionary_owner")
        for key in (world.operator, world.anna):
            for method, address, content in list_changes(path)[:-1]:
                assert ask(client, method, address, key, **content) == (200, "ok")
        assert ask(client, "DELETE", path, world.anna) == (200, "ok")


def test_a_private_dictionary_does_not_exist_for_others(world: World) -> None:
    with world.serve("private") as client:
        added = add_dictionary(client, world.anna)
        path = f"{DICTIONARIES}/{added['id']}"
        assert (
            list_dictionaries(client, world.anna) == list_dictionaries(client, world.operator) == [("Anna's", "admin")]
        )
        assert list_dictionaries(client, world.berta) == []
        download: tuple[str, str, dict[str, Any]] = ("GET", f"{path}/{added['version_id']}/download", {})
        for method, address, content in (("GET", path, {}), download, *list_changes(path)):
            refused = ask(client, method, address, world.berta, **content)
            assert refused == (404, "pronunciation_dictionary_not_found")
        common = add_dictionary(client, world.operator)
        assert ask(client, "GET", f"{DICTIONARIES}/{common['id']}", world.berta) == (200, "ok")
        locator = [{"pronunciation_dictionary_id": added["id"]}]
        body = {**HELLO, "pronunciation_dictionary_locators": locator}
        assert client.post(f"/v1/text-to-speech/{HEART}", json=body, headers=world.berta).status_code == 200
