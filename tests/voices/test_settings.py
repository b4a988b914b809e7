"""`voice_settings`: what each slider changes."""

import numpy as np
import pytest

from svc.engine.protocol import Delivery
from svc.text.language import Language
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.settings import VoiceSettings


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


@pytest.mark.parametrize(("requested", "expected"), [(-1, 0.5), (0.5, 0.5), (1.2, 1.2), (9, 2.0)])
def test_speed_is_clamped(requested: float, expected: float) -> None:
    assert VoiceSettings(speed=requested).delivery(None).speed == expected


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
