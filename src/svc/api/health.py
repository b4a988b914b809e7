"""`GET /health`: whether the service is up, and whether it can speak."""

from fastapi import APIRouter, Response

from svc.errors import SvcError
from svc.scheduler import Scheduler


def router(scheduler: Scheduler) -> APIRouter:
    router = APIRouter(tags=["operations"])

    @router.head("/health", include_in_schema=False)
    @router.get("/health")
    async def health(response: Response) -> dict[str, str]:
        """200 `ready` once the engine is loaded; 503 with the reason before that, or when it could not be."""
        try:
            scheduler.require_ready()
        except SvcError as error:
            response.status_code = error.http_status
            return {"status": error.status, "message": error.message}
        return {"status": "ready"}

    return router
