"""The dashboard, the alerts and their compose file are well-formed, and ask for figures that there are."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from fastapi.testclient import TestClient

from svc import __version__
from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.deploy import prometheus
from tests.deploy.test_files import check_against_schema

FOLDER = Path(__file__).parents[2] / "deploy/monitoring"
DASHBOARD = json.loads((FOLDER / "svc.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]
ALERTS = [rule for group in yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"] for rule in group["rules"]]


@pytest.fixture(scope="module")
def promtool() -> Path:
    return prometheus.find("promtool") or pytest.skip(
        "promtool is missing: the alerts are not checked here. Run: python -m tests.deploy.prometheus"
    )


def _succeeds(*command: str | Path) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def series(phonemizer: Phonemizer, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The name of every series of a service with all of its parts."""
    folder = tmp_path_factory.mktemp("data")
    settings = Settings(data_dir=folder, voice_mirror=f"file://{folder}/mirror")
    with TestClient(create_app(settings, Pipeline(FakeEngine(), phonemizer))) as client:
        client.get("/health")
        mirrors = {"svc_voice_mirror_fetched_seconds_ago", "svc_dictionary_mirror_fetched_seconds_ago"}
        while not all(name in (text := client.get("/metrics").text) for name in mirrors):
            pass
    return set(re.findall(r"^(\w+)[{ ]", text, re.MULTILINE))


@pytest.mark.parametrize("queries", [QUERIES, [rule["expr"] for rule in ALERTS]], ids=["dashboard", "alerts"])
def test_every_figure_that_is_asked_for_exists(series: set[str], queries: list[str]) -> None:
    asked = {name for query in queries for name in re.findall(r"\b(?:svc|process|python)_\w+", query)}
    assert asked
    assert asked - series == set()


def test_every_figure_of_the_service_is_on_the_dashboard(series: set[str]) -> None:
    shown = set(re.findall(r"\bsvc_\w+", " ".join(QUERIES)))
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in series if name.startswith("svc_")}
    assert families - {re.sub(r"_bucket$", "", name) for name in shown} == {"svc_engine_info"}


def test_panels_have_units_descriptions_and_places_of_their_own() -> None:
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    cells: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        covered = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert place["x"] + place["w"] <= 24
        assert not covered & cells, panel["title"]
        cells |= covered
    for panel in PANELS:
        assert panel["description"], panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert all("instance=~" in target["expr"] for target in panel["targets"]), panel["title"]


def test_prometheus_takes_the_queries_of_the_dashboard(promtool: Path, tmp_path: Path) -> None:
    """As rules, which promtool can parse without a server."""
    rules = [
        {"record": f"panel:{number}", "expr": query.replace("$__rate_interval", "1m").replace("$instance", ".*")}
        for number, query in enumerate(QUERIES)
    ]
    file = tmp_path / "panels.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    _succeeds(promtool, "check", "rules", file)


def test_prometheus_takes_its_configuration(promtool: Path) -> None:
    _succeeds(promtool, "check", "config", "--syntax-only", FOLDER / "prometheus.yml")


def test_alerts_come_when_they_should(promtool: Path, tmp_path: Path) -> None:
    for file in (FOLDER / "alerts.yml", Path(__file__).parent / "alerts.test.yml"):
        shutil.copy(file, tmp_path)
    _succeeds(promtool, "test", "rules", tmp_path / "alerts.test.yml")


def test_every_alert_is_tried_and_explained() -> None:
    tried = (Path(__file__).parent / "alerts.test.yml").read_text()
    guide = (FOLDER.parents[1] / "docs/operations.md").read_text()
    for rule in ALERTS:
        assert rule["alert"] in tried
        assert f"`{rule['alert']}`" in guide
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert rule["annotations"]["summary"].endswith(".")


def test_every_figure_is_in_the_guide(series: set[str]) -> None:
    guide = (FOLDER.parents[1] / "docs/operations.md").read_text()
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in series if name.startswith("svc_")}
    assert [name for name in sorted(families) if f"`{name}`" not in guide] == []


def test_compose_file_is_for_this_machine_only() -> None:
    file = FOLDER / "compose.yaml"
    check_against_schema(file, "compose-spec")
    compose: dict[str, Any] = yaml.safe_load(file.read_text())
    services = compose["services"]
    assert services["svc"]["image"] == f"svc:{__version__}"
    assert all(re.search(r":v?\d[\w.-]*$", service["image"]) for service in services.values())
    assert all(port.startswith("127.0.0.1:") for service in services.values() for port in service["ports"])
    mounted = [each.split(":")[0] for service in services.values() for each in service["volumes"] if each[0] == "."]
    assert [each for each in mounted if not (FOLDER / each).exists()] == []
    (scrape,) = yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"]
    assert scrape["authorization"]["credentials_file"] == f"/run/secrets/{services['prometheus']['secrets'][0]}"
    assert scrape["static_configs"][0]["targets"] == ["svc:8000"]
