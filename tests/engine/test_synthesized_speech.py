"""Speech of the real engine: Whisper transcribes it, and the voice settings change it."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from jiwer import wer

from svc.audio.samples import Samples
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.settings import VoiceSettings
from tests.engine.pitch import pitch_deviation

pytestmark = pytest.mark.real

Say = Callable[..., Samples]
Hear = Callable[..., str]


@pytest.mark.parametrize(
    ("voice", "text", "expected"),
    [
        ("af_heart", "The quick brown fox jumps over the lazy dog.", "the quick brown fox jumps over the lazy dog"),
        (
            "bm_george",
            "Would you like a cup of tea, or something a little stronger?",
            "would you like a cup of tea or something a little stronger",
        ),
        (
            "am_michael",
            "Dr. Smith paid twenty dollars for the blue lamp on Main St.",
            "doctor smith paid twenty dollars for the blue lamp on main street",
        ),
    ],
)
def test_english_is_intelligible(say: Say, transcribe: Hear, voice: str, text: str, expected: str) -> None:
    transcript = transcribe(say(text, voice))
    transcript = (
        transcript.replace("dr ", "doctor ").replace("20", "twenty dollars", 1).replace("dollars dollars", "dollars")
    )
    assert wer(expected, transcript) <= 0.15, transcript


@pytest.mark.parametrize(
    ("voice", "language", "text", "words"),
    [
        ("ef_dora", "es", "El gato negro duerme en la cocina.", {"gato", "negro", "duerme", "cocina"}),
        ("ff_siwis", "fr", "Le petit chat dort dans la cuisine.", {"petit", "chat", "dort", "cuisine"}),
        ("if_sara", "it", "Il gatto nero dorme in cucina.", {"gatto", "nero", "dorme", "cucina"}),
        ("pf_dora", "pt", "O gato preto dorme na cozinha.", {"gato", "preto", "dorme", "cozinha"}),
        # Voices of another language, recognised without being named.
        ("af_heart", "de", "Die schwarze Katze schläft in der Küche.", {"schwarze", "katze", "schläft", "küche"}),
    ],
)
def test_other_languages_are_intelligible(
    say: Say, transcribe: Hear, voice: str, language: str, text: str, words: set[str]
) -> None:
    transcript = transcribe(say(text, voice), language)
    assert len(words & set(transcript.split())) >= len(words) - 1, transcript


@pytest.mark.parametrize(
    ("voice", "language", "text", "characters"),
    [
        ("zf_xiaoxiao", "zh", "今天天气很好。", "天气好"),
        ("jf_alpha", "ja", "今日はとても良い天気です。", "今日天気"),
    ],
)
def test_east_asian_languages_are_intelligible(
    say: Say, transcribe: Hear, voice: str, language: str, text: str, characters: str
) -> None:
    transcript = transcribe(say(text, voice), language).replace("氣", "气" if language == "zh" else "気")
    assert set(characters) <= set(transcript), transcript


def test_same_seed_makes_the_same_samples(say: Say) -> None:
    first, second = (say("A seed makes it certain.", seed=7) for _ in range(2))
    assert np.array_equal(first, second)


def test_another_seed_makes_other_samples(say: Say) -> None:
    first, second = (say("A seed makes it certain.", seed=seed) for seed in (7, 8))
    assert len(first) != len(second) or not np.allclose(first, second)


def test_speed_changes_duration(say: Say) -> None:
    slow, plain, fast = (
        len(say("Speed is measured by how long it takes.", settings=VoiceSettings(speed=speed)))
        for speed in (0.7, 1.0, 1.2)
    )
    assert slow > 1.2 * plain
    assert fast < 0.93 * plain


def test_stability_and_style_change_the_pitch_range(say: Say) -> None:
    def deviation(**sliders: float) -> float:
        text = "Nobody knows what really happened on that island, and maybe nobody ever will."
        return pitch_deviation(say(text, "am_michael", settings=VoiceSettings(**sliders)))  # type: ignore[arg-type]

    lively, plain, calm = (deviation(stability=value) for value in (0.0, 0.5, 1.0))
    assert lively > plain > calm
    assert deviation(style=1.0) > deviation(style=0.5) > plain


def test_words_have_timings_through_the_whole_text(pipeline: Pipeline, voices: VoiceCatalogue) -> None:
    text = "First a phrase, then another one, and a last. And a new sentence."
    chunks = list(pipeline.synthesize(SynthesisRequest(text, voices.default)))
    words = [timed for chunk in chunks for timed in chunk.aligned.words]
    assert [text[timed.word.start : timed.word.end] for timed in words] == re.findall(r"\w+|[,.]", text)
    times = [time for timed in words for time in (timed.start, timed.end)]
    assert times == sorted(times)
    assert times[0] >= 0
    assert times[-1] <= chunks[-1].end_seconds
    assert chunks[-1].end_seconds * pipeline.sample_rate == sum(len(chunk.samples) for chunk in chunks)


def test_context_is_not_spoken(say: Say, transcribe: Hear) -> None:
    alone = say("she walked to the old market")
    with_context = say(
        "she walked to the old market", previous_text="On Monday morning", next_text="and bought a basket of apples."
    )
    transcript = transcribe(with_context)
    assert "market" in transcript
    assert not {"monday", "morning", "bought", "apples"} & set(transcript.split()), transcript
    assert not np.array_equal(alone, with_context), "the context has no influence"


def test_a_break_is_a_pause_of_that_length(say: Say) -> None:
    plain = say("One moment. Here it is.")
    paused = say('One moment. <break time="1.5s"/> Here it is.')
    assert (len(paused) - len(plain)) / 24_000 == pytest.approx(1.5, abs=0.2)


def test_given_phonemes_are_spoken(say: Say, transcribe: Hear) -> None:
    transcript = transcribe(say('I would like a <phoneme alphabet="ipa" ph="bəˈnænə">xqz</phoneme> for lunch, please.'))
    assert "banana" in transcript
