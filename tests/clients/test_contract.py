"""What clients of the imitated API rely on, rule by rule, spoken in plain HTTP."""

import base64
import json
import re
from typing import Any

import httpx
import pytest

from svc.audio.formats import OUTPUT_FORMATS
from tests.clients.conftest import KEY, VOICE

SPEAK = f"/v1/text-to-speech/{VOICE}"

# Ids that clients use without being told, and a voice of the same gender and accent.
KNOWN_ELSEWHERE = {
    "EXAVITQu4vr4xnSDxMaL": ("Sarah", "female", "american"),
    "21m00Tcm4TlvDq8ikWAM": ("Heart", "female", "american"),
    "JBFqnCBsd6RMkjVDRZzb": ("George", "male", "british"),
    "hpp4J3VqNfWAUOO0d1Us": ("Bella", "female", "american"),
    "bIHbv24MWmeRgasZH58o": ("Michael", "male", "american"),
    "piTKgcLEGmPE4e6mEKli": ("Nicole", "female", "american"),
    "pNInz6obpgDQGcFmaJgB": ("Adam", "male", "american"),
}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", SPEAK, {"text": "Hi."}),
        ("POST", f"{SPEAK}/stream", {"text": "Hi."}),
        ("POST", f"{SPEAK}/with-timestamps", {"text": "Hi."}),
        ("POST", f"{SPEAK}/stream/with-timestamps", {"text": "Hi."}),
        ("GET", "/v1/models", None),
        ("GET", "/v1/voices?show_legacy=True&page_size=100", None),
        ("GET", "/v2/voices?page_size=100&include_total_count=false&collection_id=x&high_quality=true", None),
        ("GET", f"/v1/voices/{VOICE}?with_settings=true", None),
        ("GET", f"/v1/voices/{VOICE}?with_settings=True", None),
        ("GET", "/v1/voices/settings/default", None),
        ("GET", f"/v1/voices/{VOICE}/settings", None),
        ("POST", f"/v1/voices/{VOICE}/settings/edit", {"stability": None}),
        ("GET", "/v1/user", None),
        ("GET", "/v1/user/subscription", None),
        ("GET", "/v1/history?page_size=1000&start_after_history_item_id=x&voice_id=y", None),
    ],
)
def test_success_is_exactly_200(http: httpx.Client, method: str, path: str, body: object) -> None:
    assert http.request(method, path, json=body).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "headers"),
    [
        ("POST", f"{SPEAK}?output_format=x", {"text": "Hi."}, {}),
        ("POST", SPEAK, {"text": "a" * 50_000}, {}),
        ("GET", "/v1/user", None, {"xi-api-key": "wrong"}),
        ("GET", "/v1/user", None, {"xi-api-key": ""}),
        ("GET", "/v1/shared-voices", None, {}),
        ("GET", "/v1/v1/voices", None, {}),
        ("DELETE", "/v1/history/x", None, {}),
        ("PUT", "/v1/voices", None, {}),
        ("POST", SPEAK, None, {"content-type": "text/xml"}),
    ],
)
def test_errors_are_objects_with_status_and_message(
    http: httpx.Client, method: str, path: str, body: object, headers: dict[str, str]
) -> None:
    response = http.request(method, path, json=body, headers=headers)
    assert 400 <= response.status_code < 500
    detail = response.json()["detail"]
    assert {type(detail["status"]), type(detail["message"])} == {str}
    assert detail["status"]
    assert detail["message"]
    assert response.headers["request-id"]


@pytest.mark.parametrize("body", [{}, {"text": ""}, {"text": 1}, [], "text", {"text": "Hi.", "voice_settings": 5}])
def test_validation_errors_are_a_list(http: httpx.Client, body: object) -> None:
    for path in ("", "/stream", "/with-timestamps", "/stream/with-timestamps"):
        response = http.post(f"{SPEAK}{path}", json=body)
        assert response.status_code == 422
        for problem in response.json()["detail"]:
            assert {type(problem["loc"]), type(problem["msg"]), type(problem["type"])} == {list, str}
            assert problem["loc"], "a client prints its last element"


