"""The files for Kubernetes and Ray fit the schemas of those who read them."""

import json
import re
import sys
from collections.abc import Callable
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
_VERSION = "1.33"


def _load(file: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(file.read_text()))


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], None]:
    """Raises unless an object fits its schema, of those that the package kubernetes-validate carries."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(CLIENTS / "kubernetes")])
    package = pytest.importorskip("kubernetes_validate")

    def check(document: dict[str, Any]) -> None:
        package.validate(document, _VERSION, strict=True)

    return check


@pytest.mark.parametrize("file", KUBERNETES, ids=lambda file: file.name)
def test_objects_fit_the_schemas_of_kubernetes(file: Path, check: Callable[[dict[str, Any]], None]) -> None:
    for document in _load(file):
        if document["kind"] != "RayService":  # see below
            check(document)


def _describe(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": required | optional,
        "required": list(required),
        "additionalProperties": False,
    }


_ANY_OBJECT = {"type": "object"}
_COUNT = {"type": "integer", "minimum": 0}
_STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}
_GROUP = {"rayStartParams": _STRINGS, "template": _ANY_OBJECT}
_RAY_SERVICE = _describe(
    {
        "apiVersion": {"const": "ray.io/v1"},
        "kind": {"const": "RayService"},
        "metadata": _ANY_OBJECT,
        "spec": _describe(
            {
                "serveConfigV2": {"type": "string"},
                "rayClusterConfig": _describe(
                    {"headGroupSpec": _describe(_GROUP)},
                    rayVersion={"type": "string"},
                    enableInTreeAutoscaling={"type": "boolean"},
                    autoscalerOptions=_describe({}, idleTimeoutSeconds=_COUNT),
                    workerGroupSpecs={
                        "type": "array",
                        "items": _describe(
                            {**_GROUP, "groupName": {"type": "string"}, "minReplicas": _COUNT, "maxReplicas": _COUNT},
                            replicas=_COUNT,
                        ),
                    },
                ),
            },
            excludeHeadPodFromServeSvc={"type": "boolean"},
        ),
    }
)
"""Of KubeRay's custom resource, the fields that the file uses: no package carries the whole definition."""


def test_the_ray_service_fits_its_schema(ray_service: dict[str, Any]) -> None:
    validator = jsonschema_rs.validator_for(_RAY_SERVICE)
    assert list(validator.iter_errors(ray_service)) == []
    misspelt = {**ray_service, "spec": {**ray_service["spec"], "serveConfig": ""}}
    assert not validator.is_valid(misspelt)


@pytest.fixture(scope="module")
def ray_service() -> dict[str, Any]:
    (found,) = (each for each in _load(ROOT / "deploy/kubernetes/rayservice.yaml") if each["kind"] == "RayService")
    return found


def test_pods_of_the_ray_service_fit_the_schema_of_a_pod(
    ray_service: dict[str, Any], check: Callable[[dict[str, Any]], None]
) -> None:
    cluster = ray_service["spec"]["rayClusterConfig"]
    for group in [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]:
        check({"apiVersion": "v1", "kind": "Pod", **group["template"]})


@pytest.mark.parametrize("file", [*SERVE, ROOT / "deploy/kubernetes/rayservice.yaml"], ids=lambda file: file.name)
def test_ray_serve_takes_its_configuration(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(CLIENTS / "cluster")])
    schema = pytest.importorskip("ray.serve.schema")
    document = _load(file)[0]
    config = schema.ServeDeploySchema.model_validate(
        yaml.safe_load(document["spec"]["serveConfigV2"]) if document.get("kind") == "RayService" else document
    )
    from svc.serving.cluster import application

    assert {app.name for app in config.applications} == {application.API, application.ENGINE}
    for app in config.applications:
        assert callable(getattr(application, app.import_path.rpartition(":")[2]))
        assert [each.name for each in app.deployments] == [{"svc-api": "Api", "svc-engine": "Engine"}[app.name]]


def test_ray_takes_the_file_of_the_cluster() -> None:
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
