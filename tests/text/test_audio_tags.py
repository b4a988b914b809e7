"""Which brackets are audio tags, what they ask for, and which are ordinary text."""

import pytest

from svc.text.markup.parsed_text import ParsedText, Pronunciation
from svc.text.markup.parser import MarkupParser, find_holdback, parse
from svc.text.markup.prosody import PLAIN, Prosody


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
     ("pause 1.5s", 1.5), ("pause for 2 seconds", 2.0), ("pause 500ms", 0.5), ("60 second pause", 60.0),
     ("pause:1.5s", 1.5), ("pause:500ms", 0.5), ("pause=1.5s", 1.5), ("pause 1.5", 1.5), ("break:2s", 2.0),
     ("silence:2s", 2.0), ("2s", 2.0), ("500 ms", 0.5), ("1,5 sec", 1.5), ("Pause: 2 S", 2.0), ("pause 1500", 1.5),
     ("pausa 2 segundos", 2.0), ("停顿2秒", 2.0), ("wait 90s", 60.0)],
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


@pytest.mark.parametrize(
    ("tag", "seconds"),
    [("<#1.5#>", 1.5), ("<#0.25s#>", 0.25), ("<#500ms#>", 0.5), ("<pause 2s>", 2.0), ("<pause:2s/>", 2.0),
     ("<pause=1.5s>", 1.5), ('<pause time="2s"/>', 2.0), ("<pause>", 0.5), ("<break 2s>", 2.0), ("<silence 1s/>", 1.0),
     ("<#90#>", 60.0), ("<pause 999s>", 60.0)],
)  # fmt: skip
def test_pauses_in_angle_brackets(tag: str, seconds: float) -> None:
    parsed = parse(f"Wait {tag} for it.")
    assert parsed.text == "Wait  for it."
    assert [each.seconds for each in parsed.breaks] == [pytest.approx(seconds)]


@pytest.mark.parametrize("text", ["x[5s]", "rate[2s]", "<#if#>", "[5]", "[1.5]", "[page: 5]", "[a=1]", "[2m]"])
def test_other_numbers_are_text(text: str) -> None:
    assert (parse(text).text, parse(text).breaks) == (text, [])


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Hi. [emotion: happy] Yes.", "Hi.  Yes."),
        ("Hi. [emotion: zesty] Yes.", "Hi.  Yes."),
        ("[sfx: thunder and rain] Run!", " Run!"),
        ("[happy: 0.8] Yes.", " Yes."),
        ("[excited, 80%] Yes.", " Yes."),
        ("Stop. [DOOR SLAMS] Who is there?", "Stop.  Who is there?"),
        ("[PHONE RINGING]\nHello?", "\nHello?"),
        ("*laughs* That is good.", " That is good."),
        ("That is good. *clears throat*", "That is good. "),
        ("Well *sighs* I do.", "Well  I do."),
        ("(laughs) That is good.", " That is good."),
        ("That is good, (laughing softly) really.", "That is good,  really."),
        ("Wait. (long pause) Go.", "Wait.  Go."),
        ("すごい（笑）。", "すごい。"),
        ("[whispers] Quiet. [/whispers] Loud.", " Quiet.  Loud."),
        ("[/emotion: happy] Loud.", " Loud."),
    ],
)
def test_tags_as_people_write_them(text: str, plain: str) -> None:
    assert parse(text).text == plain


@pytest.mark.parametrize(
    "text",
    [
        "[UNITED NATIONS] said so.", "[NASA] said", "[TODO] later", "*happy* days", "**laughs** at it", "a*laughs*b",
        "She *laughs* a lot.", "Tom *sighs* often.", "He was *laughing* then.", "I said *pause* it.", "* laughs *",
        "He (laughs) often.", "(Fortunately) he left.", "(see page 3)", "f(x) = 2*x*y", "(laughs", "[/b] x", "[/url]",
        "[docs](/guide/intro/)", "[laughs](/sounds/)",
    ],
)  # fmt: skip
def test_what_looks_like_a_tag_is_text(text: str) -> None:
    assert parse(text).text == text


def test_a_closing_tag_ends_the_delivery() -> None:
    assert _find_prosody("[whispers] Be quiet. [/whispers] Loud.", "Loud") == PLAIN
    assert _find_prosody("[emotion: sad] One.", "One") == _prosody("sad")
    assert _find_prosody("[happy: 0.8] One.", "One") == _prosody("happy")


def test_phonemes_as_users_of_kokoro_write_them() -> None:
    parsed = parse("Say [Kokoro](/kˈOkəɹO/) now.")
    assert parsed.text == "Say Kokoro now."
    assert parsed.replacements == [Pronunciation(4, 10, "kˈOkəɹO")]
    assert "".join(parsed.text[at] for at in range(4, 10)) == "".join(
        "Say [Kokoro](/kˈOkəɹO/) now."[each] for each in parsed.origins[4:10]
    )


@pytest.mark.parametrize(
    "text",
    [
        "Wait [pause:1.5s] and <#1.5#> and <pause=2s> and <pause 2s> on. [DOOR SLAMS] Who? [UNITED NATIONS] said.",
        "*laughs* Yes. (laughs) No. **bold** and *plain* words (as here) and [Kokoro](/kˈOkəɹO/) and [a](/b/) [c](d).",
        "[whispers] Be [/whispers] quiet [happy: 0.8] now [emotion: sad] x[2s] [2s] すごい（笑）。",
    ],
)
def test_tags_in_a_stream_do_not_depend_on_its_pieces(text: str) -> None:
    def stream(size: int) -> ParsedText:
        parser, pending, pieces = MarkupParser(), "", list[ParsedText]()
        for start in range(0, len(text), size):
            pending += text[start : start + size]
            certain = find_holdback(pending)
            pieces += parser.feed(pending[:certain], whole=False)
            pending = pending[certain:]
        parsed = ParsedText.join([*pieces, *parser.feed(pending, whole=False)])
        parsed.origins = []
        return parsed

    whole = stream(len(text))
    assert all(stream(size) == whole for size in range(1, 30))
