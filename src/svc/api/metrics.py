"""`GET /metrics`: metrics for Prometheus."""

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from svc.api.health import describe_lag
from svc.voices.custom_voices import CustomVoices
from svc.voices.sync import VoiceSync


def router(custom_voices: CustomVoices, voice_sync: VoiceSync | None) -> APIRouter:
    router = APIRouter(tags=["operations"])

    @router.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> str:
        """Metrics in the Prometheus text format. Needs a key if keys are configured."""
        figures: dict[str, float | None] = {"custom_voices": len(custom_voices)}
        if voice_sync:
            figures |= {f"voice_mirror_{name}": value for name, value in describe_lag(voice_sync).items()}
        return "".join(
            f"# TYPE svc_{name} gauge\nsvc_{name} {value}\n" for name, value in figures.items() if value is not None
        )

    return router
