"""`GET /health` and `GET /readyz`: whether the service can speak. `GET /metrics`: how it is doing, for Prometheus."""

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from svc.errors import SvcError
from svc.synthesis.scheduler import Scheduler
from svc.voices.custom_voices import CustomVoices

if TYPE_CHECKING:  # whoever has no mirror need not wait for what it takes to load
    from svc.voices.sync import VoiceSync


def router(scheduler: Scheduler, custom_voices: CustomVoices, mirror: "VoiceSync | None") -> APIRouter:
    router = APIRouter(tags=["operations"])

    def engine(response: Response) -> dict[str, Any]:
        try:
            scheduler.require_ready()
        except SvcError as error:
            response.status_code = error.http_status
            return {"status": error.status, "message": error.message}
        return {"status": "ready"}

    def lag() -> dict[str, float | None]:
        """What the mirror is behind by; it never makes the service unready, which speaks and clones without it."""
        if mirror is None:
            return {}
        found = mirror.lag()
        return {
            "waiting": found.waiting,
            "lag_seconds": round(found.seconds, 1),
            "fetched_seconds_ago": None if found.fetched_ago is None else round(found.fetched_ago, 1),
        }

    @router.head("/health", include_in_schema=False)
    @router.get("/health")
    async def health(response: Response) -> dict[str, Any]:
        """200 `ready` once the engine is loaded; 503 with the reason before that, or when it could not be."""
        return engine(response)

    @router.head("/readyz", include_in_schema=False)
    @router.get("/readyz")
    async def ready(response: Response) -> dict[str, Any]:
        """The same, and how far the mirror of the custom voices is behind, when there is one."""
        return {**engine(response), **({"voice_mirror": lag()} if mirror else {})}

    @router.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> str:
        """Figures in the text format of Prometheus. Needs a key, when there are keys."""
        figures: dict[str, float | None] = {"streams": scheduler.streams, "custom_voices": len(custom_voices)}
        figures |= {f"voice_mirror_{name}": value for name, value in lag().items()}
        return "".join(
            f"# TYPE svc_{name} gauge\nsvc_{name} {value}\n" for name, value in figures.items() if value is not None
        )

    return router