def test_both_ways_to_send_the_key(http: httpx.Client) -> None:
    address = http.base_url
    assert httpx.get(f"{address}/v1/user", headers={"authorization": f"Bearer {KEY}"}).status_code == 200
    assert httpx.get(f"{address}/v1/user", headers={"authorization": f"bearer {KEY}"}).status_code == 200
    # A client behind a proxy with a login of its own sends both.
    both = {"authorization": "Basic dTpw", "xi-api-key": KEY}
    assert httpx.get(f"{address}/v1/user", headers=both).status_code == 200
    for headers, status in (({}, "missing_api_key"), ({"xi-api-key": "x"}, "invalid_api_key")):
        response = httpx.get(f"{address}/v1/user", headers=headers)
        assert (response.status_code, response.json()["detail"]["status"]) == (401, status)


@pytest.mark.parametrize("name", list(OUTPUT_FORMATS))
def test_every_format_says_that_it_is_audio(http: httpx.Client, name: str) -> None:
    response = http.post(f"{SPEAK}/stream", params={"output_format": name}, json={"text": "Hi."})
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("audio/")


def test_formats_that_clients_name() -> None:
    rates = (8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
    assert {
        *("mp3_22050_32", "mp3_24000_48", "mp3_44100_32", "mp3_44100_64", "mp3_44100_96", "mp3_44100_128"),
        *("mp3_44100_192", "mp3_44100", "ulaw_8000", "alaw_8000"),
        *(f"opus_48000_{rate}" for rate in (32, 64, 96, 128, 192)),
        *(f"pcm_{rate}" for rate in rates),
        *(f"wav_{rate}" for rate in rates),
    } <= set(OUTPUT_FORMATS)


def test_no_content_negotiation(http: httpx.Client) -> None:
    for accept in ("*/*", "audio/mpeg", "application/json", "image/png"):
        response = http.post(SPEAK, json={"text": "Hi."}, headers={"accept": accept})
        assert (response.status_code, response.headers["content-type"]) == (200, "audio/mpeg")


def test_lines_of_timestamps(http: httpx.Client) -> None:
    text = "Line\u2028separator, paragraph\u2029separator, next\u0085line. And another sentence, naïvely long. " * 20
    response = http.post(f"{SPEAK}/stream/with-timestamps?output_format=pcm_48000", json={"text": text})
    assert response.content.endswith(b"\n")
    assert response.content.isascii()
    lines = response.content.splitlines()
    assert len(lines) == len(response.text.splitlines())
    assert max(map(len, lines)) < 128 * 1024
    spoken = ""
    for line in map(json.loads, lines):
        assert base64.b64decode(line["audio_base64"], validate=True)
        for name in ("alignment", "normalized_alignment"):
            timed = line[name]
            if timed is not None:
                assert len({len(values) for values in timed.values()}) == 1
                assert set(timed) == {
                    "characters",
                    "character_start_times_seconds",
                    "character_end_times_seconds",
                }
        spoken += "".join(line["alignment"]["characters"]) if line["alignment"] else ""
    assert spoken == text


TOLERATED: list[dict[str, Any]] = [
    {"voice": "Sarah", "stream": True},
    {"voice_settings": None},
    {"voice_settings": {}},
    {"voice_settings": {"stability": 1, "similarity_boost": 0, "speed": 4, "style": None, "clone_strength": 1}},
    {"model_id": None, "seed": None, "language_code": None, "previous_text": None, "next_text": None},
    {"model_id": "Ellipsis"},
    {"model_id": "eleven_ttv_v3", "language_code": "pt"},
    {"seed": 4_294_967_295},
    {"previous_request_ids": ["a", "b", "c"], "next_request_ids": None},
    {"pronunciation_dictionary_locators": [{"pronunciation_dictionary_id": "a", "version_id": None}]},
    {"pronunciation_dictionary_locators": ["a"]},
    {"apply_text_normalization": "auto", "apply_language_text_normalization": True},
    {"use_pvc_as_ivc": False, "audio_effects": {"environment": "x"}},
    {"output_format": "ignored here", "optimize_streaming_latency": "x"},
]


@pytest.mark.parametrize("extra", TOLERATED, ids=str)
def test_tolerated_bodies(http: httpx.Client, extra: dict[str, Any]) -> None:
    assert http.post(SPEAK, json={"text": "Hi.", **extra}).status_code == 200


@pytest.mark.parametrize(
    "query",
    [
        "model_id=eleven_turbo_v2_5&output_format=mp3_22050_32&optimize_streaming_latency=3",
        "optimize_streaming_latency=0&enable_logging=True",
        "optimize_streaming_latency=x&enable_logging=perhaps",
        "allow_unauthenticated=1&never_heard_of=1",
    ],
)
def test_tolerated_queries(http: httpx.Client, query: str) -> None:
    assert http.post(f"{SPEAK}/stream?{query}", json={"text": "Hi."}).status_code == 200


def test_response_headers(http: httpx.Client) -> None:
    for path in ("", "/stream", "/with-timestamps", "/stream/with-timestamps"):
        headers = http.post(f"{SPEAK}{path}", json={"text": "Hello."}).headers
        assert re.fullmatch(r"[0-9a-zA-Z-]{8,}", headers["request-id"])
        assert headers["x-request-id"] == headers["request-id"]
        assert headers["character-cost"] == "6"


def test_request_ids_chain(http: httpx.Client) -> None:
    first = http.post(SPEAK, json={"text": "One."}).headers["request-id"]
    second = http.post(SPEAK, json={"text": "Two.", "previous_request_ids": [first]})
    assert second.status_code == 200
    assert second.headers["request-id"] != first


def test_browsers_may_send_and_read_what_they_need(http: httpx.Client) -> None:
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "xi-api-key,content-type"}
    preflight = httpx.options(f"{http.base_url}{SPEAK}", headers={"origin": "https://example.com", **asked})
    assert preflight.status_code == 200
    allowed = preflight.headers["access-control-allow-headers"].lower()
    assert "xi-api-key" in allowed
    assert "content-type" in allowed
    exposed = http.get("/v1/user", headers={"origin": "https://example.com"}).headers["access-control-expose-headers"]
    assert {"request-id", "character-cost", "history-item-id", "x-request-id"} <= {
        name.strip() for name in exposed.split(",")
    }


