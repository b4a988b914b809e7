"""Two voices are mixed with a slider, heard, and kept as a custom voice."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import AUDIBLE, OpenPage, Serve, wait_until


def set_share(page: Page, share: float) -> None:
    page.evaluate(
        "share => { const slider = document.getElementById('mix-share'); slider.value = share;"
        " slider.dispatchEvent(new Event('input')); }",
        share,
    )


def test_a_mix_is_heard_and_kept(serve: Serve, open_page: OpenPage) -> None:
    with serve() as address:
        page = open_page(address)
        spoken: list[str] = []

        page.on("websocket", lambda socket: spoken.append(socket.url))
        page.click("#mix-summary")
        page.select_option("#mix-voice", label="George")
        set_share(page, 0.25)
        expect(page.locator("#selected-voice")).to_have_text("Heart 75 % + George 25 %")
        expect(page.locator("#code")).to_contain_text("svcAfHeart0000000000(75)%2BsvcBmGeorge000000000(25)")
        page.click("#say")
        wait_until(page, AUDIBLE)
        page.keyboard.press("Escape")
        assert any("svcAfHeart0000000000(75)%2BsvcBmGeorge000000000(25)" in url for url in spoken)

        page.click("#mix-keep")
        expect(page.locator("#mix-status")).to_have_text("Give the voice a name.")
        page.fill("#mix-name", "Half and half")
        page.click("#mix-keep")
        expect(page.locator("#selected-voice")).to_have_text("Half and half · Mixed · English")
        page.goto(f"{address}/#clone")
        expect(page.locator("#cloned-voices")).to_contain_text("Half and half")
        page.get_by_role("button", name="Remove Half and half").click()
        page.get_by_role("button", name="Remove it").click()
        expect(page.locator("#cloned-voices-empty")).to_be_visible()


def test_at_the_ends_of_the_slider_one_voice_speaks(page: Page) -> None:
    page.click("#mix-summary")
    page.select_option("#mix-voice", label="George")
    set_share(page, 1)
    expect(page.locator("#selected-voice")).to_have_text("George · British · male")
    set_share(page, 0)
    expect(page.locator("#selected-voice")).to_have_text("Heart · American · female")
    page.fill("#mix-name", "Nobody")
    page.click("#mix-keep")
    expect(page.locator("#mix-status")).to_have_text("Choose two voices, and some of each.")
