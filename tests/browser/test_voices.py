"""Finding a voice and hearing it introduce itself."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Serve


def shown(page: Page) -> list[str]:
    names: list[str] = page.eval_on_selector_all(
        ".voice:not([hidden]) .voice-name", "found => found.map(({ textContent }) => textContent)"
    )
    return names


def test_every_voice_is_there_and_the_default_one_is_chosen(page: Page) -> None:
    assert len(shown(page)) == 54
    expect(page.locator("#voice-count")).to_have_text("54 voices")
    expect(page.locator("#chosen")).to_have_text("Heart · American · female")


def test_the_default_voice_of_the_server_is_chosen(serve: Serve, open_page: Open) -> None:
    with serve(default_voice="bm_george") as address:
        expect(open_page(address).locator("#chosen")).to_have_text("George · British · male")


def test_a_strict_server_has_a_voice_chosen_too(serve: Serve, open_page: Open) -> None:
    with serve(strict_voices=True) as address:
        expect(open_page(address).locator("#chosen")).to_have_text("Alloy · American · female")


def test_search(page: Page) -> None:
    page.fill("#voice-search", "brit geo")
    assert shown(page) == ["George"]
    expect(page.locator("#voice-count")).to_have_text("1 voice")
    page.fill("#voice-search", "nobody of that name")
    expect(page.locator("#voice-count")).to_have_text("No voice fits.")
    page.fill("#voice-search", "")
    assert len(shown(page)) == 54


def test_filters(page: Page) -> None:
    page.select_option("#voice-language", label="French")
    assert shown(page) == ["Siwis"]
    page.select_option("#voice-language", label="English")
    page.select_option("#voice-gender", label="Male")
    page.select_option("#voice-accent", label="British")
    assert shown(page) == ["Daniel", "Fable", "George", "Lewis"]
    page.fill("#voice-search", "l")
    assert shown(page) == ["Lewis"]


def test_arrows_choose(page: Page) -> None:
    page.locator(".voice input:checked").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#chosen")).to_contain_text("Jessica")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Hear Jessica")).to_be_focused()


def test_introductions(page: Page) -> None:
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


def test_speaking_silences_an_introduction(page: Page) -> None:
    button = page.get_by_role("button", name="Hear Heart")
    button.click()
    expect(button).to_have_attribute("data-state", "playing")
    page.click("#say")
    expect(button).to_have_attribute("data-state", "idle")
    expect(page.locator("#say")).to_have_text("Stop")
    button.click()
    expect(page.locator("#say")).to_have_text("Speak")
