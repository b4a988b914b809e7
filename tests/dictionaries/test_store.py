"""Dictionaries on disk: versions stay, crashes and damage lose nothing else, limits hold."""

import json
from itertools import count
from pathlib import Path

import pytest

from svc.auth.keys import ANYONE, KeyLimits, Principal, Quota, Scope
from svc.dictionaries import store as store_module
from svc.dictionaries.catalogue import Dictionaries, Locator
from svc.dictionaries.dictionary import Dictionary
from svc.dictionaries.lexicon import Lexicon
from svc.dictionaries.store import DictionaryStore
from svc.errors import DictionaryLimitReached, DictionaryNotFound, StorageUnavailable
from svc.storage import atomic_files
from svc.text.pronunciation_rules import PronunciationRule

RULES = [PronunciationRule("UN", "United Nations")]
MORE = [PronunciationRule("EU", "European Union")]

KEY = Principal("key", frozenset({Scope.FULL}))


def open_dictionaries(folder: Path, limit: int = 10) -> Dictionaries:
    dictionaries = Dictionaries(DictionaryStore(folder), Quota(limit, limit))
    dictionaries.load()
    return dictionaries


@pytest.fixture
def dictionaries(tmp_path: Path) -> Dictionaries:
    return open_dictionaries(tmp_path)


@pytest.fixture
def added(dictionaries: Dictionaries) -> Dictionary:
    return dictionaries.add("Names", "of unions", Lexicon(RULES, "en-GB"), KEY)


def find(dictionaries: Dictionaries, text: str, *locators: Locator) -> list[str]:
    return [m.rule.replacement for rules in dictionaries.resolve_locators(locators) for m in rules.find(text, [])]


def test_versions_stay(dictionaries: Dictionaries, added: Dictionary, tmp_path: Path) -> None:
    changed = dictionaries.edit_rules(added.dictionary_id, lambda known: [*known, *MORE])
    renamed = dictionaries.edit(added.dictionary_id, name="Unions")
    assert (renamed.version_id, renamed.rules_num, renamed.revision) == (changed.version_id, 2, 3)
    for each in (dictionaries, open_dictionaries(tmp_path)):
        assert each.find(added.dictionary_id) == renamed
        assert each.read_version(added.dictionary_id, added.version_id).rules == tuple(RULES)
        latest = each.read_version(added.dictionary_id, changed.version_id)
        assert (latest.rules, latest.language) == ((*RULES, *MORE), "en-GB")
        locator = Locator(added.dictionary_id)
        assert find(each, "UN EU", locator) == ["United Nations", "European Union"]
        assert find(each, "UN EU", Locator(added.dictionary_id, added.version_id)) == ["United Nations"]
    assert len(list((tmp_path / added.dictionary_id).iterdir())) == 3, "old states are deleted"


def test_unknown_locators_are_ignored(dictionaries: Dictionaries, added: Dictionary) -> None:
    unknown = [Locator("x"), Locator("../.."), Locator(added.dictionary_id, "x"), Locator("removed")]
    for locator in unknown:
        assert dictionaries.resolve_locators([locator]) == ()
    known = Locator(added.dictionary_id)
    assert len(dictionaries.resolve_locators([known] * 5)) == 3
    (applied,) = dictionaries.resolve_locators([known])
    dictionaries.remove(added.dictionary_id)
    assert applied.find("UN", []) == [], "it was removed after the request was accepted"
    assert dictionaries.resolve_locators([known]) == ()


def test_archives(dictionaries: Dictionaries, added: Dictionary) -> None:
    archived = dictionaries.edit(added.dictionary_id, archived=True)
    assert archived.archived_at is not None
    assert dictionaries.edit(added.dictionary_id, name="x").archived_at == archived.archived_at
    assert find(dictionaries, "UN", Locator(added.dictionary_id)) == ["United Nations"]
    assert dictionaries.edit(added.dictionary_id, archived=False).archived_at is None


def test_another_process_sees_changes(dictionaries: Dictionaries, added: Dictionary, tmp_path: Path) -> None:
    other = open_dictionaries(tmp_path)
    dictionaries.edit(added.dictionary_id, name="Changed")
    other.refresh()
    assert other.find(added.dictionary_id).name == "Changed"
    other.remove(added.dictionary_id)
    dictionaries.refresh()
    with pytest.raises(DictionaryNotFound):
        dictionaries.find(added.dictionary_id)


def test_removed_ids_stay_removed(dictionaries: Dictionaries, added: Dictionary) -> None:
    dictionaries.remove(added.dictionary_id)
    for change in (
        lambda: dictionaries.remove(added.dictionary_id),
        lambda: dictionaries.edit(added.dictionary_id, name="x"),
        lambda: dictionaries.edit_rules(added.dictionary_id, lambda known: known),
        lambda: dictionaries.read_version(added.dictionary_id, added.version_id),
        lambda: dictionaries.store.save_fetched(added.dictionary_id, added.file_name, added.to_bytes()),
    ):
        with pytest.raises(DictionaryNotFound):
            change()


