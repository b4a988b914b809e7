"""The files for Kubernetes and Ray fit the schemas of those who read them."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml  # type: ignore[import-untyped]

from svc import __version__
from svc.settings import Settings

ROOT = Path(__file__).parents[2]
KUBERNETES = sorted((ROOT / "deploy/kubernetes").glob("*.yaml"))
SERVE = sorted((ROOT / "deploy/ray").glob("serve*.yaml"))
CLIENTS = Path(sys.prefix) / "clients"
_VERSION = "1.31"


def _load(file: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(file.read_text()))


def _read_schemas() -> Path:
    """Those that the package kubernetes-validate carries."""
    found = sorted((CLIENTS / "kubernetes/kubernetes_validate/kubernetes-json-schema").glob(f"v{_VERSION}*"))
    return found[-1] if found else pytest.skip("kubernetes-validate is not installed: run make test")


def _check_kubernetes(document: dict[str, Any]) -> None:
    group, _, version = document["apiVersion"].rpartition("/")
    parts = [document["kind"], group.split(".")[0], version]
    schema = _read_schemas() / f"{'-'.join(filter(None, parts)).lower()}.json"
    problems = [
        f"{'/'.join(map(str, error.instance_path))}: {error.message}"
        for error in jsonschema_rs.validator_for(json.loads(schema.read_text())).iter_errors(document)
    ]
    assert problems == []


@pytest.mark.parametrize("file", KUBERNETES, ids=lambda file: file.name)
def test_objects_fit_the_schemas_of_kubernetes(file: Path) -> None:
    for document in _load(file):
        if document["kind"] != "RayService":  # its schema is KubeRay's: see below
            _check_kubernetes(document)


@pytest.fixture(scope="module")
def ray_service() -> dict[str, Any]:
    (found,) = (each for each in _load(ROOT / "deploy/kubernetes/rayservice.yaml") if each["kind"] == "RayService")
    return found


def test_pods_of_the_ray_service_fit_the_schema_of_a_pod(ray_service: dict[str, Any]) -> None:
    cluster = ray_service["spec"]["rayClusterConfig"]
    for group in [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]:
        _check_kubernetes({"apiVersion": "v1", "kind": "Pod", **group["template"]})


@pytest.mark.parametrize("file", [*SERVE, ROOT / "deploy/kubernetes/rayservice.yaml"], ids=lambda file: file.name)
def test_ray_serve_takes_its_configuration(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(CLIENTS / "cluster")])
    schema = pytest.importorskip("ray.serve.schema")
    document = _load(file)[0]
    config = schema.ServeDeploySchema.parse_obj(
        yaml.safe_load(document["spec"]["serveConfigV2"]) if document.get("kind") == "RayService" else document
    )
    from svc.cluster import application

    assert {app.name for app in config.applications} == {application.API, application.ENGINE}
    for app in config.applications:
        assert callable(getattr(application, app.import_path.rpartition(":")[2]))
        assert [each.name for each in app.deployments] == [{"svc-api": "Api", "svc-engine": "Engine"}[app.name]]


def test_ray_takes_the_file_of_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = CLIENTS / "cluster/ray/autoscaler/ray-schema.json"
    if not schema.exists():
        pytest.skip("Ray is not installed: run make test")
    cluster = _load(ROOT / "deploy/ray/cluster.yaml")[0]
    assert list(jsonschema_rs.validator_for(json.loads(schema.read_text())).iter_errors(cluster)) == []
    assert cluster["head_node_type"] in cluster["available_node_types"]


@pytest.mark.parametrize("file", [*KUBERNETES, *SERVE], ids=lambda file: file.name)
def test_settings_and_images_exist(file: Path) -> None:
    text = file.read_text()
    named = set(re.findall(r"\bSVC_[A-Z_]+[A-Z](?=:)", text))
    assert named <= {f"SVC_{name.upper()}" for name in Settings.model_fields}
    assert {image.removesuffix("-cluster") for image in re.findall(r"image: (\S+)", text)} <= {f"svc:{__version__}"}
