"""`/with-timestamps` and `/stream/with-timestamps`, on the fake engine."""

import base64
import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

PATH = "/v1/text-to-speech/af_heart"
TEXT = 'Dr. Fox paid $5 <break time="0.5s"/> at noon, didn\'t she? “Yes…” 你好！\u2028\n\nThe end. '


def _join(objects: list[dict[str, Any]], name: str) -> tuple[str, list[float], list[float]]:
    found = [each[name] for each in objects if each[name] is not None]
    return (
        "".join(character for each in found for character in each["characters"]),
        [time for each in found for time in each["character_start_times_seconds"]],
        [time for each in found for time in each["character_end_times_seconds"]],
    )


def _check(objects: list[dict[str, Any]]) -> None:
    audio = b"".join(base64.b64decode(each["audio_base64"]) for each in objects)
    seconds = len(audio) / 2 / 24_000
    for name in ("alignment", "normalized_alignment"):
        _, starts, ends = _join(objects, name)
        times = [time for pair in zip(starts, ends, strict=True) for time in pair]
        assert times == sorted(times)
        assert 0 <= times[0] <= times[-1] <= seconds + 0.001
    assert _join(objects, "alignment")[0] == TEXT
    read = _join(objects, "normalized_alignment")[0]
    assert "Doctor Fox paid five dollars" in read
    assert "break" not in read


def test_whole(client: TestClient) -> None:
    response = client.post(f"{PATH}/with-timestamps?output_format=pcm_24000", json={"text": TEXT})
    assert response.status_code == 200
    assert response.headers["x-svc-voice"]
    _check([response.json()])


def test_streamed(client: TestClient) -> None:
    response = client.post(f"{PATH}/stream/with-timestamps?output_format=pcm_24000", json={"text": TEXT})
    assert response.content.isascii()
    lines = response.text.split("\n")
    assert lines.pop() == "", "the last line ends like the others"
    assert len(lines) > 1
    _check([json.loads(line) for line in lines])


def test_both_bring_the_same_audio(client: TestClient) -> None:
    whole, streamed, plain = (
        client.post(f"{PATH}{path}?output_format=pcm_24000", json={"text": TEXT})
        for path in ("/with-timestamps", "/stream/with-timestamps", "")
    )
    joined = b"".join(base64.b64decode(json.loads(line)["audio_base64"]) for line in streamed.text.splitlines())
    assert base64.b64decode(whole.json()["audio_base64"]) == joined == plain.content


@pytest.mark.parametrize("output_format", ["pcm_48000", "wav_48000", "mp3_44100_192"])
def test_lines_stay_short(client: TestClient, output_format: str) -> None:
    text = "A sentence without any pause that goes on and on until nobody knows how it began " * 5
    response = client.post(f"{PATH}/stream/with-timestamps?output_format={output_format}", json={"text": text})
    assert max(map(len, response.text.splitlines())) < 128 * 1024


def test_text_without_words(client: TestClient) -> None:
    body = client.post(f"{PATH}/with-timestamps", json={"text": "😀 !"}).json()
    assert "".join(body["alignment"]["characters"]) == "😀 !"
    assert isinstance(body["audio_base64"], str)
    assert body["audio_base64"]


@pytest.mark.parametrize("path", ["/with-timestamps", "/stream/with-timestamps"])
def test_errors_come_before_the_first_byte(client: TestClient, path: str) -> None:
    response = client.post(f"{PATH}{path}?output_format=x", json={"text": "Hello."})
    assert (response.status_code, response.json()["detail"]["status"]) == (400, "invalid_output_format")
    assert client.post(f"{PATH}{path}", json={}).status_code == 422
