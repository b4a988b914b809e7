"""The dependency audit: what fails the gate, what passes, and what is only said."""

from datetime import date
from typing import Any

import pytest

from scripts import audit_dependencies
from scripts.audit_dependencies import ALLOWED, find_unknown, find_vulnerabilities, main, read_allowed

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
    ("report", "code", "said"),
    [
        ({"dependencies": [SAFE]}, 0, "1 packages, 0 known"),
        ({"dependencies": [SAFE, VULNERABLE]}, 1, "leaky 1.0"),
        ({"dependencies": [SAFE, UNKNOWN]}, 0, "not known to the advisory service: private"),
        ({"dependencies": [UNKNOWN]}, 0, "NOT audited"),
        (None, 0, "NOT audited"),
    ],
)
def test_what_the_gate_does(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    report: dict[str, Any] | None,
    code: int,
    said: str,
) -> None:
    monkeypatch.setattr(audit_dependencies, "run_pip_audit", lambda lock: report)
    assert main(["requirements.lock"]) == code
    assert said in capsys.readouterr().out


def test_unknown_packages_are_those_without_an_answer() -> None:
    assert find_unknown({"dependencies": [SAFE, VULNERABLE, UNKNOWN]}) == ["private"]
