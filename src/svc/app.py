"""The service, put together: the only place where the parts meet."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI

from svc import __version__
from svc.api import (
    account,
    authentication,
    content,
    cors,
    errors,
    health,
    models,
    previews,
    realtime,
    request_id,
    speech,
    tokens,
)
from svc.api import voices as voices_api
from svc.auth.exposure import warn_if_exposed
from svc.auth.housekeeping import Housekeeping
from svc.auth.static_keys import StaticKeys
from svc.auth.tokens import Tokens
from svc.auth.verifier import Verifier
from svc.engine import weights
from svc.engine.fake import FakeEngine
from svc.engine.kokoro import KokoroEngine
from svc.engine.protocol import Engine
from svc.engine.turbo import TurboEngine
from svc.realtime.session import Desk
from svc.realtime.sockets import Sockets
from svc.scheduler import Scheduler
from svc.settings import Settings
from svc.speech import Speech
from svc.text.phonemes import Phonemizer
from svc.voice_settings import VoiceSettingsStore
from svc.voices import Voices, built_in

if TYPE_CHECKING:  # SQLAlchemy takes its time to load: whoever has no table need not wait for it
    from svc.auth.table import KeysTable


def create_engine(settings: Settings) -> Engine:
    if settings.engine == "fake":
        return FakeEngine()
    speaking = KokoroEngine if settings.engine == "kokoro" else TurboEngine
    return speaking(lambda: weights.load(settings.model_dir, settings.model_hub, settings.cache_dir), settings.threads)


def create_voices(settings: Settings) -> Voices:
    return Voices(built_in(), settings.default_voice, settings.strict_voices)


def create_speech(settings: Settings) -> Speech:
    return Speech(create_engine(settings), Phonemizer())


def create_keys_table(settings: Settings) -> "KeysTable | None":
    if settings.api_keys_table is None:
        return None
    from svc.auth.table import KeysTable

    return KeysTable(settings.api_keys_table.get_secret_value())


def create_app(settings: Settings, pipeline: Speech | None = None, clock: Callable[[], float] = time.time) -> FastAPI:
    """The web application; `pipeline` stands in for the one that the settings describe, `clock` for the real one."""
    pipeline = pipeline or create_speech(settings)
    scheduler = Scheduler(pipeline.load, settings.max_streams)
    table = create_keys_table(settings)
    housekeeping = Housekeeping(table, clock)
    verifier = Verifier(
        StaticKeys(settings.static_keys()),
        table,
        clock=clock,
        cache_seconds=settings.keys_cache_seconds,
        grace_seconds=settings.keys_grace_seconds,
        note_use=housekeeping.note_use,
    )

    sockets = Sockets(settings.max_sockets)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warn_if_exposed(settings.host, verifier.open)
        scheduler.start()
        async with housekeeping.running():
            yield
        await sockets.close(settings.shutdown_seconds)
        await scheduler.close()

    app = FastAPI(
        title="svc", version=__version__, lifespan=lifespan, strict_content_type=False, responses=errors.RESPONSES
    )
    voices = create_voices(settings)
    voice_settings = VoiceSettingsStore(settings.data_dir)
    app.include_router(health.router(scheduler))
    app.include_router(speech.router(pipeline, scheduler, voices, voice_settings, settings.max_characters))
    desk = Desk(pipeline, scheduler, voice_settings, verifier, settings.max_characters)
    origins = cors.Origins(_list(settings.cors_origins), verifier.open)
    app.include_router(realtime.router(desk, sockets, voices, origins))
    app.include_router(voices_api.router(voices, voice_settings))
    app.include_router(previews.router(pipeline, scheduler, voices, settings.cache_dir / "previews"))
    app.include_router(models.router(_list(settings.model_aliases), settings.max_characters))
    app.include_router(account.router())
    app.include_router(tokens.router(Tokens(table, clock)))
    # The last one installed is the outermost: a request passes them from the last to the first.
    content.install(app, settings.max_body_bytes, settings.max_body_seconds)
    authentication.install(app, verifier)
    errors.install(app)
    cors.install(app, origins)
    request_id.install(app)
    app.state.sockets = sockets  # for the server, which has to close them before it cuts connections off
    return app


def _list(words: str) -> list[str]:
    return [word for part in words.split(",") if (word := part.strip())]
