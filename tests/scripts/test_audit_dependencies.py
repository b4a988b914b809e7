"""The dependency audit: what fails the gate, what passes, and what is only said."""

import sys
from datetime import date
from typing import Any

import pytest

from scripts import audit_dependencies
from scripts.audit_dependencies import (
    ALLOWED,
    ROOT,
    audit,
    find_locks,
    find_unknown,
    find_vulnerabilities,
    main,
    read_allowed,
    translate_npm_report,
)

ADVISORY = {"id": "PYSEC-2026-1", "aliases": ["CVE-2026-5"], "fix_versions": ["2.0"], "description": "…"}
SAFE = {"name": "safe", "version": "1.0", "vulns": []}
VULNERABLE = {"name": "leaky", "version": "1.0", "vulns": [ADVISORY]}
UNKNOWN = {"name": "private", "skip_reason": "Dependency not found on PyPI"}


def test_a_vulnerability_names_the_release_that_mends_it() -> None:
    (line,) = find_vulnerabilities({"dependencies": [SAFE, VULNERABLE]}, {})
    assert line == "leaky 1.0: PYSEC-2026-1, fixed in 2.0"


@pytest.mark.parametrize("name", ["PYSEC-2026-1", "CVE-2026-5"])
def test_an_allowed_advisory_passes_until_its_day(name: str) -> None:
    text = f'[[advisory]]\nid = "{name}"\nreason = "not used"\nuntil = 2027-01-31\n'
    report = {"dependencies": [VULNERABLE]}
    assert find_vulnerabilities(report, read_allowed(text, date(2027, 1, 30))) == []
    assert find_vulnerabilities(report, read_allowed(text, date(2027, 1, 31))) != []


def test_the_list_can_be_read_and_gives_reasons() -> None:
    assert all(read_allowed(ALLOWED.read_text(), date(2026, 1, 1)).values())


@pytest.mark.parametrize(
    ("report", "codes", "said"),
    [
        ({"dependencies": [SAFE]}, (0, 0), "1 packages, 0 known"),
        ({"dependencies": [SAFE, VULNERABLE]}, (1, 1), "leaky 1.0"),
        ({"dependencies": [SAFE, UNKNOWN]}, (0, 1), "NOT AUDITED: private of requirements.lock"),
        ({"dependencies": [UNKNOWN]}, (0, 1), "NOT AUDITED: requirements.lock"),
        (None, (0, 1), "NOT AUDITED: requirements.lock"),
    ],
)
def test_what_the_gate_does(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    report: dict[str, Any] | None,
    codes: tuple[int, int],
    said: str,
) -> None:
    """Without a connection the gate goes on, and a release does not."""
    monkeypatch.setattr(audit_dependencies, "audit", lambda lock: report)
    for arguments, code in zip(([], ["--required"]), codes, strict=True):
        assert main(arguments, [ROOT / "requirements.lock"]) == code
        assert said in capsys.readouterr().out


def test_every_lock_is_audited() -> None:
    written = {*ROOT.glob("*.lock"), *(ROOT / "tests").rglob("*.lock")}
    assert set(find_locks()) == written | {ROOT / "tests/clients/packages/package-lock.json"}
    assert ROOT / "requirements-cluster.lock" in written


def test_what_no_service_answers_is_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_dependencies, "_NPM", (sys.executable, "-c", "print('no network')"))
    assert audit(ROOT / "tests/clients/packages/package-lock.json") is None
    monkeypatch.setattr(audit_dependencies, "_NPM", (sys.executable, "-c", 'print(\'{"message": "no network"}\')'))
    assert audit(ROOT / "tests/clients/packages/package-lock.json") is None


def test_a_report_of_npm_reads_like_one_of_pip_audit() -> None:
    advisory = {"title": "Bad", "url": "https://github.com/advisories/GHSA-aaaa-bbbb-cccc", "range": "<2"}
    report = translate_npm_report(
        {
            "vulnerabilities": {
                "leaky": {"via": [advisory], "range": "<2"},
                "above": {"via": ["leaky"], "range": "*"},
            },
            "metadata": {"dependencies": {"total": 12}},
        }
    )
    assert report is not None
    assert len(report["dependencies"]) == 12
    assert find_unknown(report) == []
    assert find_vulnerabilities(report, {}) == ["leaky <2: GHSA-aaaa-bbbb-cccc, fixed in no release"]
    assert find_vulnerabilities(report, {"GHSA-aaaa-bbbb-cccc": "unused"}) == []


def test_unknown_packages_are_those_without_an_answer() -> None:
    assert find_unknown({"dependencies": [SAFE, VULNERABLE, UNKNOWN]}) == ["private"]
