"""Accessibility: axe in each state, in light and dark mode, on desktop and phone; keyboard, focus and motion."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import AUDIBLE, OpenPage, Serve, wait_until

_AXE = Path(sys.prefix) / "clients/js/node_modules/axe-core/axe.min.js"
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

Check = Callable[[Page], None]

DEVICES: dict[str, dict[str, Any]] = {
    "desktop, light": {"color_scheme": "light"},
    "desktop, dark": {"color_scheme": "dark"},
    "phone, light": {"color_scheme": "light", "viewport": {"width": 360, "height": 740}},
    "phone, dark": {"color_scheme": "dark", "viewport": {"width": 360, "height": 740}},
}


@pytest.fixture(scope="session")
def check() -> Check:
    """Runs axe; fails with the rule and the element of each violation."""
    assert _AXE.is_file(), f"{_AXE} is missing; `make test` puts it there"
    source = _AXE.read_text("utf-8")

    def check(page: Page) -> None:
        page.evaluate(f"() => {{ {source} }}")
        found = page.evaluate("rules => axe.run({ runOnly: rules }).then(({ violations }) => violations)", _RULES)
        assert [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in found] == []

    return check


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> dict[str, Any]:
    return DEVICES[request.param]


def test_speak_view(open_page: OpenPage, address: str, device: dict[str, Any], check: Check) -> None:
    page = open_page(address, **device)
    check(page)
    page.click("#say")
    expect(page.locator("mark")).not_to_have_text("")
    check(page)


def test_dictionaries_view(open_page: OpenPage, address: str, device: dict[str, Any], check: Check) -> None:
    page = open_page(f"{address}/#dictionaries", **device)
    check(page)
    page.fill("#dictionary-name", "Names")
    page.fill("#dictionary-rules", "UN = United Nations")
    page.click("#dictionary-save")
    page.get_by_role("button", name="Edit Names").click()
    expect(page.locator("#dictionary-cancel")).to_be_visible()
    check(page)
    page.get_by_role("button", name="Remove Names").click()
    check(page)
    page.get_by_role("button", name="Keep it").click()
    page.get_by_role("link", name="Speak").click()
    expect(page.locator("#dictionary-card")).to_be_visible()
    check(page)


def test_cloning_view(open_page: OpenPage, address: str, device: dict[str, Any], check: Check, recording: Path) -> None:
    page = open_page(f"{address}/#clone", **device)
    page.set_input_files("#file", recording)
    page.fill("#clone-name", "Anna")
    page.check("#consent")
    page.check("#refine")
    page.click("#make")
    expect(page.locator("#result")).to_be_visible()
    check(page)
    page.locator("#cloned-voices").get_by_role("button", name="Remove Anna").click()
    check(page)


def test_key_dialog_and_banner(serve: Serve, open_page: OpenPage, device: dict[str, Any], check: Check) -> None:
    with serve(api_key="key", max_characters=10) as address:
        page = open_page(address, wait=False, **device)
        page.fill("#key", "wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#key-error")).not_to_have_text("")
        check(page)
        page.fill("#key", "key")
        page.keyboard.press("Enter")
        expect(page.locator("#key-dialog")).not_to_be_visible()
        page.click("#say")
        expect(page.locator("#banner")).to_be_visible()
        check(page)


@pytest.mark.parametrize("width", [320, 360, 412, 768, 1024, 1600])
def test_no_horizontal_scrolling(open_page: OpenPage, address: str, width: int) -> None:
    page = open_page(address, viewport={"width": width, "height": 740})
    for view in ("speak", "clone"):
        page.goto(f"{address}/#{view}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view


def test_keyboard_reaches_every_control(page: Page) -> None:
    """From the skip link to playback, and on to the voices and the sliders."""
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#say")).to_be_focused()
    page.keyboard.press("Enter")
    wait_until(page, AUDIBLE)
    page.keyboard.press("Escape")
    expect(page.locator("#say")).to_have_text("Speak")
    stops = []
    for _ in range(15):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("(({ id, ariaLabel, name }) => id || ariaLabel || name)(document.activeElement)"))
    assert stops == [
        *("seek", "replay", "download"),
        *("voice-search", "voice-language", "voice-gender", "voice-accent", "voice", "Hear Heart", "mix-summary"),
        *("sliders-reset", "speed", "stability", "similarity_boost", "style"),
    ]
    page.keyboard.press("End")
    expect(page.locator("#style")).to_have_value("1")


def test_focus_is_visible(page: Page) -> None:
    """Every element that Tab reaches has an outline, or an ancestor has."""
    unmarked = []
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement !== document.body"):
        outlined = page.evaluate(
            """() => {
              for (let each = document.activeElement; each && each !== document.body; each = each.parentElement)
                if (getComputedStyle(each).outlineStyle !== 'none') return true;
              return false;
            }"""
        )
        if not outlined:
            unmarked.append(page.evaluate("document.activeElement.outerHTML.slice(0, 80)"))
        page.keyboard.press("Tab")
    assert unmarked == []


def test_no_animation_with_reduced_motion(open_page: OpenPage, address: str) -> None:
    page = open_page(address, reduced_motion="reduce")
    moving = page.evaluate(
        """[...document.querySelectorAll('*')].filter((each) => {
          const { animationName, transitionDuration } = getComputedStyle(each);
          return animationName !== 'none' || parseFloat(transitionDuration) > 0;
        }).length"""
    )
    assert moving == 0
