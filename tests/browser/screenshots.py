"""The pictures of the page in docs/images, as the real engine speaks.

python -m tests.browser.screenshots
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import soxr
from playwright.sync_api import Browser, Page

from svc.app import create_app, create_pipeline, create_voices
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from tests.audio.recordings import encoded
from tests.browser.conftest import launched, until
from tests.clients.conftest import serving, wait_until_ready
from tests.conftest import STORY

_IMAGES = Path(__file__).parents[2] / "docs/images"
_LOOKUP = "--host-resolver-rules=MAP localhost:8000 "  # for code in the pictures that shows the usual address
_DESK: dict[str, Any] = {"viewport": {"width": 1120, "height": 800}}
_PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 800}, "device_scale_factor": 1.5, "has_touch": True}


@contextmanager
def opened(browser: Browser, address: str, **options: Any) -> Iterator[Page]:
    context = browser.new_context(**options)
    page = context.new_page()
    page.goto(address)
    until(page, "document.querySelector('#code').textContent !== ''")
    yield page
    context.close()


def speak_up_to(page: Page, word: str) -> None:
    """Speaks until that word is heard: for the second time, as the first warms the engine up for a voice."""
    page.click("#say")
    until(page, "document.querySelector('#length').textContent !== '–'")
    page.click("#say")
    page.click("#say")
    until(page, "document.querySelector('#length').textContent !== '–'")
    until(page, f"document.querySelector('mark').textContent === '{word}'")


def keep(page: Page, name: str) -> None:
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)
    page.screenshot(path=_IMAGES / f"{name}.png")


def recording(speech: Pipeline, folder: Path) -> Path:
    """Somebody who is none of the built-in voices: one of them, played a little slower."""
    voice = create_voices(Settings(data_dir=folder)).find("bf_emma")
    samples = np.concatenate([chunk.samples for chunk in speech.synthesize(SynthesisRequest(STORY, voice))])
    file = folder / "nora.wav"
    file.write_bytes(encoded(soxr.resample(samples, 22_000, 24_000).astype(np.float32), "wav 44.1 kHz"))
    return file


def main() -> None:
    _IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = Settings(data_dir=folder, cache_dir=folder)
        speech = create_pipeline(settings)
        with (
            serving(create_app(settings, speech)) as served,
            launched(f"{_LOOKUP}{served.rpartition('/')[2]}") as browser,
        ):
            wait_until_ready(served)
            address = "http://localhost:8000"
            with opened(browser, address, **_DESK) as page:
                speak_up_to(page, "platform")
                keep(page, "playground-light")
            with opened(browser, address, color_scheme="dark", **_DESK) as page:
                page.fill("#voice-search", "british")
                page.locator(".voice", has_text="George").locator("label").click()
                page.click("#tab-python")
                speak_up_to(page, "slider")
                keep(page, "playground-dark")
            with opened(browser, address, **_PHONE) as page:
                speak_up_to(page, "platform")
                keep(page, "playground-phone")
            with opened(browser, f"{address}/#clone", **_DESK) as page:
                page.set_input_files("#file", recording(speech, folder))
                until(page, "document.querySelectorAll('#checks li').length > 0")
                page.fill("#clone-name", "Nora")
                page.check("#consent")
                page.click("#make")
                page.locator("#result").wait_for(timeout=120_000)
                keep(page, "playground-cloning")


if __name__ == "__main__":
    main()
