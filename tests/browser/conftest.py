"""The page in a real browser, spoken to by a real server."""

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

# Taps everything that reaches the speakers: `ears.loudest()` is what is heard at the moment, `ears.all` all of it.
_EARS = """
const connect = AudioNode.prototype.connect;
window.ears = { analysers: [], loudest: () => 0 };
AudioNode.prototype.connect = function (target, ...rest) {
  if (target instanceof AudioDestinationNode && this.context instanceof AudioContext) {
    const analyser = this.context.createAnalyser();
    connect.call(this, analyser);
    window.ears.analysers.push(analyser);
    window.ears.loudest = () => Math.max(...window.ears.analysers.slice(-2).map((each) => {
      const samples = new Float32Array(each.fftSize);
      each.getFloatTimeDomainData(samples);
      return samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
    }));
  }
  return connect.call(this, target, ...rest);
};
"""

Serve = Callable[..., AbstractContextManager[str]]
Open = Callable[..., Page]


def until(page: Page, condition: str, seconds: float = 30) -> None:
    """Waits until an expression holds. Playwright's own way runs `eval` in the page, which its policy forbids."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, f"{condition} did not come true within {seconds:g} s"
        page.wait_for_timeout(20)


@pytest.fixture(scope="session")
def recording(wav: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("recording") / "storm.wav"
    file.write_bytes(wav)
    return file


@contextmanager
def launched(*further: str) -> Iterator[Browser]:
    """A browser, if the machine has one, with a microphone that hears beeps unless it is told otherwise."""
    try:
        found = chromium.find()
    except chromium.NoChromium as problem:
        pytest.skip(str(problem))
    expect.set_options(timeout=30_000)  # how long a machine takes is nothing that these tests are about
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found.program,
            env={**chromium.environment(), **found.environment},
            args=["--no-sandbox", "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream", *further],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture
def serve(phonemizer: Phonemizer, tmp_path: Path) -> Serve:
    """A service with the fake engine and the stand-in ear, unless others are given; its address."""

    @contextmanager
    def serve(
        engine: FakeEngine | None = None,
        around: Callable[..., ASGIApp] | None = None,
        ready: bool = True,
        encoder: LoadSpeakerEncoder = load_fake_encoder,
        **settings: Any,
    ) -> Iterator[str]:
        chosen = Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache", **settings)
        app = create_app(chosen, Pipeline(engine or FakeEngine(), phonemizer), encoder=encoder)
        if around:
            app.add_middleware(around)
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
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens the page in a fresh profile; at the end, nothing may have gone wrong in any of them unseen."""
    troubles: list[str] = []

    def noted(message: ConsoleMessage) -> None:
        # The browser itself notes every answer that is an error; those are meant in the tests that cause them.
        if message.type == "error" and not message.text.startswith(("Failed to load resource", "WebSocket connection")):
            troubles.append(message.text)

    with ExitStack() as stack:

        def open_page(address: str, wait: bool = True, **options: Any) -> Page:
            context = browser.new_context(**{"viewport": {"width": 1180, "height": 900}, **options})
            stack.callback(context.close)
            context.set_default_timeout(30_000)
            page = context.new_page()
            page.add_init_script(_EARS)
            page.on("pageerror", lambda error: troubles.append(str(error)))
            page.on("console", noted)
            page.goto(address)
            if wait:
                page.locator(".voice input:checked").wait_for(state="attached")
                until(page, "document.querySelector('#code').textContent !== ''")
            return page

        yield open_page
    assert not troubles


@pytest.fixture
def page(open_page: Open, address: str) -> Page:
    return open_page(address)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Without a browser these tests are skipped, which must not go unnoticed."""
    reasons = {str(report.longrepr[-1]) for report in terminalreporter.stats.get("skipped", ()) if report.longrepr}
    for reason in sorted(each for each in reasons if "Chromium" in each):
        terminalreporter.write_line(reason, yellow=True)