def test_models_that_are_listed_as_aliases(http: httpx.Client) -> None:
    assert [model["model_id"] for model in http.get("/v1/models").json()] == ["svc-turbo", "eleven_multilingual_v2"]


@pytest.mark.parametrize("voice_id", KNOWN_ELSEWHERE)
def test_ids_that_clients_use_without_being_told(http: httpx.Client, voice_id: str) -> None:
    name, gender, accent = KNOWN_ELSEWHERE[voice_id]
    voice = http.get(f"/v1/voices/{voice_id}").json()
    assert (voice["name"], voice["labels"]["gender"], voice["labels"]["accent"]) == (name, gender, accent)
    spoken = http.post(f"/v1/text-to-speech/{voice_id}", json={"text": "Hi."})
    assert spoken.headers["x-svc-voice"] == voice["voice_id"]


@pytest.mark.parametrize("body", [{"stability": 1}, {"speed": 4, "unknown": 1}, {}, {"style": None}])
def test_settings_are_edited_in_part(http: httpx.Client, body: dict[str, Any]) -> None:
    path = f"/v1/voices/{VOICE}/settings"
    before = http.get(path).json()
    assert http.post(f"{path}/edit", json=body).json() == {"status": "ok"}
    after = http.get(path).json()
    untouched = before.keys() - {name for name, value in body.items() if value is not None}
    assert {name: after[name] for name in untouched} == {name: before[name] for name in untouched}


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("voice_type=default", 54),
        ("voice_type=saved", 54),
        ("voice_type=non-default", 0),
        ("voice_type=personal&category=premade", 0),
        ("voice_type=default&category=cloned", 0),
        ("voice_type=&category=&gender=&age=&accent=&search=&sort=&next_page_token=", 54),
        ("language=fr&language=it", 3),
        (f"voice_ids={VOICE}&voice_ids=nobody", 2),  # an unknown id is spoken by the default voice
        ("search=GEORGE", 1),
        ("search=nobody", 0),
    ],
)
def test_filters_of_voices(http: httpx.Client, query: str, count: int) -> None:
    page = http.get(f"/v2/voices?{query}").json()
    assert page["total_count"] == count
    assert len(page["voices"]) == min(count, 10)
    assert page["has_more"] is (count > 10)
