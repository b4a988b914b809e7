"""Which brackets are audio tags, what they ask for, and which are ordinary text."""

import pytest

from svc.text.markup import find_holdback, parse
from svc.text.prosody import PLAIN, Prosody


@pytest.mark.parametrize(
    "tag",
    [
        "laughs", "whispers", "excited", "pause", "sighs", "shouts", "slowly", "sarcastically", "clears throat",
        "long pause", "short pause", "rushed", "French accent", "strong Russian accent", "Laughs", "LAUGHS", "giggling",
        "sobbing", "speaking very softly", "in a low voice", "with a laugh", "whispers excitedly", "nervously",
        "curious",
        "drawn out", "pause 2s", "2 second pause", "beat", "applause", "mischievously", "deep breath", "crying",
        "risas", "susurra", "rires", "lacht", "笑", "ため息", "低语", "हँसी",
    ],
)  # fmt: skip
@pytest.mark.parametrize("frame", ["Well [{}] then it goes on.", "[{}] Well.", "That is it. [{}]", "你好[{}]世界。"])
def test_audio_tags_are_not_read(tag: str, frame: str) -> None:
    plain = parse(frame.format(tag)).text
    assert "[" not in plain
    assert "".join(plain.split()) == "".join(frame.replace("[{}]", "").split())


@pytest.mark.parametrize(
    "text",
    [
        "as shown in [1] and [2, 3]", "he wrote [sic] there", "array[i] = items[0][1]", "[see page 3]",
        "[Mr.] Smith came",
        "He said [the president] knew.", "[t]he walk[ing] dog[s]", "a [link](https://example.com) here",
        "[laughs](https://example.com)", "![sighs](image.png)", "- [x] done\n- [ ] open", "It ends. [emphasis added]",
        "True. [citation needed]", "He [allegedly] stole it.", "[his voice] broke", "[...]", "[…]", "[*]",
        "[NASA] said", "[The crowd] left.", "[optional] field", "Yes. [they] went.", "dict[key]", "[]", "[ ]",
        "The [upset] was big news.", "She was [upset] about it.", "a [serious] matter",
        "[this is a rather long remark in brackets]", "[laughs", "laughs]", "[laughs\n]", "[" + "laughs " * 20 + "]",
    ],
)  # fmt: skip
def test_other_brackets_are_text(text: str) -> None:
    parsed = parse(text)
    assert parsed.text == text
    assert not parsed.breaks
    assert not parsed.changes


@pytest.mark.parametrize(
    "text", ["Stop. [door creaks] Who is there?", "[looks away] Fine.", "Well!\n[robot noises] Hi."]
)
def test_free_directions_before_a_sentence_are_tags(text: str) -> None:
    assert "[" not in parse(text).text


def test_a_free_direction_within_a_sentence_is_text() -> None:
    assert parse("The old [wooden door] creaks").text == "The old [wooden door] creaks"


@pytest.mark.parametrize(
    ("tag", "seconds"),
    [("pause", 0.6), ("short pause", 0.3), ("long pause", 1.2), ("dramatic pause", 1.2), ("beat", 0.6), ("pausa", 0.6),
     ("pause 1.5s", 1.5), ("pause for 2 seconds", 2.0), ("pause 500ms", 0.5), ("60 second pause", 3.0)],
)  # fmt: skip
def test_pauses(tag: str, seconds: float) -> None:
    (pause,) = parse(f"Wait [{tag}] for it.").breaks
    assert pause.seconds == pytest.approx(seconds)


def _prosody(tag: str) -> Prosody:
    changes = parse(f"[{tag}] word").changes
    return changes[-1].manner.prosody if changes else PLAIN


def test_deliveries() -> None:
    assert _prosody("whispers").volume < 0 < _prosody("shouts").volume
    assert _prosody("whispers").pitch_range < 1 < _prosody("excited").pitch_range
    assert _prosody("slowly").rate < 1 < _prosody("rushed").rate
    assert _prosody("sadly").pitch_range < 1
    assert _prosody("whispers excitedly").pitch_range > _prosody("whispers").pitch_range
    assert _prosody("laughs softly") == _prosody("sighs") == _prosody("French accent") == PLAIN


def _find_prosody(text: str, word: str) -> Prosody:
    """How a word of the text is spoken."""
    parsed = parse(text)
    position = parsed.text.index(word)
    return next((each.manner.prosody for each in reversed(parsed.changes) if each.start <= position), PLAIN)


def test_a_delivery_holds_until_the_next_one_or_the_end_of_the_paragraph() -> None:
    text = "[whispers] Be quiet. They [laughs] hear us. [excited] Run! [normal] Well.\n\n[slowly] One.\n\nTwo."
    assert (
        _find_prosody(text, "They") == _find_prosody(text, "hear") == _find_prosody(text, "Be") == _prosody("whispers")
    )
    assert _find_prosody(text, "Run") == _prosody("excited")
    assert _find_prosody(text, "Well") == PLAIN
    assert _find_prosody(text, "One") == _prosody("slowly")
    assert _find_prosody(text, "Two") == PLAIN


def test_a_tag_on_a_line_of_its_own_is_for_the_text_after_it() -> None:
    assert _find_prosody("[whispers]\n\nBe quiet.", "quiet") == _prosody("whispers")


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("Well [", "["),
        ("Well [lau", "[lau"),
        ("Well [laughs]", "[laughs]"),
        ("Well [laughs] ", ""),
        ("Well [laughs][whis", "[whis"),
        ("Well [1] and", ""),
        ("array[" + "x" * 70, ""),
    ],
)
def test_unfinished_brackets_are_held_back(text: str, held: str) -> None:
    assert text[find_holdback(text) :] == held


@pytest.mark.parametrize(
    "text", ["[" * 40_000, "[laughs" * 6_000, "[laughs]" * 5_000, "[whispers]x\n\n" * 4_000, "[a] " * 10_000]
)
def test_hostile_brackets_can_be_parsed(text: str) -> None:
    parsed = parse(text)
    assert len(parsed.origins) == len(parsed.text) + 1
