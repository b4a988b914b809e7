"""The fields of every error."""

import inspect
import math

import pytest
from fastapi.testclient import TestClient

from svc import errors
from svc.api.errors import render_error
from svc.errors import AudioTooLong, Busy, RateLimitExceeded, SvcError, TooManyConcurrentRequests
from svc.settings import Settings

SPEECH = "/v1/text-to-speech/af_heart"
CLASSES = [error for error in vars(errors).values() if inspect.isclass(error) and issubclass(error, SvcError)]
TYPES = {
    "validation_error",
    "authentication_error",
    "authorization_error",
    "not_found",
    "rate_limit_error",
    "internal_error",
    "service_unavailable",
}


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        (
            "POST",
            f"{SPEECH}?output_format=mp3",
            {"text": "Hi."},
            (400, "invalid_output_format", "validation_error", "invalid_output_format", "output_format"),
        ),
        (
            "POST",
            SPEECH,
            {"text": "a" * (Settings().max_characters + 1)},
            (400, "max_character_limit_exceeded", "validation_error", "text_too_long", "text"),
        ),
        (
            "GET",
            "/v1/history/none",
            None,
            (404, "history_item_not_found", "not_found", "history_item_not_found", "history_item_id"),
        ),
        ("GET", "/v1/nothing", None, (404, "not_found", "not_found", "not_found", None)),
        ("PUT", "/v1/voices", None, (405, "method_not_allowed", "validation_error", "method_not_allowed", None)),
        ("POST", "/v1/tokens/ephemeral", {}, (501, "not_supported", "internal_error", "not_supported", None)),
    ],
)
def test_errors_have_all_fields(
    client: TestClient, method: str, path: str, body: object, expected: tuple[int, str, str, str, str | None]
) -> None:
    response = client.request(method, path, json=body)
    detail = response.json()["detail"]
    assert set(detail) == {"status", "message", "type", "code", "request_id", "param"}
    assert (response.status_code, *(detail[name] for name in ("status", "type", "code", "param"))) == expected
    assert detail["request_id"] == response.headers["request-id"]
    assert detail["message"]


def test_a_validation_error_stays_a_list(client: TestClient) -> None:
    response = client.post(SPEECH, json={"text": 5})
    assert response.status_code == 422
    assert set(response.json()["detail"][0]) == {"loc", "msg", "type"}


def test_the_openapi_document_shows_the_fields(client: TestClient) -> None:
    schema = client.get("/openapi.json").json()["components"]["schemas"]["Detail"]
    assert set(schema["required"]) == {"status", "message", "type", "code", "request_id", "param"}


@pytest.mark.parametrize("error", CLASSES)
def test_types_follow_from_the_http_status(error: type[SvcError]) -> None:
    assert errors.classify(error.http_status) in TYPES


@pytest.mark.parametrize(
    ("error", "header", "mentioned"),
    [
        (TooManyConcurrentRequests(4, 0.2), "1", ["4 texts", "SVC_KEY_MAX_STREAMS", "--max-streams"]),
        (RateLimitExceeded(1000, 7.2), "8", ["1000 characters", "--max-characters-per-minute", "8 seconds"]),
        (RateLimitExceeded(1000, math.inf), None, ["1000 characters", "shorter texts"]),
        (RateLimitExceeded(1000, 7.2, "all keys"), "8", ["SVC_MAX_CHARACTERS_PER_MINUTE"]),
        (RateLimitExceeded(1000, 7.2, "token"), "8", ["This token", "SVC_TOKEN_MAX_CHARACTERS_PER_MINUTE"]),
        (Busy(32), "1", ["32 texts", "SVC_MAX_STREAMS"]),
        (Busy(retry_after=3), "3", ["SVC_MAX_LOAD"]),
        (AudioTooLong(7200, 3600), None, ["7200 seconds", "3600", "SVC_MAX_AUDIO_SECONDS"]),
        (AudioTooLong(None, 3600), None, ["more audio", "3600"]),
    ],
)
def test_refusals_name_the_limit_and_when_to_retry(error: SvcError, header: str | None, mentioned: list[str]) -> None:
    assert render_error(error).headers.get("retry-after") == header
    assert all(each in error.message for each in mentioned), error.message
