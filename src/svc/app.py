"""The service, put together: the only place where the parts meet."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

from fastapi import FastAPI

from svc import __version__
from svc.api import (
    account,
    authentication,
    cloning,
    cors,
    docs,
    errors,
    health,
    models,
    page,
    previews,
    request_id,
    speech,
    tokens,
)
from svc.api import body_limits as content
from svc.api import voices as voices_api
from svc.api.realtime import routes as realtime
from svc.api.realtime.connections import Connections
from svc.api.realtime.session import SessionDependencies
from svc.auth.housekeeping import Housekeeping
from svc.auth.keys import StaticKeys
from svc.auth.tokens import Tokens
from svc.auth.verifier import Verifier, warn_if_exposed
from svc.cloning.built_in_embeddings import BuiltInEmbeddings
from svc.cloning.cloner import VoiceCloner
from svc.cloning.refinement import RefinementWorker
from svc.cloning.refinement_queue import RefinementQueue
from svc.cloning.speaker_embedding import SpeakerEncoder
from svc.cloning.trial import LoadSpeakerEncoder, TrialSynthesis
from svc.engine import weights
from svc.engine.fake import FakeEngine
from svc.engine.kokoro import KokoroEngine
from svc.engine.protocol import Engine
from svc.engine.turbo import TurboEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.scheduler import Scheduler
from svc.text.g2p import Phonemizer
from svc.voices.catalogue import VoiceCatalogue, built_in
from svc.voices.custom_voices import CustomVoices
from svc.voices.pending_uploads import PendingUploads
from svc.voices.settings_store import VoiceSettingsStore
from svc.voices.store import VoiceStore
from svc.web import docs_site as library
from svc.web.docs_site import DocsSite

if TYPE_CHECKING:  # these take their time to load: whoever has no table and no mirror need not wait for them
    from svc.auth.table import KeysTable
    from svc.voices.sync import VoiceSync


def create_engine(settings: Settings) -> Engine:
    if settings.engine == "fake":
        return FakeEngine()
    speaking = KokoroEngine if settings.engine == "kokoro" else TurboEngine
    return speaking(
        lambda: weights.load(settings.model_dir, settings.model_hub, settings.cache_dir),
        settings.threads,
        settings.device,
    )


def create_voices(settings: Settings) -> VoiceCatalogue:
    """The catalogue, with the voices that came with the model and those that were cloned."""
    voices = VoiceCatalogue(built_in(), settings.default_voice, settings.strict_voices)
    create_custom_voices(settings, voices).refresh()
    return voices


def create_custom_voices(settings: Settings, voices: VoiceCatalogue) -> CustomVoices:
    return CustomVoices(VoiceStore(settings.data_dir / "voices", create_pending_uploads(settings)), voices)


def create_pending_uploads(settings: Settings) -> PendingUploads | None:
    return PendingUploads(settings.data_dir / "voices/outbox") if settings.voice_mirror else None


def create_voice_sync(settings: Settings, custom_voices: CustomVoices) -> "VoiceSync | None":
    pending_uploads = create_pending_uploads(settings)
    if settings.voice_mirror is None or pending_uploads is None:
        return None
    from svc.voices.object_store import open_object_store
    from svc.voices.sync import VoiceSync

    remote = open_object_store(settings.voice_mirror)
    return VoiceSync(remote, custom_voices.store, pending_uploads, custom_voices.refresh, settings.voice_mirror_seconds)


def create_cloner(
    settings: Settings, trial: TrialSynthesis, voices: VoiceCatalogue, custom_voices: CustomVoices
) -> VoiceCloner:
    return VoiceCloner(
        trial,
        voices,
        custom_voices,
        create_refinement_queue(settings),
        max_voices=settings.max_custom_voices,
        keep_references=settings.keep_references,
        require_consent=settings.require_consent,
        refine=settings.refine_voices,
    )


def create_refinement_queue(settings: Settings) -> RefinementQueue:
    return RefinementQueue(settings.data_dir / "voices/refining")


def load_speaker_encoder() -> tuple[SpeakerEncoder, BuiltInEmbeddings]:
    from svc.cloning.speaker_encoder import OnnxSpeakerEncoder

    return OnnxSpeakerEncoder.load(), BuiltInEmbeddings.load()


def create_pipeline(settings: Settings) -> Pipeline:
    return Pipeline(create_engine(settings), Phonemizer(), settings.watermark)


def create_keys_table(settings: Settings) -> "KeysTable | None":
    if settings.api_keys_table is None:
        return None
    from svc.auth.table import KeysTable

    return KeysTable(settings.api_keys_table.get_secret_value())


def create_app(
    settings: Settings,
    pipeline: Pipeline | None = None,
    clock: Callable[[], float] = time.time,
    encoder: LoadSpeakerEncoder | None = None,
) -> FastAPI:
    """The web application; `pipeline`, `clock` and `ear` stand in for the real ones."""
    pipeline = pipeline or create_pipeline(settings)
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

    sockets = Connections(settings.max_sockets)
    voices = VoiceCatalogue(built_in(), settings.default_voice, settings.strict_voices)
    voice_settings = VoiceSettingsStore(settings.data_dir)
    custom_voices = create_custom_voices(settings, voices)
    custom_voices.load()
    mirror = create_voice_sync(settings, custom_voices)
    trial = TrialSynthesis(encoder or load_speaker_encoder, pipeline, scheduler, voices)
    studio = create_cloner(settings, trial, voices, custom_voices)
    refinement_queue = create_refinement_queue(settings)
    refinement_worker = RefinementWorker(refinement_queue, trial, custom_voices)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warn_if_exposed(settings.host, verifier.open)
        scheduler.start()
        trial.open()
        async with (
            housekeeping.running(),
            custom_voices.watched(),
            refinement_worker.running(),
            mirror.running() if mirror else nullcontext(),
        ):
            yield
        await trial.close()
        await sockets.close(settings.shutdown_seconds)
        await scheduler.close()

    app = FastAPI(
        title="svc",
        version=__version__,
        lifespan=lifespan,
        strict_content_type=False,
        responses=errors.RESPONSES,
        docs_url=None,  # `docs` serves these itself, with nothing from other servers
        redoc_url=None,
    )
    app.include_router(page.router())
    app.include_router(health.router(scheduler, custom_voices, mirror))
    app.include_router(speech.router(pipeline, scheduler, voices, voice_settings, settings.max_characters))
    dependencies = SessionDependencies(pipeline, scheduler, voice_settings, verifier, settings.max_characters)
    origins = cors.Origins(_list(settings.cors_origins), verifier.open)
    app.include_router(realtime.router(dependencies, sockets, voices, origins))
    app.include_router(voices_api.router(voices, voice_settings, refinement_queue))
    app.include_router(cloning.router(studio, voices, voice_settings, refinement_queue))
    app.include_router(previews.router(pipeline, scheduler, voices, settings.cache_dir / "previews"))
    app.include_router(models.router(_list(settings.model_aliases), settings.max_characters))
    app.include_router(account.router())
    app.include_router(tokens.router(Tokens(table, clock)))
    app.include_router(docs.router(DocsSite(library.find())))
    # The last one installed is the outermost: a request passes them from the last to the first.
    content.install(app, settings.max_body_bytes, settings.max_body_seconds, settings.max_clip_bytes)
    authentication.install(app, verifier)
    errors.install(app)
    cors.install(app, origins)
    request_id.install(app)
    app.state.sockets = sockets  # for the server, which has to close them before it cuts connections off
    return app


def _list(words: str) -> list[str]:
    return [word for part in words.split(",") if (word := part.strip())]
