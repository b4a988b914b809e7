"""`voice_settings`: what each slider changes; the stored ones survive each other, damage and a full disk."""

import json
import random
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from svc.auth.keys import ANYONE, Principal, Scope
from svc.engine.protocol import Delivery
from svc.errors import StorageUnavailable
from svc.storage import atomic_files
from svc.text.language.languages import Language
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.settings import VoiceSettings, VoiceSettingsStore
from tests.voices.examples import make_voice, named


def test_defaults_leave_the_voice_as_it_is(voices: VoiceCatalogue) -> None:
    assert VoiceSettings().delivery(None) == Delivery()
    assert VoiceSettings().style_table(voices.default, Language.ENGLISH_US) is voices.default.style


def test_stability_narrows_and_style_widens_the_pitch_range() -> None:
    ranges = [VoiceSettings(stability=value).delivery(None).pitch_range for value in (0, 0.25, 0.5, 0.75, 1)]
    assert ranges == sorted(ranges, reverse=True)
    assert len(set(ranges)) == 5
    ranges = [VoiceSettings(style=value).delivery(None).pitch_range for value in (0, 0.5, 1)]
    assert ranges == sorted(ranges)
    assert len(set(ranges)) == 3


@pytest.mark.parametrize(("requested", "expected"), [(-1, 0.25), (0.3, 0.3), (0.5, 0.5), (1.2, 1.2), (9, 4.0)])
def test_speed_is_clamped_and_what_the_engine_cannot_do_is_left_to_the_tempo(requested: float, expected: float) -> None:
    settings = VoiceSettings(speed=requested)
    engine_speed, tempo = settings.split_speed()
    assert engine_speed * tempo == pytest.approx(expected)
    assert 0.5 <= engine_speed <= 1
    assert settings.delivery(None).speed == engine_speed
    assert settings.clamp_sliders().speed == pytest.approx(min(max(expected, 0.5), 2))


def test_sliders_are_clamped() -> None:
    assert VoiceSettings(stability=9, style=-4).delivery(None) == VoiceSettings(stability=1, style=0).delivery(None)


def test_similarity_boost_blends_the_timbre_with_the_mean_voice(voices: VoiceCatalogue) -> None:
    voice = voices.find("am_adam")

    def distance(settings: VoiceSettings) -> float:
        return float(np.abs(settings.style_table(voice, voice.language) - voice.neutral)[:, :128].mean())

    distances = [distance(VoiceSettings(similarity_boost=value)) for value in (0, 0.5, 0.75, 1)]
    assert distances == sorted(distances)
    assert distances[0] < 0.7 * distances[2]
    assert distance(VoiceSettings(use_speaker_boost=False)) < distances[2]
    changed = VoiceSettings(similarity_boost=0).style_table(voice, voice.language)
    assert np.array_equal(changed[:, 128:], voice.style[:, 128:]), "similarity does not change the melody"


FILE = "voice-settings.json"
ONE, OTHER, ENVIRONMENT = (Principal(key_id, frozenset({Scope.FULL})) for key_id in ("0a1b2c", "3d4e5f", "static-1"))


def test_what_a_key_edits_is_heard_by_that_key_alone(tmp_path: Path) -> None:
    store, voice = VoiceSettingsStore(tmp_path), named("a")
    store.edit(voice, ANYONE, lambda known: replace(known, style=0.4))  # before there were keys
    store.edit(voice, ONE, lambda known: replace(known, speed=1.5))
    for each in (store, VoiceSettingsStore(tmp_path)):
        assert each.get(voice, ONE) == VoiceSettings(style=0.4, speed=1.5)
        assert each.get(voice, OTHER) == each.get(voice, ENVIRONMENT) == VoiceSettings(style=0.4)
    store.edit(voice, ENVIRONMENT, lambda known: replace(known, speed=0.7))
    assert (store.get(voice, ENVIRONMENT).speed, store.get(voice, OTHER).speed) == (0.7, 1.0)


def test_what_the_owner_of_a_voice_edits_is_heard_by_all(tmp_path: Path) -> None:
    custom = make_voice(key_id=ONE.key_id)
    store, voice = VoiceSettingsStore(tmp_path), named(custom.voice_id, custom)
    store.edit(voice, ONE, lambda known: replace(known, speed=1.5))
    assert store.get(voice, OTHER).speed == 1.5
    store.edit(voice, OTHER, lambda known: replace(known, speed=0.8))
    assert (store.get(voice, ONE).speed, store.get(voice, OTHER).speed) == (1.5, 0.8)
    store.forget(voice.voice_id)
    assert json.loads((tmp_path / FILE).read_text()) == {}
    assert store.get(voice, OTHER) == store.get(voice, ONE) == VoiceSettings()


