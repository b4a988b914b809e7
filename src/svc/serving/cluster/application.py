"""What Ray Serve deploys: two applications, because the API must be able to drain while the engine still works.

For `serve deploy`, the import paths are `svc.serving.cluster.application:build_engine` and `…:build_api`. The settings
are read from the environment of the head node, and go to all replicas.
"""

from typing import Any

from grpc import RpcError
from ray import serve
from ray.exceptions import RayError
from ray.serve.config import AutoscalingConfig, AutoscalingPolicy
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle

from svc.remote.wire import EngineDescription
from svc.settings import Settings

API, ENGINE = "svc-api", "svc-engine"

_ONGOING_PER_WORKER = 1.5
"""Utterances that a worker has on average before another replica is started: one is spoken while another may wait."""
_FIND_SECONDS = 10.0
_HEALTH_SECONDS, _HEALTH_TIMEOUT = 5.0, 30.0
_DRAIN_SECONDS = 10.0  # beyond SVC_SHUTDOWN_SECONDS
# A replica of the engine never blocks its event loop, which is that of Ray, too: no thread more.
_RUNTIME_ENV = {"env_vars": {"RAY_SERVE_RUN_USER_CODE_IN_SEPARATE_THREAD": "0"}}
_UP_SECONDS, _DOWN_SECONDS, _WINDOW_SECONDS = 10.0, 600.0, 15.0


def build_engine(_: dict[str, Any]) -> serve.Application:
    return create_engine_application(Settings())


def build_api(_: dict[str, Any]) -> serve.Application:
    return create_api_application(Settings())


def create_engine_application(settings: Settings) -> serve.Application:
    from svc.serving.cluster.autoscaling import choose_replicas
    from svc.serving.cluster.engine_replica import EngineReplica

    deployment = serve.deployment(
        name="Engine",
        ray_actor_options={
            "num_cpus": settings.cluster_cpus,
            "num_gpus": settings.cluster_gpus,
            "runtime_env": _RUNTIME_ENV,
        },
        autoscaling_config=AutoscalingConfig(
            min_replicas=settings.cluster_min_replicas,
            max_replicas=max(settings.cluster_min_replicas, settings.cluster_max_replicas),
            target_ongoing_requests=_ONGOING_PER_WORKER * settings.workers,
            look_back_period_s=_WINDOW_SECONDS,
            upscale_delay_s=_UP_SECONDS,
            downscale_delay_s=_DOWN_SECONDS,  # loading the engine takes longer than keeping it costs
            policy=AutoscalingPolicy(policy_function=choose_replicas),
        ),
        **_common(settings),
    )(EngineReplica)
    return deployment.bind(settings)


def create_api_application(settings: Settings) -> serve.Application:
    from svc.serving.cluster.api_replica import ApiReplica

    deployment = serve.deployment(
        name="Api",
        num_replicas=settings.cluster_api_replicas,
        ray_actor_options={"num_cpus": 0},  # it mostly waits; `serve deploy` can reserve some
        **_common(settings),
    )(ApiReplica)
    return deployment.bind(settings)


class EngineFinder:
    """Asks all replicas of the engine where they are; always in one event loop."""

    def __init__(self) -> None:
        self._handle: DeploymentHandle | None = None

    async def find(self) -> list[EngineDescription]:
        """Those that answer."""
        try:
            response = self._open().broadcast("describe")
            found = await response.results_async(timeout_s=_FIND_SECONDS, return_exceptions=True)
        except (RayError, RayServeException, RpcError, TimeoutError):  # none is deployed yet, or none answers
            return []
        return [each for each in found if isinstance(each, EngineDescription)]

    def _open(self) -> DeploymentHandle:
        if self._handle is None:
            handle = serve.get_deployment_handle("Engine", ENGINE)
            if not handle.is_initialized:
                handle._init(_run_router_in_separate_loop=False)  # a thread less
            self._handle = handle.options(_by_reference=False)
        return self._handle


def _common(settings: Settings) -> dict[str, Any]:
    return {
        "health_check_period_s": _HEALTH_SECONDS,
        "health_check_timeout_s": _HEALTH_TIMEOUT,
        "graceful_shutdown_wait_loop_s": 0.5,
        "graceful_shutdown_timeout_s": settings.shutdown_seconds + _DRAIN_SECONDS,
        "logging_config": {"enable_access_log": False},  # a line for every utterance
    }
