"""The voice picker: search, filters, keyboard and previews."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, Serve


def list_shown(page: Page) -> list[str]:
    names: list[str] = page.eval_on_selector_all(
        ".voice:not([hidden]) .voice-name", "found => found.map(({ textContent }) => textContent)"
    )
    return names


def test_shows_every_voice_and_selects_the_default(page: Page) -> None:
    assert len(list_shown(page)) == 54
    expect(page.locator("#voice-count")).to_have_text("54 voices")
    expect(page.locator("#selected-voice")).to_have_text("Heart · American · female")


def test_selects_the_default_voice_of_the_server(serve: Serve, open_page: OpenPage) -> None:
    with serve(default_voice="bm_george") as address:
        expect(open_page(address).locator("#selected-voice")).to_have_text("George · British · male")


def test_selects_the_first_voice_of_a_strict_server(serve: Serve, open_page: OpenPage) -> None:
    with serve(strict_voices=True) as address:
        expect(open_page(address).locator("#selected-voice")).to_have_text("Alloy · American · female")


def test_search(page: Page) -> None:
    page.fill("#voice-search", "brit geo")
    assert list_shown(page) == ["George"]
    expect(page.locator("#voice-count")).to_have_text("1 voice")
    page.fill("#voice-search", "nobody of that name")
    expect(page.locator("#voice-count")).to_have_text("No voice matches.")
    page.fill("#voice-search", "")
    assert len(list_shown(page)) == 54


def test_filters(page: Page) -> None:
    page.select_option("#voice-language", label="French")
    assert list_shown(page) == ["Siwis"]
    page.select_option("#voice-language", label="English")
    page.select_option("#voice-gender", label="Male")
    page.select_option("#voice-accent", label="British")
    assert list_shown(page) == ["Daniel", "Fable", "George", "Lewis"]
    page.fill("#voice-search", "l")
    assert list_shown(page) == ["Lewis"]


def test_arrow_keys_select(page: Page) -> None:
    page.locator(".voice input:checked").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#selected-voice")).to_contain_text("Jessica")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Hear Jessica")).to_be_focused()


def test_previews(page: Page) -> None:
    page.locator(".voice", has_text="George").locator("label").click()
    button = page.get_by_role("button", name="Hear George")
    button.click()
    expect(button).to_have_attribute("data-state", "playing")
    other = page.get_by_role("button", name="Hear Heart")
    other.click()
    expect(other).to_have_attribute("data-state", "playing")
    expect(button).to_have_attribute("data-state", "idle")
    other.click()
    expect(other).to_have_attribute("data-state", "idle")


def test_speaking_and_previews_stop_each_other(page: Page) -> None:
    button = page.get_by_role("button", name="Hear Heart")
    button.click()
    expect(button).to_have_attribute("data-state", "playing")
    page.click("#say")
    expect(button).to_have_attribute("data-state", "idle")
    expect(page.locator("#say")).to_have_text("Stop")
    button.click()
    expect(page.locator("#say")).to_have_text("Speak")
