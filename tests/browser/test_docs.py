"""The guides and the interactive API page in the browser."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage, wait_until
from tests.browser.test_accessibility import Check, check, device

__all__ = ["check", "device"]


def test_guides_are_linked(open_page: OpenPage, address: str) -> None:
    page = open_page(f"{address}/docs", wait=False)
    page.get_by_role("navigation").get_by_role("link", name="Migrating").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Migrating")
    expect(page.locator("nav a[aria-current=page]")).to_have_text("Migrating")


@pytest.mark.parametrize("name", ["", "/api", "/migrating"])
def test_guides_are_accessible_and_fit_the_screen(
    open_page: OpenPage, address: str, device: dict[str, Any], check: Check, name: str
) -> None:
    page = open_page(f"{address}/docs{name}", wait=False, **device)
    check(page)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_the_interactive_page_plays_speech(open_page: OpenPage, address: str) -> None:
    page = open_page(f"{address}/docs/interactive", wait=False)
    speech = page.locator("#operations-speech-create_speech_v1_text_to_speech__voice_id__post")
    speech.locator(".opblock-summary").click()
    speech.get_by_role("button", name="Try it out").click()
    speech.get_by_placeholder("voice_id").fill("af_heart")
    expect(speech.locator("textarea")).to_contain_text("Hello from your own machine.")
    speech.get_by_role("button", name="Execute").click()
    speech.locator("audio").wait_for(state="attached")
    wait_until(page, "document.querySelector('audio').duration > 0.3")
