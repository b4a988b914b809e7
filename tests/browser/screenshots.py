"""Makes the screenshots in docs/images, with the real engine.

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

from svc.app import create_app
from svc.service import create_pipeline, create_voices
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from tests.audio.recordings import encode_recording
from tests.browser.conftest import launch_browser, wait_until
from tests.clients.conftest import serving, wait_until_ready
from tests.conftest import STORY

_IMAGES = Path(__file__).parents[2] / "docs/images"
_RESOLVER_RULE = "--host-resolver-rules=MAP localhost:8000 "  # so that code samples show the usual address
_DESKTOP: dict[str, Any] = {"viewport": {"width": 1120, "height": 800}}
_PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 800}, "device_scale_factor": 1.5, "has_touch": True}


@contextmanager
def open_page(browser: Browser, address: str, **options: Any) -> Iterator[Page]:
    context = browser.new_context(**options)
    page = context.new_page()
    page.goto(address)
    wait_until(page, "document.querySelector('#code').textContent !== ''")
    yield page
    context.close()


def speak_up_to(page: Page, word: str) -> None:
    """Speaks until that word is highlighted. The first playback only warms the engine up."""
    page.click("#say")
    wait_until(page, "document.querySelector('#length').textContent !== '–'")
    page.click("#say")
    page.click("#say")
    wait_until(page, "document.querySelector('#length').textContent !== '–'")
    wait_until(page, f"document.querySelector('mark').textContent === '{word}'")


def save_screenshot(page: Page, name: str) -> None:
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)
    page.screenshot(path=_IMAGES / f"{name}.png")


def make_recording(pipeline: Pipeline, folder: Path) -> Path:
    """A voice that is not built in: a built-in one, played a little slower."""
    voice = create_voices(Settings(data_dir=folder)).find("bf_emma")
    samples = np.concatenate([chunk.samples for chunk in pipeline.synthesize(SynthesisRequest(STORY, voice))])
    file = folder / "nora.wav"
    file.write_bytes(encode_recording(soxr.resample(samples, 22_000, 24_000).astype(np.float32), "wav 44.1 kHz"))
    return file


def main() -> None:
    _IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = Settings(data_dir=folder, cache_dir=folder)
        pipeline = create_pipeline(settings)
        with (
            serving(create_app(settings, pipeline)) as server_address,
            launch_browser(f"{_RESOLVER_RULE}{server_address.rpartition('/')[2]}") as browser,
        ):
            wait_until_ready(server_address)
            address = "http://localhost:8000"
            with open_page(browser, address, **_DESKTOP) as page:
                speak_up_to(page, "platform")
                save_screenshot(page, "playground-light")
            with open_page(browser, address, color_scheme="dark", **_DESKTOP) as page:
                page.fill("#voice-search", "british")
                page.locator(".voice", has_text="George").locator("label").click()
                page.click("#tab-python")
                speak_up_to(page, "slider")
                save_screenshot(page, "playground-dark")
            with open_page(browser, address, **_PHONE) as page:
                speak_up_to(page, "platform")
                save_screenshot(page, "playground-phone")
            with open_page(browser, f"{address}/#clone", **_DESKTOP) as page:
                page.set_input_files("#file", make_recording(pipeline, folder))
                wait_until(page, "document.querySelectorAll('#checks li').length > 0")
                page.fill("#clone-name", "Nora")
                page.check("#consent")
                page.click("#make")
                page.locator("#result").wait_for(timeout=120_000)
                save_screenshot(page, "playground-cloning")


if __name__ == "__main__":
    main()
