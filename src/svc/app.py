"""The service, put together: the only place where the parts meet."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from svc import __version__
from svc.api import errors, health, request_id, speech
from svc.engine import weights
from svc.engine.fake import FakeEngine
from svc.engine.kokoro import KokoroEngine
from svc.engine.protocol import Engine
from svc.scheduler import Scheduler
from svc.settings import Settings
from svc.speech import Speech
from svc.text.phonemes import Phonemizer
from svc.voices import Voices, built_in


def create_engine(settings: Settings) -> Engine:
    if settings.engine == "fake":
        return FakeEngine()
    return KokoroEngine(
        lambda: weights.load(settings.model_dir, settings.model_hub, settings.cache_dir), settings.threads
    )


def create_voices(settings: Settings) -> Voices:
    return Voices(built_in(), settings.default_voice, settings.strict_voices)


def create_speech(settings: Settings) -> Speech:
    return Speech(create_engine(settings), Phonemizer())


def create_app(settings: Settings, pipeline: Speech | None = None) -> FastAPI:
    """The web application; `pipeline` stands in for the one that the settings describe."""
    pipeline = pipeline or create_speech(settings)
    scheduler = Scheduler(pipeline.load, settings.max_streams)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        scheduler.start()
        yield
        await scheduler.close()

    app = FastAPI(title="svc", version=__version__, lifespan=lifespan)
    app.include_router(health.router(scheduler))
    app.include_router(speech.router(pipeline, scheduler, create_voices(settings), settings.max_characters))
    errors.install(app)
    request_id.install(app)
    return app
