"""The cloning view: recordings and their checks, and voices that are made, played, used and removed."""

import base64
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from svc.app import create_app
from svc.audio.samples import Samples
from svc.cloning import refinement
from svc.cloning.refinement_queue import STEPS
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from tests.audio.recordings import RATE, encode_recording, noise
from tests.browser.conftest import AUDIBLE, OpenPage, Serve, launch_browser, wait_until
from tests.clients.conftest import decode_audio, serving, wait_until_ready
from tests.cloning.fakes import StyleEchoEngine, StyleEncoder, load_style_encoder

_SLOW_DECODER = """() => {
  const decode = OfflineAudioContext.prototype.decodeAudioData;
  OfflineAudioContext.prototype.decodeAudioData = async function (...given) {
    await new Promise((done) => setTimeout(done, 1000));
    return decode.apply(this, given);
  };
}"""


@pytest.fixture(scope="module")
def browser(recording: Path) -> Iterator[Browser]:
    """A browser whose microphone plays the recording in a loop."""
    with launch_browser(f"--use-file-for-fake-audio-capture={recording}") as browser:
        yield browser


@pytest.fixture
def view(open_page: OpenPage, address: str) -> Page:
    return open_cloning_view(open_page(address))


def open_cloning_view(page: Page) -> Page:
    page.get_by_role("link", name="Clone").click()
    expect(page.get_by_role("heading", name="Clone a voice")).to_be_visible()
    return page


@pytest.fixture
def choose(view: Page, tmp_path: Path) -> Callable[[Samples], str]:
    """Chooses a file with these samples; returns the text of the checks."""

    def choose(samples: Samples) -> str:
        file = tmp_path / "clip.wav"
        file.write_bytes(encode_recording(samples, "wav 44.1 kHz"))
        view.set_input_files("#file", file)
        expect(view.locator("#recording-status")).not_to_have_text("Checking…")
        return view.inner_text("#checks")

    return choose


def fill(page: Page, name: str = "Anna") -> None:
    page.fill("#clone-name", name)
    page.check("#consent")


def make(page: Page) -> None:
    page.get_by_role("button", name="Make the voice").click()


def test_a_voice_from_a_file(view: Page, recording: Path) -> None:
    view.set_input_files("#file", recording)
    expect(view.locator("#recording-status")).to_have_text("storm.wav is ready.")
    assert view.locator("#checks .good").count() == 4
    fill(view)
    make(view)
    result = view.locator("#result")
    expect(view.locator("#clone-status")).to_have_text("Anna can speak now.")
    expect(result).to_contain_text("nearer to the recording than any built-in voice")

    result.get_by_role("button", name="Hear it").click()
    expect(result.get_by_role("button", name="Hear it")).to_have_attribute("data-state", "playing")

    result.get_by_role("button", name="Speak with it").click()
    expect(view.locator("#selected-voice")).to_have_text("Anna · Cloned · English")
    with view.expect_websocket() as socket:
        view.click("#say")
    assert "/custom-" in socket.value.url
    wait_until(view, AUDIBLE)

    open_cloning_view(view)
    view.locator("#cloned-voices").get_by_role("button", name="Remove Anna").click()
    view.get_by_role("button", name="Keep it").click()
    assert view.locator("#cloned-voices li").count() == 1
    view.locator("#cloned-voices").get_by_role("button", name="Remove Anna").click()
    view.get_by_role("button", name="Remove it").click()
    expect(view.locator("#cloned-voices-empty")).to_be_visible()
    expect(result).to_be_hidden()
    view.get_by_role("link", name="Speak").click()
    expect(view.locator("#voice-count")).to_have_text("54 voices")
    expect(view.locator("#selected-voice")).not_to_contain_text("Anna")


def test_the_real_speaker_encoder_and_engine(
    pipeline: Pipeline, open_page: OpenPage, recording: Path, tmp_path: Path, transcribe: Callable[..., str]
) -> None:
    """The page shows what the server measured, and the voice speaks the text."""
    with serving(create_app(Settings(data_dir=tmp_path, cache_dir=tmp_path), pipeline)) as address:
        wait_until_ready(address)
        page = open_cloning_view(open_page(address))
        page.set_input_files("#file", recording)
        fill(page)
        make(page)
        page.locator("#result").wait_for()
        (voice,) = page.request.get(f"{address}/v2/voices?category=cloned").json()["voices"]
        expect(page.locator("#result")).to_contain_text(f"Similarity {voice['cloning']['similarity']:.2f} of 1")
        for warning in voice["cloning"]["warnings"]:
            expect(page.locator("#result")).to_contain_text(warning)
        page.get_by_role("button", name="Speak with it").click()
        page.fill("#text", "The quick brown fox jumps over the lazy dog.")
        page.select_option("#format", "wav_24000")
        page.click("#say")
        wait_until(page, AUDIBLE)
        expect(page.locator("#say")).to_have_text("Speak")
        with page.expect_download() as download:
            page.click("#download")
        samples, _ = decode_audio(Path(download.value.path()).read_bytes(), "wav")
        assert transcribe((samples / 32768).astype(np.float32)).startswith("the quick brown fox jumps over")


