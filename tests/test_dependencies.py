"""What README and NOTICE say of the packages that svc installs."""

import hashlib
import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

from svc.text.g2p.phonemizer import _ESPEAK_VOICES, _FOREIGN_VOICES
from svc.text.language.languages import Language, Script
from svc.text.language.table import load_table

ROOT = Path(__file__).parent.parent
NOTICE = (ROOT / "NOTICE").read_text(encoding="utf-8")
# Those of one author, and the digest of the files that svc uses. A new version is compared with what NOTICE names, and
# then its digest is written here.
ONE_AUTHOR = {
    "fastapi-swagger": (
        "fastapi_swagger/resources/*.[cjp]*",
        "9d5dc8c5fa99614c6ef920dea75b26d7b0865479a6a7996e27df398722283ae9",
    ),
    "haqumei": ("", ""),
    "hibari-tts": ("hibari/assets/*", "fc86c27a2719f56a9efca1a58f081ffb02cc73cd2a91ae99df1fd2ca452d5be0"),
    "espeakng-loader": ("espeakng_loader/*.py", "e2c38aa0f7fe27f068cb5285f24372d96f84eb863563c0d835edc4f4f9aa9930"),
}


def name_language(language: Language) -> str:
    return language.base.name.partition("_")[0].capitalize()


@pytest.mark.parametrize("file", ["README.md", "NOTICE"])
def test_the_languages_of_espeak_are_named(file: str) -> None:
    text = " ".join((ROOT / file).read_text(encoding="utf-8").split())
    found = re.search(
        r"It is used for ([\w, ]+?), and for words in the scripts ([\w, ]+)\. ([\w, ]+) do not use it", text
    )
    assert found
    languages, scripts, others = (set(re.split(", | and ", part)) for part in found.groups())
    users = {Language(code) for code in _ESPEAK_VOICES} | {
        Language(code) for code, row in load_table().items() if row.espeak
    }
    assert languages == {name_language(each) for each in users}
    assert others == {name_language(each) for each in Language} - languages
    own = {each.script for each in Language} | {Script.LATIN}
    assert scripts == {each.name.capitalize() for each in _FOREIGN_VOICES if each not in own}


@pytest.mark.parametrize("name", ONE_AUTHOR)
def test_packages_of_one_author_are_what_was_compared(name: str) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    [version] = [each.removeprefix(f"{name}==") for each in declared if each.startswith(name)]
    assert re.fullmatch(r"[\d.]+", version)
    assert f"- {name} {version}" in NOTICE
    assert f"\n{name}=={version} \\\n    --hash=sha256:" in (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pattern, expected = ONE_AUTHOR[name]
    if pattern:
        folder = Path(str(distribution(name).locate_file("")))
        assert digest(folder, pattern) == expected


def digest(folder: Path, pattern: str) -> str:
    files = sorted(folder.glob(pattern))
    assert files
    found = hashlib.sha256()
    for file in files:
        found.update(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()