def test_edits_at_once_do_not_overwrite_each_other(tmp_path: Path) -> None:
    """Of several fields of one voice and of several voices, in two processes."""
    here, there = VoiceSettingsStore(tmp_path), VoiceSettingsStore(tmp_path)

    def slow_down(known: VoiceSettings) -> VoiceSettings:
        return replace(known, speed=known.speed - 0.01)

    def calm_down(known: VoiceSettings) -> VoiceSettings:
        return replace(known, stability=known.stability + 0.01)

    edits = [(store, change) for store in (here, there) for change in (slow_down, calm_down)] * 5
    threads = [threading.Thread(target=store.edit, args=(named("a"), ANYONE, change)) for store, change in edits]
    threads += [
        threading.Thread(target=store.edit, args=(named(f"b{number}"), ANYONE, slow_down))
        for number, store in enumerate((here, there) * 5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in (here, there):
        store.refresh()
        assert store.get(named("a"), ANYONE).speed == pytest.approx(0.9)
        assert store.get(named("a"), ANYONE).stability == pytest.approx(0.6)
        assert [store.get(named(f"b{number}"), ANYONE).speed for number in range(10)] == [0.99] * 10


def test_what_another_release_wrote_is_kept(tmp_path: Path) -> None:
    stored = {"a": {"speed": 1.5, "warmth": 0.3}, "b": {"depth": {"x": 1}}, "c": 3}
    (tmp_path / FILE).write_text(json.dumps(stored))
    store = VoiceSettingsStore(tmp_path)
    assert store.get(named("a"), ANYONE) == VoiceSettings(speed=1.5)
    assert store.get(named("b"), ANYONE) == store.get(named("c"), ANYONE) == VoiceSettings()
    store.edit(named("a"), ANYONE, lambda known: replace(known, style=1.0))
    kept = json.loads((tmp_path / FILE).read_text())
    assert (kept["a"]["warmth"], kept["a"]["speed"], kept["a"]["style"]) == (0.3, 1.5, 1.0)
    assert (kept["b"], kept["c"]) == (stored["b"], stored["c"])


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff", b'{"a": {"speed": 1.', b"[" * 100_000])
def test_a_damaged_file_is_set_aside(content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / FILE).write_bytes(content)
    store = VoiceSettingsStore(tmp_path)
    assert store.get(named("a"), ANYONE) == VoiceSettings()
    (aside,) = tmp_path.glob("voice-settings.damaged-*")
    assert aside.read_bytes() == content
    assert len(caplog.records) == 1
    store.edit(named("a"), ANYONE, lambda known: replace(known, speed=1.5))
    assert VoiceSettingsStore(tmp_path).get(named("a"), ANYONE).speed == 1.5
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"speed": "fast"},
        {"stability": None, "style": [], "similarity_boost": {}},
        {"use_speaker_boost": 1, "speed": True},
        {"speed": float("nan"), "style": float("inf"), "stability": 10**400},
    ],
    ids=str,
)
def test_a_field_of_a_wrong_type_counts_as_not_given(fields: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(json.dumps({"a": fields}))
    assert VoiceSettingsStore(tmp_path).get(named("a"), ANYONE) == VoiceSettings()


def test_on_a_full_disk_the_settings_stay_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = VoiceSettingsStore(tmp_path)
    store.edit(named("a"), ANYONE, lambda known: replace(known, speed=1.5))

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(atomic_files, "write", fail)
        with pytest.raises(StorageUnavailable):
            store.edit(named("a"), ANYONE, lambda known: replace(known, speed=0.5))
        store.forget("a")  # the voice is removed: what remains of it is not used
    assert store.get(named("a"), ANYONE).speed == VoiceSettingsStore(tmp_path).get(named("a"), ANYONE).speed == 1.5


def test_a_folder_that_cannot_be_read_does_not_stop_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = VoiceSettingsStore(tmp_path / "file")
    assert store.get(named("a"), ANYONE) == VoiceSettings()
    with pytest.raises(StorageUnavailable):
        store.edit(named("a"), ANYONE, lambda known: known)


_WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from svc.auth.keys import ANYONE
from svc.voices.settings import VoiceSettingsStore
from tests.voices.examples import named

store = VoiceSettingsStore(Path(sys.argv[1]))
for number in range(100_000):
    store.edit(named(f"voice {number % 50}"), ANYONE, lambda known: replace(known, style=(number % 100) / 100))
    print(number, flush=True)
"""


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_the_last_settings(tmp_path: Path) -> None:
    generator = random.Random(5)
    for _ in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            lines = [writer.stdout.readline() for _ in range(generator.randrange(2, 80))]
            threading.Event().wait(generator.random() * 0.01)
            writer.send_signal(signal.SIGKILL)
            lines += writer.stdout.readlines()
        last = int([line for line in lines if line.endswith("\n")][-1])
        style = VoiceSettingsStore(tmp_path).get(named(f"voice {last % 50}"), ANYONE).style
        assert style in ((last % 100) / 100, ((last + 50) % 100) / 100), "what was acknowledged, or the next edit"
        assert not list(tmp_path.glob("*.damaged*"))
