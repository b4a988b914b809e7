"""A voice from a recording: looked at before it is sent, made, heard, used and removed."""

import base64
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from svc.app import create_app
from svc.cloning import refinement
from svc.engine.protocol import Samples
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from tests.audio.recordings import RATE, encoded, noise
from tests.browser.conftest import Open, Serve, launched, until
from tests.clients.conftest import decoded, serving, wait_until_ready
from tests.cloning.fakes import StyleEchoEngine, StyleEncoder, load_style_encoder

_LISTENS_SLOWLY = """() => {
  const decode = OfflineAudioContext.prototype.decodeAudioData;
  OfflineAudioContext.prototype.decodeAudioData = async function (...given) {
    await new Promise((done) => setTimeout(done, 1000));
    return decode.apply(this, given);
  };
}"""


@pytest.fixture(scope="module")
def browser(recording: Path) -> Iterator[Browser]:
    """Its microphone hears the recording, over and over."""
    with launched(f"--use-file-for-fake-audio-capture={recording}") as browser:
        yield browser


@pytest.fixture
def studio(open_page: Open, address: str) -> Page:
    return in_the_studio(open_page(address))


def in_the_studio(page: Page) -> Page:
    page.get_by_role("link", name="Clone").click()
    expect(page.get_by_role("heading", name="Clone a voice")).to_be_visible()
    return page


@pytest.fixture
def choose(studio: Page, tmp_path: Path) -> Callable[[Samples], str]:
    """Chooses a file with these samples; gives what the page says about it."""

    def choose(samples: Samples) -> str:
        file = tmp_path / "clip.wav"
        file.write_bytes(encoded(samples, "wav 44.1 kHz"))
        studio.set_input_files("#file", file)
        expect(studio.locator("#take-status")).not_to_have_text("Listening…")
        return studio.inner_text("#checks")

    return choose


def fill(page: Page, name: str = "Anna") -> None:
    page.fill("#clone-name", name)
    page.check("#consent")


def make(page: Page) -> None:
    page.get_by_role("button", name="Make the voice").click()


def test_a_voice_from_a_file(studio: Page, recording: Path) -> None:
    studio.set_input_files("#file", recording)
    expect(studio.locator("#take-status")).to_have_text("storm.wav is ready.")
    assert studio.locator("#checks .good").count() == 4
    fill(studio)
    make(studio)
    result = studio.locator("#result")
    expect(studio.locator("#clone-status")).to_have_text("Anna can speak now.")
    expect(result).to_contain_text("nearer to the recording than any built-in voice")

    result.get_by_role("button", name="Hear it").click()
    expect(result.get_by_role("button", name="Hear it")).to_have_attribute("data-state", "playing")

    result.get_by_role("button", name="Speak with it").click()
    expect(studio.locator("#chosen")).to_have_text("Anna · Cloned · English")
    with studio.expect_websocket() as socket:
        studio.click("#say")
    assert "/custom-" in socket.value.url
    until(studio, "window.ears.loudest() > 0.05")

    in_the_studio(studio)
    studio.locator("#mine").get_by_role("button", name="Remove Anna").click()
    studio.get_by_role("button", name="Keep it").click()
    assert studio.locator("#mine li").count() == 1
    studio.locator("#mine").get_by_role("button", name="Remove Anna").click()
    studio.get_by_role("button", name="Remove it").click()
    expect(studio.locator("#mine-none")).to_be_visible()
    expect(result).to_be_hidden()
    studio.get_by_role("link", name="Speak").click()
    expect(studio.locator("#voice-count")).to_have_text("54 voices")
    expect(studio.locator("#chosen")).not_to_contain_text("Anna")


def test_the_real_ear_and_engine(
    speech: Pipeline, open_page: Open, recording: Path, tmp_path: Path, hear: Callable[..., str]
) -> None:
    """What the page says is what was measured, and what it plays is the text."""
    with serving(create_app(Settings(data_dir=tmp_path, cache_dir=tmp_path), speech)) as address:
        wait_until_ready(address)
        page = in_the_studio(open_page(address))
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
        until(page, "window.ears.loudest() > 0.05")
        expect(page.locator("#say")).to_have_text("Speak")
        with page.expect_download() as download:
            page.click("#download")
        samples, _ = decoded(Path(download.value.path()).read_bytes(), "wav")
        assert hear((samples / 32768).astype(np.float32)).startswith("the quick brown fox jumps over")


