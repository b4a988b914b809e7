"""`GET /health` and `GET /readyz`: whether the service is ready."""

import time
from typing import Any

from fastapi import APIRouter, Response

from svc.dictionaries.sync import DictionarySync
from svc.errors import SvcError
from svc.process.lifecycle import Lifecycle
from svc.process.tasks import Supervisor, TaskState
from svc.synthesis.scheduler import Scheduler
from svc.voices.sync import Lag, VoiceSync


def router(
    scheduler: Scheduler,
    supervisor: Supervisor,
    voice_sync: VoiceSync | None,
    dictionary_sync: DictionarySync | None,
    lifecycle: Lifecycle,
    is_exposed: bool,
) -> APIRouter:
    router = APIRouter(tags=["operations"])

    def check_engine(response: Response) -> dict[str, Any]:
        try:
            lifecycle.require_running()
            scheduler.require_ready()
        except SvcError as error:
            response.status_code = error.http_status
            if error.retry_after is not None:
                response.headers["Retry-After"] = str(error.retry_after)
            return {"status": error.status, "message": error.message}
        return {"status": "ready"}

    @router.get("/health")
    async def health(response: Response) -> dict[str, Any]:
        """200 `ready` once the engine is loaded; 503 with the reason otherwise, and while the server shuts down."""
        return check_engine(response)

    @router.get("/readyz")
    async def ready(response: Response) -> dict[str, Any]:
        """The same as `/health`, plus the state of the background tasks, the lag of the mirror, and whether the server
        needs no key although more than its own machine can reach it (`exposed`)."""
        # Neither makes the service unready: it speaks and clones without them.
        background = {name: describe_task(state) for name, state in supervisor.states().items()}
        syncs = {"voice_mirror": voice_sync, "dictionary_mirror": dictionary_sync}
        lag = {name: describe_lag(sync.lag()) for name, sync in syncs.items() if sync}
        return {**check_engine(response), "exposed": is_exposed, "background": background, **lag}

    return router


def describe_task(task: TaskState) -> dict[str, Any]:
    """Without the message of the error, which may name what is behind the service: `/readyz` needs no key."""
    return {
        "state": task.state,
        "state_seconds": round(max(time.time() - task.since, 0.0), 1),
        "failures": task.failures,
        "error": task.error_type,
    }


def describe_lag(lag: Lag) -> dict[str, float | None]:
    return {
        "waiting": lag.waiting,
        "lag_seconds": round(lag.seconds, 1),
        "fetched_seconds_ago": None if lag.fetched_ago is None else round(lag.fetched_ago, 1),
    }
