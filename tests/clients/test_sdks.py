"""The official clients, unmodified, old and new: what each makes of the service's answers."""

import base64
from typing import Any

import pytest

from tests.clients.conftest import CLIENTS, TEXT, VOICE, Report, decode_audio

DEFAULT_SETTINGS = {"stability": 0.5, "similarity_boost": 0.75, "style": 0.0, "use_speaker_boost": True}
EDITED_SETTINGS = {"stability": 0.25, "similarity_boost": 0.5, "style": 0.125, "use_speaker_boost": False}
LABELS = {
    "accent": "british",
    "gender": "male",
    "language": "en",
    "age": "middle_aged",
    "description": "natural",
    "use_case": "conversational",
}


def only(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("client_name", names, indirect=True)


BUT_THE_FIRST = CLIENTS[1:]
CURRENT = ["python_2", "javascript_2"]


def test_voices(report: Report, client_name: str) -> None:
    voices = {voice["voice_id"]: voice for voice in report.get_result("voices")}
    legacy = 9 if client_name == "python_1" else 0  # it asks for the names that were there first
    assert len(voices) == 54 + legacy
    assert (voices[VOICE]["name"], voices[VOICE]["category"]) == ("George", "premade")
    assert voices[VOICE]["labels"] == LABELS
    assert "Sarah" in {voice["name"] for voice in voices.values()}


def test_voice(report: Report) -> None:
    voice = report.get_result("voice")
    assert (voice["voice_id"], voice["name"], voice["category"]) == (VOICE, "George", "premade")
    assert voice["labels"] == LABELS
    assert voice["description"]
    assert voice["preview_url"].endswith(f"/previews/{VOICE}.mp3")
    assert voice["settings"].items() >= DEFAULT_SETTINGS.items()


@only(*BUT_THE_FIRST)
def test_search(report: Report) -> None:
    page, following = report.get_result("search"), report.get_result("next_page")
    assert [voice["name"] for voice in page["voices"]] == ["Alice", "Daniel", "Emma"]
    assert (page["total_count"], page["has_more"]) == (8, True)
    assert page["next_page_token"]
    assert [voice["name"] for voice in following["voices"]] == ["Fable", "George", "Isabella"]


@only(*CURRENT)
def test_filters(report: Report) -> None:
    assert {voice["labels"]["language"] for voice in report.get_result("filtered")["voices"]} == {"fr", "it"}
    assert {voice["labels"]["gender"] for voice in report.get_result("filtered")["voices"]} == {"female"}
    assert report.get_result("filtered")["total_count"] == 2
    assert [voice["voice_id"] for voice in report.get_result("by_ids")["voices"]] == [VOICE]
    named = {(voice["labels"]["accent"], voice["labels"]["gender"]) for voice in report.get_result("named")["voices"]}
    assert (named, report.get_result("named")["total_count"]) == ({("british", "female")}, 4)
    assert report.get_result("unnamed") == [0, 0]


def test_settings(report: Report) -> None:
    assert report.get_result("default_settings").items() >= DEFAULT_SETTINGS.items()
    assert report.get_result("default_settings").get("speed", 1.0) == 1.0
    assert report.get_result("settings").items() >= EDITED_SETTINGS.items()


@only(*BUT_THE_FIRST)
def test_answer_to_an_edit(report: Report) -> None:
    assert report.get_result("edited")["status"] == "ok"


def test_models(report: Report) -> None:
    (model,) = report.get_result("models")
    assert (model["model_id"], model["name"]) == ("svc-turbo", "svc-turbo")
    assert model.get("can_do_text_to_speech", True) is True
    assert model.get("languages", [{"language_id": "en"}])[0]["language_id"] == "en"


def test_account(report: Report) -> None:
    subscription = report.get_result("subscription")
    for each in (report.get_result("user")["subscription"], subscription):
        assert (each["tier"], each["status"], each["character_count"]) == ("self_hosted", "active", 0)
        assert each["character_limit"] > 10**9
        assert each["can_use_instant_voice_cloning"] is True
    assert report.get_result("user").get("user_id", "svc") == "svc"
    assert subscription.get("open_invoices", []) == []


def test_history(report: Report) -> None:
    history = report.get_result("history")
    assert (history["history"], history["has_more"]) == ([], False)


def test_clip_is_an_mp3(report: Report) -> None:
    samples, rate = decode_audio(base64.b64decode(report.get_result("clip")), "mp3")
    assert rate == 44_100
    assert len(samples) > 2 * rate
    assert len(samples) / rate == pytest.approx(_pcm_seconds(report.get_result("stream")), abs=0.06)


@only("python_1", "python_2")
def test_asynchronous_twin_brings_the_same_sound(report: Report) -> None:
    assert report.get_result("asynchronous") == report.get_result("stream")


@only(*BUT_THE_FIRST)
def test_everything_that_a_client_can_say(report: Report) -> None:
    assert _pcm_seconds(report.get_result("everything")) == pytest.approx(
        _pcm_seconds(report.get_result("stream")), rel=0.1
    )


@only("python_0", "python_1", "javascript_1")
def test_voices_by_default_and_by_name(report: Report) -> None:
    # The default id and the name are the same voice: Sarah, in another format each.
    default = len(base64.b64decode(report.get_result("default_voice"))) / 8000
    by_name = len(base64.b64decode(report.get_result("by_name"))) / 2 / 16_000
    assert default == pytest.approx(by_name, rel=0.02)
    assert default > 2


@only(*BUT_THE_FIRST)
def test_timestamps(report: Report) -> None:
    whole, lines = report.get_result("timestamps"), report.get_result("stream_timestamps")
    assert len(lines) > 1
    audio = b"".join(base64.b64decode(line["audio_base64"]) for line in lines)
    assert base64.b64decode(whole["audio_base64"]) == audio == base64.b64decode(report.get_result("stream"))
    for parts in ([whole], lines):
        assert "".join(_join(parts, "alignment", "characters")) == TEXT
        assert "five dollars" in "".join(_join(parts, "normalized_alignment", "characters"))
        starts = _join(parts, "alignment", "character_start_times_seconds")
        ends = _join(parts, "alignment", "character_end_times_seconds")
        assert starts == sorted(starts)
        assert 0 <= ends[-1] <= len(audio) / 2 / 24_000 + 0.001


def test_sliders_that_leave_the_speed(report: Report) -> None:
    lengths = {length for name, length in report.get_result("lengths").items() if name not in ("slow", "fast")}
    assert lengths == {len(base64.b64decode(report.get_result("stream")))}


@only(*BUT_THE_FIRST)
def test_speed(report: Report) -> None:
    lengths = report.get_result("lengths")
    assert lengths["slow"] / lengths["full"] == pytest.approx(1 / 0.7, rel=0.03)
    assert lengths["fast"] / lengths["full"] == pytest.approx(1 / 1.2, rel=0.03)


@only(*CURRENT)
def test_headers(report: Report) -> None:
    headers = report.get_result("headers")
    assert headers["x-svc-model"] == "eleven_v3"
    assert headers["x-svc-voice"] == VOICE
    assert headers["character-cost"] == str(len(TEXT))
    assert headers["request-id"] == headers["x-request-id"]


@only(*CURRENT)
def test_single_use_token(report: Report) -> None:
    assert len(report.get_result("single_use_token")["token"]) > 20


@only("python_2", "javascript_1", "javascript_2")
def test_retries_while_the_engine_loads(report: Report) -> None:
    assert "".join(_join([report.get_result("retried")], "alignment", "characters")) == TEXT


@pytest.mark.parametrize(
    ("call", "http_status", "status"),
    [
        ("wrong_key", 401, "invalid_api_key"),
        ("no_key", 401, "missing_api_key"),
        ("unknown_voice", 404, "voice_not_found"),
    ],
)
def test_named_errors(report: Report, client_name: str, call: str, http_status: int, status: str) -> None:
    _check_error(report.get_error(call), client_name, http_status, status)


@only("python_0", "python_1", "python_2", "javascript_1")  # the last one refuses such a call by itself
def test_unknown_format(report: Report, client_name: str) -> None:
    _check_error(report.get_error("unknown_format"), client_name, 400, "invalid_output_format")


def _check_error(error: dict[str, Any], client_name: str, http_status: int, status: str) -> None:
    if client_name == "python_0":
        assert (error["raised"], error["status"]) == ("APIError", status)
        assert error["message"]
        return
    assert error["raised"] in ("ApiError", "ElevenLabsError")
    assert error["status_code"] == http_status
    assert error["body"]["detail"]["status"] == status
    assert error["body"]["detail"]["message"]
    if client_name == "javascript_2":
        assert len(error["request_id"]) == 32


def test_blank_text_is_a_validation_error(report: Report, client_name: str) -> None:
    error = report.get_error("blank_text")
    if client_name == "python_0":
        assert error["message"].startswith("text: ")
        return
    assert (error["raised"], error["status_code"]) == ("UnprocessableEntityError", 422)
    (problem,) = error["body"]["detail"]
    assert problem["loc"] == ["body", "text"]
    assert problem["msg"]
    assert problem["type"]


def _pcm_seconds(audio: str) -> float:
    return len(base64.b64decode(audio)) / 2 / 24_000


def _join(parts: list[dict[str, Any]], alignment: str, name: str) -> list[Any]:
    return [item for part in parts if part.get(alignment) for item in part[alignment][name]]
