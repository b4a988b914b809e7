"""The docs say what is true: every setting, every format, every error, every link."""

import re
import sys
from pathlib import Path

import pytest

from svc import errors
from svc.api.speech.openai_schemas import FORMATS
from svc.audio.formats import ENDINGS, OUTPUT_FORMATS, Codec
from svc.settings import Settings

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "bench").rglob("README.md"))]
NOTES = sorted((ROOT / "training").glob("*.md")) + sorted((ROOT / "training").glob("*/*.md"))
RESULTS = ROOT / "docs/benchmarks"


def test_configuration_page_is_made_from_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from make_configuration import page  # type: ignore[import-not-found]

    assert (ROOT / "docs/configuration.md").read_text() == page(), "run: python scripts/make_configuration.py"
    del sys.modules["make_configuration"]


def test_the_languages_page_has_every_grade(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from make_languages import page  # type: ignore[import-not-found]

    assert (ROOT / "docs/languages.md").read_text() == page(), "run: python scripts/make_languages.py"
    del sys.modules["make_languages"]


def test_every_setting_has_a_description() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_the_docs_have_the_table_of_formats() -> None:
    families: dict[str, list[str]] = {}
    for each in OUTPUT_FORMATS.values():
        families.setdefault(each.codec.family, []).append(f"`{each.name}`")
    rows = "\n".join(f"| {family} | {' '.join(names)} |" for family, names in families.items())
    assert f"|---|---|\n{rows}\n\n" in (ROOT / "docs/api.md").read_text(), rows
    *labels, last = (codec.label for codec in Codec)
    readme = (ROOT / "README.md").read_text()
    assert f"- **{len(OUTPUT_FORMATS)} output formats**: {', '.join(labels)} and {last}.\n" in readme
    assert f"# {' '.join(ENDINGS)}\n" in readme
    openai = (ROOT / "docs/openai.md").read_text()
    for name, output_format in FORMATS.items():
        content_type = re.escape(OUTPUT_FORMATS[output_format].content_type)
        assert re.search(rf"\n\| `{name}` \| `{output_format}`[^|]*\| `{content_type}` \|\n", openai), name


def test_every_error_is_in_the_reference() -> None:
    reference = (ROOT / "docs/api.md").read_text()
    named = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.SvcError)]
    assert [error.status for error in named if f"`{error.status}`" not in reference] == []


def test_every_error_is_in_the_tree_of_its_module() -> None:
    for error in vars(errors).values():
        if isinstance(error, type) and issubclass(error, errors.SvcError) and error is not errors.SvcError:
            assert re.search(rf"{error.__name__} +{error.http_status}  {error.status}\n", errors.__doc__ or ""), error


def test_every_setting_that_is_mentioned_exists() -> None:
    known = {f"SVC_{name.upper()}" for name in Settings.model_fields}
    for page in PAGES:
        assert set(re.findall(r"\bSVC_[A-Z_]+[A-Z]\b", page.read_text())) <= known, page


@pytest.mark.parametrize("page", [*PAGES, *NOTES], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", page.read_text())  # an example in code is no link
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", text):
        assert (page.parent / target).exists(), target


def test_every_benchmark_page_is_in_the_list_and_says_when_and_of_what() -> None:
    pages = {path.name for path in RESULTS.iterdir()} - {"README.md"}
    assert set(re.findall(r"\]\(([^)]+)\)", (RESULTS / "README.md").read_text())) - {"../../bench/README.md"} == pages
    for page in pages:
        assert re.search(
            r"^\d{4}-\d\d-\d\d[^|]*commit [0-9a-f]{7,}\+?[^|]*cores", (RESULTS / page).read_text(), re.M
        ), page


@pytest.mark.parametrize(
    "page", [*PAGES, *NOTES, *ROOT.glob("training/*/recipe.sh")], ids=lambda page: str(page.relative_to(ROOT))
)
def test_every_program_of_ours_that_is_named_exists(page: Path) -> None:
    ours = "|".join(["bench", *(path.parent.name for path in ROOT.glob("training/*/__init__.py"))])
    for program in re.findall(rf"(?:-m |`(?=bench))((?:{ours})(?:\.\w+)+)(?!/)", page.read_text()):
        path = program.replace(".", "/")
        places = [base / end for base in (ROOT, ROOT / "training") for end in (f"{path}.py", f"{path}/__main__.py")]
        assert any(place.exists() for place in places), program


def _numbers(source: Path | str) -> list[str]:
    text = source.read_text() if isinstance(source, Path) else source
    return re.findall(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tables_that_quote_a_benchmark_have_its_figures(page: Path) -> None:
    """Where the lines before a table, its head or a row link to benchmarks, the figures are theirs, rounded.

    A row's first cell is its name.
    """
    tables = r"((?:^[^|\n]+\n)*)\n?(^\|[^\n]*\n)\|[-| ]+\|\n((?:^\|[^\n]*\n)+)"
    for before, head, rows in re.findall(tables, page.read_text(), re.M):
        for row in rows.splitlines():
            linked = re.findall(r"\]\((benchmarks/[a-z-]+\.md)", before + head + row)
            known = [float(each.replace(",", "")) for name in linked for each in _numbers(page.parent / name)]
            for quoted in _numbers(row.split("|", 2)[2]) if linked else ():
                value, half = float(quoted.replace(",", "")), 0.5 * 10.0 ** -len(quoted.partition(".")[2])
                assert any(abs(each - value) <= half + 1e-9 for each in known), (quoted, row)
