"""What svc is deployed with is well-formed, and fits the service that it deploys."""

import json
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml  # type: ignore[import-untyped]

from svc import __version__
from svc.settings import Settings

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
COMPOSE = ROOT / "compose.yaml"
UNIT = ROOT / "deploy/svc.service"
WORKFLOW = ROOT / ".github/workflows/gate.yml"
TEMPLATES = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def _succeeds(*command: str | Path, **more: Any) -> str:
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    assert done.returncode == 0, done.stdout
    return str(done.stdout)


def check_against_schema(document: Path, schema: str) -> None:
    """The schemas are those that the package check-jsonschema carries, for checks without a network."""
    text = (files("check_jsonschema.builtin_schemas.vendor") / f"{schema}.json").read_text("utf-8")
    problems = [
        f"{'/'.join(map(str, error.instance_path))}: {error.message}"
        for error in jsonschema_rs.validator_for(json.loads(text)).iter_errors(yaml.safe_load(document.read_text()))
    ]
    assert problems == []


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return parsed


@pytest.fixture(scope="module")
def systemd_analyze() -> str:
    found = shutil.which("systemd-analyze")
    return found or pytest.skip("systemd-analyze is missing: the systemd unit is not checked here")


def test_dockerfile_passes_its_linter() -> None:
    _succeeds(BIN / "hadolint", "Dockerfile")


def test_image_does_not_run_as_root_and_tells_its_health() -> None:
    final = (ROOT / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", final, re.MULTILINE)
    assert re.search(r"^HEALTHCHECK .*\n? +CMD .*/health", final, re.MULTILINE)


def test_image_is_built_from_what_docker_gets_to_see() -> None:
    copied = [
        source
        for line in re.findall(r"^COPY (?!--from)(.*)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
        for source in line.split()[:-1]
    ]
    seen = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert sorted(copied) == sorted(seen)
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_compose_file_fits_its_schema() -> None:
    check_against_schema(COMPOSE, "compose-spec")


@pytest.mark.parametrize("file", [COMPOSE, ROOT / "deploy/monitoring/compose.yaml"])
def test_compose_files_start_no_open_server(file: Path) -> None:
    """A variable that is needed for the key and is not given ends `docker compose`."""
    service = yaml.safe_load(file.read_text())["services"]["svc"]
    keys = [value for name, value in service["environment"].items() if name.startswith("SVC_API_KEY")]
    assert keys
    assert all(re.search(r"\$\{\w+:\?", value) for value in keys)


def test_compose_variables_are_those_of_the_example() -> None:
    asked = set(re.findall(r"\$\{(\w+)", COMPOSE.read_text()))
    given = set(re.findall(r"^(\w+)=$", (ROOT / "deploy/example.env").read_text(), re.MULTILINE))
    assert asked == given


def test_compose_pins_every_image(compose: dict[str, Any]) -> None:
    images = {name: service["image"] for name, service in compose["services"].items()}
    assert images["svc"] == f"svc:{__version__}"
    assert [image for image in images.values() if not re.search(r":\d[\w.-]*$", image)] == []


def test_only_the_proxy_can_be_reached(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    world = {name for name, network in compose["networks"].items() if not network.get("internal")}
    assert [name for name, each in services.items() if world & set(each.get("networks", []))] == ["proxy"]


@pytest.mark.parametrize("file", ["Dockerfile", "compose.yaml", "deploy/svc.service"])
def test_settings_exist(file: str) -> None:
    named = set(re.findall(r"(?<!\{)\bSVC_[A-Z_]+[A-Z](?=[=:])", (ROOT / file).read_text()))
    assert named
    assert named <= {f"SVC_{name.upper()}" for name in Settings.model_fields}


def test_systemd_takes_the_unit(systemd_analyze: str, tmp_path: Path) -> None:
    """With a program that exists here in the place of the installed one."""
    unit = tmp_path / UNIT.name
    unit.write_text(re.sub("^ExecStart=.*$", "ExecStart=/bin/true", UNIT.read_text(), flags=re.MULTILINE))
    assert _succeeds(systemd_analyze, "verify", unit) == ""


def test_systemd_finds_the_unit_safe(systemd_analyze: str) -> None:
    _succeeds(systemd_analyze, "security", "--offline=true", "--threshold=20", UNIT)  # tenths of points: 2.0 of 10


def test_systemd_waits_longer_than_the_service_needs_to_stop() -> None:
    (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(), re.MULTILINE)
    assert int(seconds) > Settings().shutdown_seconds


def test_hooks_are_the_gate() -> None:
    """Each commit runs what `make static` does, each push the whole gate."""
    _succeeds(BIN / "pre-commit", "validate-config", ".pre-commit-config.yaml", env={"HOME": "/nonexistent"})
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"], "hooks come from the environment"
    makefile = (ROOT / "Makefile").read_text()
    gate = []
    for target in ("static", "test"):
        recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
        assert recipe
        gate += [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe[1].splitlines()]
    assert [hook["entry"] for hook in repositories[0]["hooks"]] == gate


def test_workflow_runs_the_make_targets() -> None:
    check_against_schema(WORKFLOW, "github-workflows")
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    assert [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step] == [
        "make check",
        "make test AUDIT=--required",
    ]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_issue_templates_fit_their_schema(template: Path) -> None:
    check_against_schema(template, "github-issue-config" if template.name == "config.yml" else "github-issue-forms")


def test_changelog_knows_this_version() -> None:
    assert f"\n## [{__version__}] - " in (ROOT / "CHANGELOG.md").read_text()
