"""Looks for known vulnerabilities in everything that the locks pin; part of `make test`.

The advisories come from PyPI through pip-audit. Without a connection nothing can be looked up: that is said loudly, and
is no failure, so that the gate also runs offline. Exceptions are in allowed_advisories.toml.
"""

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LOCKS = ("requirements.lock", "requirements-dev.lock")
ALLOWED = ROOT / "scripts/allowed_advisories.toml"
_SECONDS = 300


def read_allowed(text: str, today: date) -> dict[str, str]:
    """The ids of the advisories that may pass today, with the reasons."""
    entries = tomllib.loads(text).get("advisory", [])
    return {entry["id"]: entry["reason"] for entry in entries if today < entry["until"]}


def find_vulnerabilities(report: Mapping[str, Any], allowed: Mapping[str, str]) -> list[str]:
    """One line for each advisory of pip-audit's report that is not allowed."""
    return [
        f"{package['name']} {package['version']}: {advisory['id']}, "
        f"fixed in {', '.join(advisory['fix_versions']) or 'no release'}"
        for package in report["dependencies"]
        for advisory in package.get("vulns", ())
        if allowed.keys().isdisjoint([advisory["id"], *advisory.get("aliases", ())])
    ]


def find_unknown(report: Mapping[str, Any]) -> list[str]:
    """The packages that the advisory service did not answer for."""
    return [package["name"] for package in report["dependencies"] if "skip_reason" in package]


def run_pip_audit(lock: Path) -> dict[str, Any] | None:
    """Its report; None if it has none, because the service cannot be reached."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner=off"]
    try:
        result = subprocess.run(
            [*command, "--format=json", "-r", str(lock)], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        report: dict[str, Any] = json.loads(result.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        return None
    return report


def main(locks: Iterable[str] = LOCKS) -> int:
    allowed = read_allowed(ALLOWED.read_text(), datetime.now(UTC).date())
    failed = False
    for lock in locks:
        report = run_pip_audit(ROOT / lock)
        if report is None or len(find_unknown(report)) == len(report["dependencies"]):
            print(f"WARNING: {lock} was NOT audited: the advisory service cannot be reached from here.")
            continue
        if unknown := find_unknown(report):
            print(f"WARNING: {lock}: not known to the advisory service: {', '.join(unknown)}")
        vulnerabilities = find_vulnerabilities(report, allowed)
        print(f"{lock}: {len(report['dependencies'])} packages, {len(vulnerabilities)} known vulnerabilities")
        for line in vulnerabilities:
            print(f"  {line}")
        failed = failed or bool(vulnerabilities)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
