"""The page in a real browser, served by a real server."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from starlette.types import ASGIApp

from svc.app import create_app
from svc.cloning.trial import LoadSpeakerEncoder
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.browser import chromium
from tests.clients.conftest import serving, wait_until_ready
from tests.cloning.fakes import load_fake_encoder

TIMEOUT = 120.0
"""Seconds that anything may take: generous, because these tests are not about the speed of the machine."""

# Measures what reaches the speakers: `audioOutput.peak()` is the highest sample of the last third of a second.
_MEASURE_OUTPUT = """
const connect = AudioNode.prototype.connect;
window.audioOutput = { peak: () => 0 };
AudioNode.prototype.connect = function (target, ...rest) {
  if (target instanceof AudioDestinationNode && this.context instanceof AudioContext) {
    const analyser = (this.context.analyser ??= this.context.createAnalyser());  // one for all that is heard
    analyser.fftSize = 8192;
    connect.call(this, analyser);
    window.audioOutput.peak = () => {
      const samples = new Float32Array(analyser.fftSize);
      analyser.getFloatTimeDomainData(samples);
      return samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
    };
  }
  return connect.call(this, target, ...rest);
};
"""
AUDIBLE = "window.audioOutput.peak() > 0.05"

Serve = Callable[..., AbstractContextManager[str]]
OpenPage = Callable[..., Page]


def wait_until(page: Page, condition: str) -> None:
    """Waits until an expression is true. Playwright's own way uses `eval`, which the page's policy forbids."""
    deadline = time.monotonic() + TIMEOUT
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, f"{condition} did not become true within {TIMEOUT:g} s"
        page.wait_for_timeout(20)


@pytest.fixture(scope="session")
def recording(wav: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("recording") / "storm.wav"
    file.write_bytes(wav)
    return file


@contextmanager
def launch_browser(*arguments: str) -> Iterator[Browser]:
    """Chromium with a fake microphone, which beeps unless an argument says otherwise; skips the test without one."""
    try:
        found = chromium.find()
    except chromium.NoChromium as error:
        pytest.skip(str(error))
    expect.set_options(timeout=1000 * TIMEOUT)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found.program,
            env={**chromium.environment(), **found.environment},
            args=["--no-sandbox", "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream", *arguments],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launch_browser() as browser:
        yield browser


@pytest.fixture
def serve(phonemizer: Phonemizer, tmp_path: Path) -> Serve:
    """Serves an app, by default with the fake engine and the stand-in speaker encoder; gives its address."""

    @contextmanager
    def serve(
        engine: FakeEngine | None = None,
        middleware: Callable[..., ASGIApp] | None = None,
        ready: bool = True,
        encoder: LoadSpeakerEncoder = load_fake_encoder,
        **settings: Any,
    ) -> Iterator[str]:
        chosen = Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache", **settings)
        app = create_app(chosen, Pipeline(engine or FakeEngine(), phonemizer), encoder=encoder)
        if middleware:
            app.add_middleware(middleware)
        with serving(app) as address:
            if ready:
                wait_until_ready(address)
            yield address

    return serve


@pytest.fixture
def address(serve: Serve) -> Iterator[str]:
    with serve() as address:
        yield address


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens a page in a fresh profile; fails at the end if any of them reported an unexpected error."""
    errors: list[str] = []

    def collect(message: ConsoleMessage) -> None:
        # The browser logs every HTTP error; the tests that cause one check how the page shows it.
        if message.type == "error" and not message.text.startswith(("Failed to load resource", "WebSocket connection")):
            errors.append(message.text)

    with ExitStack() as stack:

        def open_page(address: str, wait: bool = True, **options: Any) -> Page:
            context = browser.new_context(**{"viewport": {"width": 1180, "height": 900}, **options})
            stack.callback(context.close)
            context.set_default_timeout(1000 * TIMEOUT)
            page = context.new_page()
            page.add_init_script(_MEASURE_OUTPUT)
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("console", collect)
            page.goto(address)
            if wait:
                page.locator(".voice input:checked").wait_for(state="attached")
                wait_until(page, "document.querySelector('#code').textContent !== ''")
            return page

        yield open_page
    assert not errors


@pytest.fixture
def page(open_page: OpenPage, address: str) -> Page:
    return open_page(address)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says at the end of the run if these tests were skipped for want of a browser."""
    reasons = {str(report.longrepr[-1]) for report in terminalreporter.stats.get("skipped", ()) if report.longrepr}
    for reason in sorted(each for each in reasons if "Chromium" in each):
        terminalreporter.write_line(reason, yellow=True)
