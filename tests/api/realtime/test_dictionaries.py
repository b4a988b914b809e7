"""Pronunciation dictionaries on sockets: whatever the pieces, the same words are replaced."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from svc.text.g2p import Phonemizer
from tests.api.realtime.conftest import Frame, Running, join_characters, running

TEXT = "The UN met in New York, as it were; K8s ran. Nobody at the UN, nor in New York City, knew C++20 at all."
SPOKEN = (
    "The United Nations met in the Big Apple, as it were; Kubernetes ran. Nobody at the United Nations, nor in "
    "the Big Apple City, knew see double plus twenty at all."
)
RULES = {
    "UN": "United Nations",
    "New York": "the Big Apple",
    "K8s": "Kubernetes",
    "C++": "see double plus",
}


@pytest.fixture(scope="module")
def service(phonemizer: Phonemizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder: Path = tmp_path_factory.mktemp("data")
    with running(phonemizer, data_dir=folder) as service:
        yield service


@pytest.fixture(scope="module")
def locator(service: Running) -> dict[str, Any]:
    rules = [{"type": "alias", "string_to_replace": word, "alias": text} for word, text in RULES.items()]
    path = f"{service.address}/v1/pronunciation-dictionaries/add-from-rules"
    added = httpx.post(path, json={"name": "Names", "rules": rules}, timeout=120).json()
    return {"pronunciation_dictionary_id": added["id"], "version_id": added["version_id"]}


def read_words(frames: list[Frame]) -> str:
    """The words that were read; one that two frames share counts once."""
    return re.sub(r"(\w{4,}) ?(?=\1)", "", join_characters(frames, "normalizedAlignment")).strip()


def cut(seed: int) -> list[str]:
    generator = random.Random(seed)
    cuts = sorted(generator.sample(range(1, len(TEXT)), generator.randint(0, 40)))
    return [TEXT[start:end] for start, end in zip([0, *cuts], [*cuts, len(TEXT)], strict=True)]


@pytest.mark.parametrize("seed", range(6))
def test_stream_input(service: Running, locator: dict[str, Any], seed: int) -> None:
    with service.open("stream-input") as caller:
        caller.send({"text": " ", "pronunciation_dictionary_locators": [locator]})
        frames = caller.send(*({"text": piece} for piece in cut(seed)), {"text": ""}).rest()
    assert join_characters(frames).strip() == TEXT
    assert read_words(frames) == SPOKEN


def test_multi_stream_input(service: Running, locator: dict[str, Any]) -> None:
    with service.open("multi-stream-input") as caller:
        with_rules = {"text": "The UN. ", "context_id": "a", "pronunciation_dictionary_locators": [locator]}
        unknown = {"text": "The UN. ", "context_id": "b", "pronunciation_dictionary_locators": [{"x": 1}, "y", None]}
        for message, spoken in ((with_rules, "The United Nations."), (unknown, "The UN.")):
            caller.send(message, {"context_id": message["context_id"], "flush": True})
            caller.send({"context_id": message["context_id"], "close_context": True})
            frames = caller.until(lambda frame: bool(frame.get("isFinal")))
            assert read_words(frames) == spoken


@pytest.mark.parametrize("locators", [None, 5, "x", {}, [[]], [{"pronunciation_dictionary_id": 5}]])
def test_whatever_is_no_locator_is_ignored(service: Running, locators: object) -> None:
    with service.open("stream-input") as caller:
        caller.send({"text": "The UN. ", "pronunciation_dictionary_locators": locators}, {"text": ""})
        assert join_characters(caller.rest()).strip() == "The UN."