def test_a_voice_that_is_improved_afterwards(
    serve: Serve, open_page: OpenPage, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both an open page and one that is opened later show the progress, and then the result."""
    monkeypatch.setattr(refinement, "_REST", 0.0)
    engine, encoder, go_on = StyleEchoEngine(), StyleEncoder(outdated=1), threading.Event()
    engine.before = lambda: encoder.recordings < 2 or go_on.wait(120)
    with serve(engine, encoder=lambda: (encoder, load_style_encoder()[1])) as address:
        page = open_cloning_view(open_page(address))
        page.set_input_files("#file", recording)
        fill(page)
        page.get_by_label("Refine it in the background").check()
        make(page)
        for place in (page.locator("#result"), page.locator("#cloned-voices")):
            expect(place.get_by_role("progressbar", name="Improving Anna")).to_be_visible()
            expect(place).to_contain_text(f"Improving, {100 / STEPS:.0f} %")
        later = open_cloning_view(open_page(address))
        for each in (page, later):
            each.locator("#cloned-voices").get_by_role("button", name="Speak with Anna").focus()
        go_on.set()
        for each in (page, later):
            expect(each.locator("#cloned-voices-status")).to_contain_text("Anna is improved: similarity")
            expect(each.locator("#cloned-voices")).to_contain_text("Cloned · English · improved")
            expect(each.get_by_role("progressbar", name="Improving Anna")).to_have_count(0)
            expect(each.locator("#cloned-voices").get_by_role("button", name="Speak with Anna")).to_be_focused()
        (voice,) = page.request.get(f"{address}/v2/voices?category=cloned").json()["voices"]
        expect(page.locator("#result")).to_contain_text(f"Similarity {voice['cloning']['similarity']:.2f} of 1")
        with page.expect_request(lambda asked: "/previews/" in asked.url) as preview:
            page.locator("#result").get_by_role("button", name="Hear it").click()
        assert preview.value.url.endswith("revision=2")


def test_the_progress_is_polled_with_a_token(
    serve: Serve, open_page: OpenPage, recording: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On a server that makes tokens, every path that the page polls is one that a token may call."""
    monkeypatch.setattr(refinement, "_REST", 0.0)
    engine, encoder, go_on = StyleEchoEngine(), StyleEncoder(outdated=1), threading.Event()
    engine.before = lambda: encoder.recordings < 2 or go_on.wait(120)
    keys = {"api_key": "a-key-of-the-tests", "api_keys_table": f"sqlite:///{tmp_path / 'keys.db'}"}
    with serve(engine, encoder=lambda: (encoder, load_style_encoder()[1]), **keys) as address:
        page = open_page(address, wait=False)
        page.fill("#key", keys["api_key"])
        page.click("#key-use")
        expect(page.locator("#voice-count")).to_have_text("54 voices")
        page = open_cloning_view(page)
        page.set_input_files("#file", recording)
        fill(page)
        page.get_by_label("Refine it in the background").check()
        make(page)
        refused: list[str] = []
        page.on("response", lambda response: refused.append(response.url) if response.status == 401 else None)
        expect(page.locator("#cloned-voices")).to_contain_text(f"Improving, {100 / STEPS:.0f} %")
        go_on.set()
        expect(page.locator("#cloned-voices-status")).to_contain_text("Anna is improved: similarity")
        assert refused == []


def test_a_voice_from_the_microphone(view: Page) -> None:
    view.get_by_role("button", name="Record").click()
    meter = view.get_by_role("meter", name="Level of the microphone")
    expect(meter).to_be_visible()
    wait_until(view, "Number(document.querySelector('[role=meter]').ariaValueNow) > -40")
    wait_until(view, "parseFloat(clock.textContent) > 9")
    view.locator("#record").click()
    expect(view.locator("#recording-status")).to_contain_text("is ready.")
    assert view.locator("#checks .bad").count() == 0
    fill(view, "From the microphone")
    make(view)
    expect(view.locator("#clone-status")).to_have_text("From the microphone can speak now.")


def test_asks_for_what_is_missing_in_order(view: Page, recording: Path) -> None:
    view.evaluate(_SLOW_DECODER)  # the messages must stay when the check ends
    make(view)
    expect(view.locator("#clone-status")).to_have_text("Record something or choose a file first.")
    view.set_input_files("#file", recording)
    make(view)
    expect(view.locator("#clone-status")).to_have_text("Give the voice a name.")
    expect(view.locator("#clone-name")).to_be_focused()
    expect(view.locator("#recording-status")).to_have_text("storm.wav is ready.")
    expect(view.locator("#clone-status")).to_have_text("Give the voice a name.")
    view.fill("#clone-name", "Anna")
    make(view)
    expect(view.locator("#clone-status")).to_have_text("Confirm that the voice may be cloned.")
    expect(view.locator("#consent")).to_be_focused()


def test_the_later_of_two_recordings_is_used(view: Page, recording: Path, spoken: Samples, tmp_path: Path) -> None:
    """Also if the check of the first takes longer."""
    view.evaluate(_SLOW_DECODER)
    short = tmp_path / "short.wav"
    short.write_bytes(encode_recording(spoken[:RATE], "wav 44.1 kHz"))
    view.set_input_files("#file", short)
    view.set_input_files("#file", recording)
    expect(view.locator("#recording-status")).to_have_text("storm.wav is ready.")
    assert "Too short" not in view.inner_text("#checks")


def test_too_short(choose: Callable[[Samples], str], view: Page, spoken: Samples) -> None:
    assert "Too short" in choose(spoken[:RATE])
    fill(view)
    make(view)
    expect(view.locator("#clone-status")).to_contain_text("No voice can be made")


def test_short(choose: Callable[[Samples], str], spoken: Samples) -> None:
    for seconds in (2, 6):
        assert "Short" in choose(spoken[: seconds * RATE])


def test_silent(choose: Callable[[Samples], str]) -> None:
    assert "Silent" in choose(np.zeros(10 * RATE, np.float32))


@pytest.mark.parametrize("gain", [2, 5, 20])
def test_clipped(choose: Callable[[Samples], str], spoken: Samples, gain: float) -> None:
    loud = gain * spoken / np.abs(spoken).max()
    assert "Clipped" in choose(np.clip(loud, -0.9, 0.9).astype(np.float32))


def test_noisy(choose: Callable[[Samples], str], spoken: Samples) -> None:
    noisy = 0.5 * spoken + noise(len(spoken) / RATE, 0.03)[: len(spoken)]
    assert "Noisy" in choose(noisy)
    assert "Noisy" in choose(np.concatenate([noisy, np.zeros(20 * RATE, np.float32)])), "digital silence hides no noise"


def test_quiet(choose: Callable[[Samples], str], spoken: Samples) -> None:
    assert "Quiet" in choose((0.01 * spoken).astype(np.float32))


def test_a_file_without_audio(view: Page, tmp_path: Path) -> None:
    """The browser cannot check it, because the server may know more formats; the server refuses it."""
    file = tmp_path / "holiday.wav"
    file.write_bytes(b"not audio" * 1000)
    view.set_input_files("#file", file)
    expect(view.locator("#checks")).to_contain_text("Not checked")
    fill(view)
    make(view)
    expect(view.locator("#banner")).to_contain_text("This file contains no audio")


def test_a_dropped_file(view: Page, recording: Path) -> None:
    transfer = view.evaluate_handle(
        """base64 => {
          const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
          const transfer = new DataTransfer();
          transfer.items.add(new File([bytes], 'dropped.wav', { type: 'audio/wav' }));
          return transfer;
        }""",
        base64.b64encode(recording.read_bytes()).decode(),
    )
    view.dispatch_event("#drop", "drop", {"dataTransfer": transfer})
    expect(view.locator("#recording-status")).to_have_text("dropped.wav is ready.")


def test_a_server_without_room_for_another_voice(serve: Serve, open_page: OpenPage, recording: Path) -> None:
    with serve(max_custom_voices=0) as address:
        page = open_cloning_view(open_page(address))
        page.set_input_files("#file", recording)
        fill(page)
        make(page)
        expect(page.locator("#banner")).to_contain_text("There is no room for another voice")


def test_without_a_microphone(open_page: OpenPage, address: str) -> None:
    page = open_cloning_view(open_page(address))
    page.evaluate(
        "() => { navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', 'NotFoundError')); }"
    )
    page.click("#record")
    expect(page.locator("#banner")).to_contain_text("The microphone cannot be used – None was found.")
