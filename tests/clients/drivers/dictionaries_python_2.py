"""Makes, changes and speaks with pronunciation dictionaries, with PyPI's elevenlabs 2.x."""

import sys
from typing import Any

from elevenlabs import (  # type: ignore[import-not-found]
    BodyAddAPronunciationDictionaryV1PronunciationDictionariesAddFromRulesPostRulesItem_Alias as Alias,
)
from elevenlabs import PronunciationDictionaryVersionLocator as Locator
from elevenlabs.client import ElevenLabs  # type: ignore[import-not-found]

from tests.clients.drivers.report import report

ADDRESS, _, _, KEY, TEXT, VOICE = sys.argv[1:]
eleven = ElevenLabs(base_url=ADDRESS, api_key=KEY, timeout=600)
dictionaries = eleven.pronunciation_dictionaries
PHONEME = {"type": "phoneme", "string_to_replace": "Xq", "phoneme": "bəˈnænə", "alphabet": "ipa"}
ARPABET = {"type": "phoneme", "string_to_replace": "Xq", "phoneme": "B AH0 N AE1 N AH0", "alphabet": "cmu-arpabet"}
ids: dict[str, Any] = {}


def add() -> Any:
    rules = [Alias(string_to_replace="zzt", alias="elephants", case_sensitive=False)]
    added = dictionaries.create_from_rules(name="Animals", description="Some.", rules=rules)
    ids.update(id=added.id, first=added.version_id)
    return added


def speak(*versions: str | None) -> bytes:
    locators = [Locator(pronunciation_dictionary_id=ids["id"], version_id=version) for version in versions]
    return b"".join(
        eleven.text_to_speech.convert(
            VOICE, text=TEXT, output_format="pcm_24000", pronunciation_dictionary_locators=locators
        )
    )


def download() -> bytes:
    latest = dictionaries.get(ids["id"]).latest_version_id
    content = b"".join(dictionaries.download(ids["id"], latest))
    ids["content"] = content
    return content


def add_file() -> Any:
    added = dictionaries.create_from_file(name="Copy", file=("copy.pls", ids["content"]), workspace_access="viewer")
    return dictionaries.get(added.id)


def list_pages() -> list[str]:
    first = dictionaries.list(page_size=1, sort="name", sort_direction="ascending")
    second = dictionaries.list(page_size=1, sort="name", sort_direction="ascending", cursor=first.next_cursor)
    assert first.has_more
    assert not second.has_more
    return [each.name for page in (first, second) for each in page.pronunciation_dictionaries]


report(
    {
        "added": add,
        "added_rules": lambda: dictionaries.rules.add(ids["id"], rules=[PHONEME]),
        "got": lambda: dictionaries.get(ids["id"]),
        "spoken": lambda: speak(None),
        "spoken_first": lambda: speak(ids["first"], "unknown"),
        "downloaded": download,
        "copied": add_file,
        "listed": list_pages,
        "set": lambda: dictionaries.rules.set(ids["id"], rules=[ARPABET]),
        "removed_rules": lambda: dictionaries.rules.remove(ids["id"], rule_strings=["Xq"]),
        "updated": lambda: dictionaries.update(ids["id"], name="Beasts", archived=True),
        "archived": lambda: [each.name for each in dictionaries.list(include_archived=True).pronunciation_dictionaries],
        "not_archived": lambda: [each.name for each in dictionaries.list().pronunciation_dictionaries],
        "unknown": lambda: dictionaries.get("nobody"),
        "invalid": lambda: dictionaries.rules.set(ids["id"], rules=[{**PHONEME, "alphabet": "none"}]),
        "unknown_cursor": lambda: dictionaries.list(cursor="none"),
    }
)
