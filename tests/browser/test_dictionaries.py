"""The view of the dictionaries: they are added, edited, used, downloaded and removed."""

import json
from pathlib import Path

from playwright.sync_api import Page, expect

from svc.dictionaries.lexicon import parse_lexicon
from tests.browser.conftest import OpenPage, wait_until

RULES = (
    "UN = United Nations\ntomato = /təˈmɑːtoʊ/\n\nk8s = Kubernetes (any case) (within words)\nXq={B AH0 N AE1 N AH0}"
)
LEXICON = "<lexicon><lexeme><grapheme>EU</grapheme><alias>European Union</alias></lexeme></lexicon>"


def add(page: Page, name: str, rules: str) -> None:
    page.fill("#dictionary-name", name)
    page.fill("#dictionary-rules", rules)
    page.click("#dictionary-save")
    expect(page.locator("#dictionary-status")).to_have_text(f"{name} is saved.")


def test_the_life_of_a_dictionary(open_page: OpenPage, address: str, tmp_path: Path) -> None:
    page = open_page(address)
    expect(page.locator("#dictionary-card")).to_be_hidden()
    page.get_by_role("link", name="Dictionaries").click()
    expect(page.get_by_role("heading", name="Pronunciation dictionaries")).to_be_visible()
    expect(page.locator("#dictionaries-empty")).to_be_visible()

    page.click("#dictionary-save")
    expect(page.locator("#dictionary-status")).to_have_text("Give the dictionary a name.")
    page.fill("#dictionary-name", "Names")
    page.fill("#dictionary-rules", "UN = United Nations\nUN")
    page.click("#dictionary-save")
    expect(page.locator("#dictionary-status")).to_contain_text("Line 2 is not a rule")
    page.fill("#dictionary-rules", "UN = /☃/")
    page.click("#dictionary-save")
    expect(page.locator("#banner")).to_contain_text("contains no letter of the IPA")
    add(page, "Names", RULES)
    row = page.locator("#dictionaries-list li")
    expect(row).to_contain_text("Names")
    expect(row).to_contain_text("4 rules")

    page.get_by_role("button", name="Edit Names").click()
    expect(page.locator("#dictionary-form-title")).to_have_text("Edit Names")
    shown = RULES.replace("\n\n", "\n").replace("Xq={", "Xq = {")
    expect(page.locator("#dictionary-rules")).to_have_value(shown)
    add(page, "More names", f"{shown}\nEU = European Union")
    expect(row).to_contain_text("5 rules")
    expect(page.locator("#dictionary-form-title")).to_have_text("New dictionary")

    with page.expect_download() as download:
        page.get_by_role("button", name="Download More names").click()
    assert download.value.suggested_filename == "More names.pls"
    rules = parse_lexicon(download.value.path().read_bytes()).rules
    assert [(rule.string, rule.case_sensitive, rule.word_boundaries) for rule in rules] == [
        ("UN", True, True),
        ("tomato", True, True),
        ("k8s", False, False),
        ("Xq", True, True),
        ("EU", True, True),
    ]

    (tmp_path / "unions.pls").write_text(LEXICON)
    page.set_input_files("#dictionary-file", tmp_path / "unions.pls")
    expect(page.locator("#dictionary-status")).to_have_text("unions is added.")
    expect(row).to_have_count(2)

    page.get_by_role("button", name="Remove unions").click()
    page.get_by_role("button", name="Keep it").click()
    page.get_by_role("button", name="Remove unions").click()
    page.get_by_role("button", name="Remove it").click()
    expect(page.locator("#dictionary-status")).to_have_text("unions is removed.")
    expect(row).to_have_count(1)


def test_speaking_with_dictionaries(open_page: OpenPage, address: str) -> None:
    page = open_page(f"{address}/#dictionaries")
    for name in "ABCD":
        add(page, name, "UN = United Nations")
    page.get_by_role("link", name="Speak").click()
    for name in "ABC":
        page.get_by_role("group", name="Pronunciation").get_by_label(name).check()
    expect(page.get_by_label("D", exact=True)).to_be_disabled()
    page.get_by_label("B", exact=True).uncheck()
    expect(page.get_by_label("D", exact=True)).to_be_enabled()
    expect(page.locator("#code")).to_contain_text("pronunciation_dictionary_locators")
    sent: list[str] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(str(frame))))
    page.fill("#text", "The UN.")
    page.click("#say")
    wait_until(page, "document.querySelector('#length').textContent !== '–'")
    assert len(json.loads(sent[0])["pronunciation_dictionary_locators"]) == 2