def test_a_voice_that_is_improved_afterwards(
    serve: Serve, open_page: Open, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How far it has come is seen while it is going on, also by who comes later; then what became of it."""
    monkeypatch.setattr(refinement, "_REST", 0.0)
    engine, encoder, go_on = StyleEchoEngine(), StyleEncoder(outdated=1), threading.Event()
    engine.before = lambda: encoder.recordings < 2 or go_on.wait(120)
    with serve(engine, encoder=lambda: (encoder, load_style_encoder()[1])) as address:
        page = in_the_studio(open_page(address))
        page.set_input_files("#file", recording)
        fill(page)
        page.get_by_label("Improve it afterwards").check()
        make(page)
        for place in (page.locator("#result"), page.locator("#mine")):
            expect(place.get_by_role("progressbar", name="Improving Anna")).to_be_visible()
            expect(place).to_contain_text("Improving, 17 %")
        later = in_the_studio(open_page(address))
        for each in (page, later):
            each.locator("#mine").get_by_role("button", name="Speak with Anna").focus()
        go_on.set()
        for each in (page, later):
            expect(each.locator("#mine-status")).to_contain_text("Anna is improved: similarity")
            expect(each.locator("#mine")).to_contain_text("Cloned · English · improved")
            expect(each.get_by_role("progressbar", name="Improving Anna")).to_have_count(0)
            expect(each.locator("#mine").get_by_role("button", name="Speak with Anna")).to_be_focused()
        (voice,) = page.request.get(f"{address}/v2/voices?category=cloned").json()["voices"]
        expect(page.locator("#result")).to_contain_text(f"Similarity {voice['cloning']['similarity']:.2f} of 1")
        with page.expect_request(lambda asked: "/previews/" in asked.url) as preview:
            page.locator("#result").get_by_role("button", name="Hear it").click()
        assert preview.value.url.endswith("revision=2")


def test_a_voice_from_the_microphone(studio: Page) -> None:
    studio.get_by_role("button", name="Record").click()
    meter = studio.get_by_role("meter", name="Level of the microphone")
    expect(meter).to_be_visible()
    until(studio, "Number(document.querySelector('[role=meter]').ariaValueNow) > -40")
    until(studio, "parseFloat(clock.textContent) > 9")
    studio.locator("#record").click()
    expect(studio.locator("#take-status")).to_contain_text("is ready.")
    assert studio.locator("#checks .bad").count() == 0
    fill(studio, "From the microphone")
    make(studio)
    expect(studio.locator("#clone-status")).to_have_text("From the microphone can speak now.")


def test_what_is_missing_is_asked_for_in_order(studio: Page, recording: Path) -> None:
    studio.evaluate(_LISTENS_SLOWLY)  # what is asked for meanwhile stays
    make(studio)
    expect(studio.locator("#clone-status")).to_have_text("Record something or choose a file first.")
    studio.set_input_files("#file", recording)
    make(studio)
    expect(studio.locator("#clone-status")).to_have_text("Give the voice a name.")
    expect(studio.locator("#clone-name")).to_be_focused()
    expect(studio.locator("#take-status")).to_have_text("storm.wav is ready.")
    expect(studio.locator("#clone-status")).to_have_text("Give the voice a name.")
    studio.fill("#clone-name", "Anna")
    make(studio)
    expect(studio.locator("#clone-status")).to_have_text("Confirm that the voice may be cloned.")
    expect(studio.locator("#consent")).to_be_focused()


def test_of_two_recordings_the_later_one_counts(studio: Page, recording: Path, spoken: Samples, tmp_path: Path) -> None:
    """Also when the first takes longer to listen to."""
    studio.evaluate(_LISTENS_SLOWLY)
    short = tmp_path / "short.wav"
    short.write_bytes(encoded(spoken[: 2 * RATE], "wav 44.1 kHz"))
    studio.set_input_files("#file", short)
    studio.set_input_files("#file", recording)
    expect(studio.locator("#take-status")).to_have_text("storm.wav is ready.")
    assert "Too short" not in studio.inner_text("#checks")


def test_too_short(choose: Callable[[Samples], str], studio: Page, spoken: Samples) -> None:
    assert "Too short" in choose(spoken[: 2 * RATE])
    fill(studio)
    make(studio)
    expect(studio.locator("#clone-status")).to_contain_text("will not make a voice")


def test_short(choose: Callable[[Samples], str], spoken: Samples) -> None:
    assert "Short" in choose(spoken[: 6 * RATE])


def test_silent(choose: Callable[[Samples], str]) -> None:
    assert "Silent" in choose(np.zeros(10 * RATE, np.float32))


@pytest.mark.parametrize("gain", [2, 5, 20])
def test_clipped(choose: Callable[[Samples], str], spoken: Samples, gain: float) -> None:
    loud = gain * spoken / np.abs(spoken).max()
    assert "Clipped" in choose(np.clip(loud, -0.9, 0.9).astype(np.float32))


def test_noisy(choose: Callable[[Samples], str], spoken: Samples) -> None:
    assert "Noisy" in choose(0.5 * spoken + noise(len(spoken) / RATE, 0.03)[: len(spoken)])


def test_quiet(choose: Callable[[Samples], str], spoken: Samples) -> None:
    assert "Quiet" in choose((0.01 * spoken).astype(np.float32))


def test_a_file_without_sound(studio: Page, tmp_path: Path) -> None:
    """The browser cannot open it, but the server might; it is the server that refuses it, in its own words."""
    file = tmp_path / "holiday.wav"
    file.write_bytes(b"not a sound" * 1000)
    studio.set_input_files("#file", file)
    expect(studio.locator("#checks")).to_contain_text("Not checked")
    fill(studio)
    make(studio)
    expect(studio.locator("#problem")).to_contain_text("This file holds no sound")


def test_a_file_that_is_dropped(studio: Page, recording: Path) -> None:
    transfer = studio.evaluate_handle(
        """base64 => {
          const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
          const transfer = new DataTransfer();
          transfer.items.add(new File([bytes], 'dropped.wav', { type: 'audio/wav' }));
          return transfer;
        }""",
        base64.b64encode(recording.read_bytes()).decode(),
    )
    studio.dispatch_event("#drop", "drop", {"dataTransfer": transfer})
    expect(studio.locator("#take-status")).to_have_text("dropped.wav is ready.")


def test_a_server_without_room_for_voices(serve: Serve, open_page: Open, recording: Path) -> None:
    with serve(max_custom_voices=0) as address:
        page = in_the_studio(open_page(address))
        page.set_input_files("#file", recording)
        fill(page)
        make(page)
        expect(page.locator("#problem")).to_contain_text("There is no room for another voice")


def test_without_a_microphone(open_page: Open, address: str) -> None:
    page = in_the_studio(open_page(address))
    page.evaluate(
        "() => { navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', 'NotFoundError')); }"
    )
    page.click("#record")
    expect(page.locator("#problem")).to_contain_text("The microphone cannot be used – None was found.")
