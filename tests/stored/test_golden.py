"""What earlier releases have stored can be read. These files are never made anew: a new kind of record gets its own."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from svc.auth.keys import Kind, Principal, Scope, StaticKeys, hash_credential
from svc.auth.table import KeysTable
from svc.auth.verifier import Verifier
from svc.cloning.refinement_queue import Refinement, RefinementQueue
from svc.dictionaries.dictionary import Dictionary, Version, check_file
from svc.dictionaries.store import DictionaryStore
from svc.errors import DictionaryNotFound, InvalidApiKey, VoiceNotFound
from svc.text.language.languages import Language
from svc.text.pronunciation_rules import Alphabet, PronunciationRule
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.custom_voice import NOT_MEASURED, ReferenceMeasurements, Report, StoredReference, unpack_archive
from svc.voices.custom_voice import pack_archive as pack
from svc.voices.settings import VoiceSettings, VoiceSettingsStore
from svc.voices.store import VoiceStore
from tests.stored.conftest import (
    CLONE,
    DICTIONARY,
    EPHEMERAL,
    FILES,
    KEY,
    KEY_ID,
    MIX,
    REMOVED,
    REMOVED_DICTIONARY,
    REVOKED,
    SINGLE_USE,
)
from tests.voices.examples import named

NOW = 1_800_000_000.0


def test_a_clone(data: Path) -> None:
    store = VoiceStore(data / "voices", track_uploads=True)
    voice = store.read(CLONE)
    assert (voice.voice_id, voice.name, voice.description, voice.labels) == (
        CLONE,
        "Anna",
        "Jeune.",
        {"accent": "breton"},
    )
    assert (voice.language, voice.created_at, voice.key_id, voice.consent) == (
        Language.FRENCH,
        1_700_000_000,
        KEY_ID,
        True,
    )
    assert (voice.revision, voice.changed_at, voice.preview_token) == (3, 1_700_000_100.25, "preview-token-of-anna")
    measured = ReferenceMeasurements(12.5, 11.25, 10.5, -23.1, -60.2, 37.1, 0.0)
    assert voice.report == Report(measured, 0.61, "Siwis", 0.34, ("It is noisy.",), refined=True)
    assert voice.blend == ()
    parameters = voice.parameters
    assert parameters.pitch_scale == pytest.approx(0.9)
    assert parameters.loudness == {Language.FRENCH: -21.5}
    assert float(parameters.timbre[0]) == pytest.approx(-0.12323, abs=1e-5)
    assert voice.parameters_hash == "f35ac55b2eb363e1a1239f31e809636541ca7d113b27dec8db7db5ad7e5a2048"
    reference = store.read_reference(voice)
    assert reference is not None
    assert voice.reference == StoredReference.of(reference)
    assert unpack_archive(pack(voice, reference))[0].to_bytes() == voice.to_bytes()


def test_a_mix_and_a_removed_voice(data: Path) -> None:
    store = VoiceStore(data / "voices")
    mix = store.read(MIX)
    assert mix.blend == (("bf_emma", 0.25), ("af_heart", 0.25))
    assert (mix.report, mix.reference, mix.name) == (NOT_MEASURED, None, "Duet")
    assert mix.parameters_hash == "18372765b90440d720d423ce1f3c71bd751396e2247fcccafefd715b458c614c"
    assert sorted(store.signatures()) == [CLONE, MIX]
    with pytest.raises(VoiceNotFound):
        store.add(replace(mix, voice_id=REMOVED), None)


def test_pending_uploads(data: Path) -> None:
    uploads = VoiceStore(data / "voices", track_uploads=True).pending_uploads
    assert uploads is not None
    assert {upload.voice_id for upload in uploads.read_all()} == {CLONE, MIX, REMOVED}


def test_the_refinement_queue(data: Path) -> None:
    queue, voice = RefinementQueue(data / "voices/refining"), VoiceStore(data / "voices").read(CLONE)
    assert queue.waiting() == [CLONE]
    assert queue.find(CLONE) == Refinement(CLONE, voice.parameters_hash, 3)
    assert queue.progress(voice), "it is for the parameters that the voice has"


def test_a_dictionary(data: Path) -> None:
    store = DictionaryStore(data / "dictionaries")
    first, latest = "GoldenVersion0000001", "GoldenVersion0000002"
    assert store.read(DICTIONARY) == Dictionary(
        DICTIONARY,
        "Names",
        "of unions",
        1_700_000_300,
        KEY_ID,
        latest,
        3,
        revision=2,
        changed_at=1_700_000_400.5,
    )
    rules = (
        PronunciationRule("UN", "United Nations", None, True, True),
        PronunciationRule("Zoë", "zˈoʊi", Alphabet.IPA, False, False),
        PronunciationRule("tomato", "T AH0 M EY1 T OW2", Alphabet.ARPABET, True, False),
    )
    assert store.read_version(DICTIONARY, first) == Version(DICTIONARY, first, 1_700_000_300, rules[:1], "en-GB")
    assert store.read_version(DICTIONARY, latest) == Version(DICTIONARY, latest, 1_700_000_400, rules, "en-GB")
    with pytest.raises(DictionaryNotFound):
        store.read(REMOVED_DICTIONARY)


def test_every_file_of_a_dictionary_has_the_name_of_its_content() -> None:
    files = list((FILES / "data/dictionaries" / DICTIONARY).iterdir())
    assert len(files) == 3
    for file in files:
        check_file(DICTIONARY, file.name, file.read_bytes())


def test_voice_settings(data: Path, voices: VoiceCatalogue) -> None:
    store = VoiceSettingsStore(data)
    clone = named(CLONE, VoiceStore(data / "voices").read(CLONE))
    caller = Principal(KEY_ID, frozenset({Scope.FULL}))
    assert store.get(clone, caller) == VoiceSettings(0.3, 0.9, 0.2, False, 1.1)
    assert store.get(voices.find("af_heart"), caller) == VoiceSettings(stability=0.7)
    assert store.get(voices.find("af_heart"), Principal("other", frozenset({Scope.FULL}))) == VoiceSettings()
    store.edit(clone, caller, lambda known: replace(known, speed=1.2))
    assert "of-a-later-release" in (data / "voice-settings.json").read_text()


def test_the_keys_table(data: Path) -> None:
    async def check() -> None:
        table = KeysTable(f"sqlite:///{data}/keys.db")
        try:
            golden, revoked = await table.list_keys()
            assert (golden.id, golden.name, golden.prefix) == (KEY_ID, "Golden", KEY[:12])
            assert (golden.scopes, golden.limits.max_streams) == (frozenset({Scope.FULL}), 2)
            assert (golden.created_at, golden.last_used_at) == (1_700_000_000, 1_700_000_060)
            assert revoked.revoked_at == 1_700_000_005
            for credential, kind in ((EPHEMERAL, Kind.EPHEMERAL), (SINGLE_USE, Kind.SINGLE_USE)):
                found = await table.find(hash_credential(credential))
                assert found is not None
                assert (found.kind, found.expires_at) == (kind, 4_000_000_000)
        finally:
            await table.close()

    asyncio.run(check())


def test_keys_and_tokens_are_still_accepted(data: Path) -> None:
    async def check() -> None:
        table = KeysTable(f"sqlite:///{data}/keys.db")
        verifier = Verifier(
            StaticKeys(["static"]),
            table,
            clock=lambda: NOW,
            cache_seconds=0,
            grace_seconds=0,
            note_use=lambda _: None,
        )
        try:
            key = await verifier.verify(KEY)
            assert (key.key_id, key.scopes) == (KEY_ID, frozenset({Scope.FULL}))
            assert (key.limits.max_streams, key.limits.max_waiting) == (2, 3)
            assert key.limits.max_characters_per_minute == 1_000
            token = await verifier.verify(EPHEMERAL)
            assert (token.key_id, token.scopes, token.limits.max_waiting) == (KEY_ID, frozenset({Scope.TTS}), 3)
            assert (await verifier.admit(SINGLE_USE)).key_id == "static-1"
            for refused in (REVOKED, SINGLE_USE):
                with pytest.raises(InvalidApiKey):
                    await verifier.admit(refused)
        finally:
            await table.close()

    asyncio.run(check())