@pytest.mark.parametrize("dictionary_id", ["..", "removed", "", "../../etc", "x" * 20, "x" * 21])
def test_ids_that_are_none(dictionaries: Dictionaries, added: Dictionary, dictionary_id: str) -> None:
    with pytest.raises(DictionaryNotFound):
        dictionaries.remove(dictionary_id)
    with pytest.raises(DictionaryNotFound):
        dictionaries.read_version(dictionary_id, added.version_id)
    with pytest.raises(DictionaryNotFound):
        dictionaries.read_version(added.dictionary_id, f"../{added.version_id}")
    assert len(dictionaries) == 1


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dictionaries = open_dictionaries(tmp_path, limit=1)
    added = dictionaries.add("Names", "", Lexicon(RULES), KEY)
    with pytest.raises(DictionaryLimitReached):
        dictionaries.add("Names", "", Lexicon(RULES), KEY)
    dictionaries.edit(added.dictionary_id, name="can still be renamed")


def test_a_key_has_its_own_limit(tmp_path: Path) -> None:
    dictionaries = Dictionaries(DictionaryStore(tmp_path), Quota(4, 1))

    def add(caller: Principal) -> None:
        dictionaries.add("Names", "", Lexicon(RULES), caller)

    add(KEY)
    with pytest.raises(DictionaryLimitReached, match="SVC_KEY_MAX_DICTIONARIES"):
        add(KEY)
    other = Principal("other", frozenset({Scope.FULL}), limits=KeyLimits(max_dictionaries=2))
    add(other)
    add(other)
    with pytest.raises(DictionaryLimitReached, match="This key has 2"):
        add(other)
    add(ANYONE)
    with pytest.raises(DictionaryLimitReached, match="SVC_MAX_DICTIONARIES"):
        add(ANYONE)


@pytest.mark.parametrize(("limit", "value"), [("MAX_VERSIONS", 3), ("MAX_VERSION_BYTES", 1500)])
def test_the_oldest_versions_make_way(
    dictionaries: Dictionaries, added: Dictionary, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(store_module, limit, value)
    seconds = count()
    monkeypatch.setattr("time.time", lambda: 1_800_000_000 + next(seconds))
    edited = [dictionaries.edit_rules(added.dictionary_id, lambda known: known) for _ in range(8)]
    versions = [added.version_id, *(each.version_id for each in edited)]
    kept = [each for each in versions if dictionaries.resolve_locators([Locator(added.dictionary_id, each)])]
    assert 2 <= len(kept) <= 4
    assert kept == versions[-len(kept) :]
    assert dictionaries.find(added.dictionary_id).version_id == versions[-1]


def test_a_disk_that_fails_changes_nothing(
    dictionaries: Dictionaries, added: Dictionary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = atomic_files.write

    def fail_at_states(file: Path, content: bytes) -> None:
        if file.name.startswith("state-"):
            raise OSError("No space left on device")
        write(file, content)

    monkeypatch.setattr(atomic_files, "write", fail_at_states)
    with pytest.raises(StorageUnavailable):
        dictionaries.add("Other", "", Lexicon(RULES), KEY)
    with pytest.raises(StorageUnavailable):
        dictionaries.edit_rules(added.dictionary_id, lambda known: [*known, *MORE])
    monkeypatch.undo()
    for each in (dictionaries, open_dictionaries(tmp_path)):
        each.refresh()
        assert each.list_for(ANYONE) == [added]


def test_what_a_crash_leaves_is_tidied_up(dictionaries: Dictionaries, added: Dictionary, tmp_path: Path) -> None:
    (tmp_path / added.dictionary_id / "state-x.json.new").write_bytes(b"{")
    orphan = tmp_path / ("a" * 20)
    orphan.mkdir()
    (orphan / f"version-{'b' * 20}.json").write_bytes(b"{}")
    again = open_dictionaries(tmp_path)
    assert again.list_for(ANYONE) == [added]
    assert not orphan.exists()
    assert len(list((tmp_path / added.dictionary_id).iterdir())) == 2


def test_damage_is_noticed(
    dictionaries: Dictionaries, added: Dictionary, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = dictionaries.add("Other", "", Lexicon(RULES), KEY)
    file = tmp_path / added.dictionary_id / added.file_name
    stored = json.loads(file.read_bytes())
    stored["content"]["name"] = "Mallory"
    file.write_text(json.dumps(stored))
    again = open_dictionaries(tmp_path)
    assert again.list_for(ANYONE) == [other]
    assert added.dictionary_id in caplog.text
    (tmp_path / other.dictionary_id / f"version-{other.version_id}.json").write_bytes(b"\xff")
    with pytest.raises(DictionaryNotFound):
        again.read_version(other.dictionary_id, other.version_id)
    assert find(again, "UN", Locator(other.dictionary_id)) == []
