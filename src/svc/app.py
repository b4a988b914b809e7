"""Creates the parts of the service from the settings and wires them together; nothing else does."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from fastapi import FastAPI

from svc import __version__
from svc.admission.admission import Admission, Limits
from svc.admission.shared import SharedLimits
from svc.api import (
    account,
    authentication,
    cloning,
    dialogue,
    dictionaries,
    errors,
    health,
    mixing,
    models,
    not_offered,
    openai,
    pages,
    previews,
    speech,
    tokens,
)
from svc.api import metrics as metrics_api
from svc.api import voices as voices_api
from svc.api.concurrency_headers import ConcurrencyHeaders
from svc.api.dialogue_voices import DialogueVoices
from svc.api.http_synthesis import HttpSynthesis
from svc.api.middleware import BodyLimits, RefuseWhileDraining, RequestId
from svc.api.origins import AllowedHosts, AllowedOrigins, CheckOrigin, Cors
from svc.api.realtime import routes as realtime
from svc.api.realtime.connections import Connections
from svc.api.realtime.session import SessionDependencies
from svc.api.request_log import RequestLog
from svc.api.request_metrics import RequestMetrics, RouteTemplates
from svc.api.wyoming.server import WyomingServer
from svc.api.wyoming.session import WyomingLimits
from svc.auth.housekeeping import Housekeeping
from svc.auth.keys import KeyLimits, StaticKeys
from svc.auth.tokens import Tokens
from svc.auth.verifier import Verifier, warn_if_exposed
from svc.cloning.cloner import VoiceCloner
from svc.cloning.gradients import GradientRefiner, VoiceRefiner
from svc.cloning.loudness_worker import LoudnessWorker
from svc.cloning.mixer import VoiceMixer
from svc.cloning.refinement import RefinementQueue, RefinementWorker
from svc.cloning.speaker_encoder import BuiltInEmbeddings, OnnxSpeakerEncoder, SpeakerEncoder
from svc.cloning.trial import LoadSpeakerEncoder, TrialSynthesis
from svc.dictionaries.catalogue import Dictionaries
from svc.dictionaries.store import DictionaryStore
from svc.dictionaries.sync import DictionarySync
from svc.engine import weights
from svc.engine.fake import FakeEngine
from svc.engine.protocol import Engine
from svc.engine.turbo import TurboEngine
from svc.errors import EngineUnavailable, SvcError
from svc.event_loop import EventLoopMonitor
from svc.lifecycle import Lifecycle
from svc.metrics import Metrics
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.previews import Previews
from svc.synthesis.scheduler import Scheduler
from svc.tasks import Supervisor
from svc.telemetry import create_telemetry
from svc.text.g2p import Phonemizer
from svc.voices.built_in import load_built_in_voices
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.custom_voices import CustomVoices
from svc.voices.object_store import open_object_store
from svc.voices.settings import VoiceSettingsStore
from svc.voices.store import VoiceStore
from svc.voices.sync import VoiceSync
from svc.web.docs_site import DocsSite, find_docs_folder

if TYPE_CHECKING:  # SQLAlchemy takes half a second to load, and only a keys table needs it
    from svc.auth.table import KeysTable


# One process cannot encode and send the audio of more.
_MAX_REMOTE_WORKERS = 256
_WORKERS_SECONDS = 2.0
_REMOTE_ENGINE_SECONDS = 30.0


def create_engine(settings: Settings) -> Engine:
    if settings.engine == "fake":
        return FakeEngine()
    if settings.engine == "turbo":
        return TurboEngine(settings.threads, settings.device)
    try:  # only then, because the package `onnx` takes time and memory to import
        from svc.engine.kokoro import KokoroEngine
    except ModuleNotFoundError as error:
        if error.name != "onnx":
            raise
        raise EngineUnavailable("SVC_ENGINE=kokoro needs further packages: pip install 'svc[kokoro]'") from error
    return KokoroEngine(
        lambda: weights.load(settings.model_dir, settings.model_hub, settings.cache_dir),
        settings.threads,
        settings.device,
    )


def create_voices(settings: Settings) -> VoiceCatalogue:
    """The catalogue of built-in and custom voices."""
    voices = create_catalogue(settings)
    create_custom_voices(settings, voices).refresh()
    return voices


def create_catalogue(settings: Settings) -> VoiceCatalogue:
    """The catalogue of the built-in voices; custom voices are loaded into it."""
    private = settings.voice_sharing == "private"
    return VoiceCatalogue(load_built_in_voices(), settings.default_voice, settings.strict_voices, private)


def create_custom_voices(settings: Settings, voices: VoiceCatalogue) -> CustomVoices:
    store = VoiceStore(settings.data_dir / "voices", track_uploads=settings.voice_mirror is not None)
    return CustomVoices(store, voices)


def create_voice_sync(settings: Settings, custom_voices: CustomVoices) -> VoiceSync | None:
    if settings.voice_mirror is None:
        return None
    object_store = open_object_store(settings.voice_mirror)
    return VoiceSync(object_store, custom_voices.store, custom_voices.refresh, settings.voice_mirror_seconds)


def create_dictionaries(settings: Settings) -> Dictionaries:
    store, private = DictionaryStore(settings.data_dir / "dictionaries"), settings.voice_sharing == "private"
    return Dictionaries(store, settings.max_dictionaries, private)


def create_dictionary_sync(settings: Settings, dictionaries: Dictionaries) -> DictionarySync | None:
    if settings.voice_mirror is None:
        return None
    object_store = open_object_store(settings.voice_mirror)
    return DictionarySync(object_store, dictionaries.store, dictionaries.refresh, settings.voice_mirror_seconds)


def create_cloner(
    settings: Settings,
    trial: TrialSynthesis,
    voices: VoiceCatalogue,
    custom_voices: CustomVoices,
    refinement_queue: RefinementQueue,
    metrics: Metrics,
) -> VoiceCloner:
    return VoiceCloner(
        trial,
        voices,
        custom_voices,
        refinement_queue,
        metrics,
        max_voices=settings.max_custom_voices,
        keep_references=settings.keep_references,
        require_consent=settings.require_consent,
        refine=settings.refine_voices,
    )


def create_refinement_queue(settings: Settings) -> RefinementQueue:
    return RefinementQueue(settings.data_dir / "voices/refining")


def load_speaker_encoder() -> tuple[SpeakerEncoder, BuiltInEmbeddings]:
    return OnnxSpeakerEncoder.load(), BuiltInEmbeddings.load()


def create_pipeline(settings: Settings) -> Pipeline:
    phonemizer = Phonemizer(settings.cache_dir)
    return Pipeline(create_engine(settings), phonemizer, settings.watermark, settings.max_audio_seconds)


def create_admission(
    settings: Settings, shared: SharedLimits, scheduler: Scheduler, metrics: Metrics, several_keys: bool
) -> Admission:
    return Admission(
        Limits(settings.max_streams, settings.max_waiting, settings.max_characters_per_minute),
        KeyLimits(settings.key_max_streams, settings.key_max_waiting, settings.key_max_characters_per_minute),
        shared,
        scheduler.speed,
        metrics,
        several_keys=several_keys,
        max_load=settings.max_load,
        queue_seconds=settings.queue_seconds,
    )


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
    refiner: Callable[[], VoiceRefiner] | None = None,
    after_load: Callable[[], None] = lambda: None,
    wyoming_socket: socket.socket | None = None,
    count_workers: Callable[[], Awaitable[int]] | None = None,
) -> FastAPI:
    """The web application; tests pass in another `pipeline`, `clock`, `encoder` or `refiner`.

    `after_load` is called in a thread once the engine is loaded. Wyoming is spoken on `wyoming_socket`, if given.
    `count_workers` tells how many workers an engine has that is elsewhere; it is asked again and again.
    """
    if encoder is None and settings.engine == "turbo":  # the gradients are those of its networks
        refiner = refiner or GradientRefiner.load
    metrics = Metrics()
    telemetry = create_telemetry(metrics.registry)
    supervisor = Supervisor()
    pipeline = pipeline or create_pipeline(settings)

    def load() -> None:
        pipeline.load()
        after_load()

    max_workers = _MAX_REMOTE_WORKERS if count_workers else None
    scheduler = Scheduler(load, metrics, settings.workers, max_workers, turns=2 if count_workers else 1)

    async def follow_workers() -> None:
        assert count_workers
        scheduler.resize(await count_workers())

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

    shared_limits = SharedLimits(settings.redis_url.get_secret_value() if settings.redis_url else None)
    several_keys = table is not None or len(settings.static_keys()) > 1
    admission = create_admission(settings, shared_limits, scheduler, metrics, several_keys)
    lifecycle = Lifecycle()
    connections = Connections(settings.max_sockets)
    voices = create_catalogue(settings)
    voice_settings = VoiceSettingsStore(settings.data_dir)
    pipeline.find_voice = voices.find_common
    custom_voices = create_custom_voices(settings, voices)
    custom_voices.load()
    voice_sync = create_voice_sync(settings, custom_voices)
    pronunciations = create_dictionaries(settings)
    pronunciations.load()
    dictionary_sync = create_dictionary_sync(settings, pronunciations)
    trial = TrialSynthesis(encoder or load_speaker_encoder, pipeline, scheduler, voices)
    refinement_queue = create_refinement_queue(settings)
    cloner = create_cloner(settings, trial, voices, custom_voices, refinement_queue, metrics)
    refinement_worker = RefinementWorker(refinement_queue, trial, custom_voices, refiner)
    loudness_worker = LoudnessWorker(trial, voices, custom_voices, settings.data_dir / "voices/.loudness")
    pipeline.note_language = loudness_worker.note_language
    event_loop_monitor = EventLoopMonitor(metrics.event_loop_stall_seconds.observe)
    metrics.event_loop_stall_max_seconds.set_function(event_loop_monitor.longest)
    state = metrics_api.ServiceState(
        pipeline,
        scheduler,
        connections,
        custom_voices,
        voice_sync,
        pronunciations,
        dictionary_sync,
        supervisor.states,
    )
    state.register(metrics.registry)

    dialogue_voices = DialogueVoices(voices, voice_settings, pronunciations)
    dependencies = SessionDependencies(
        pipeline,
        scheduler,
        admission,
        metrics,
        voices,
        voice_settings,
        dialogue_voices,
        pronunciations,
        verifier,
        settings.max_characters,
    )
    wyoming = wyoming_socket and WyomingServer(
        wyoming_socket,
        dependencies,
        voices,
        connections,
        lifecycle,
        WyomingLimits(settings.stall_seconds, settings.shutdown_seconds),
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warn_if_exposed(settings.host, verifier.open)
        scheduler.start()
        trial.open()
        if count_workers:
            # The server listens after this: clients go to another one until this one can speak, unless none can.
            with suppress(TimeoutError, SvcError):
                await asyncio.wait_for(scheduler.wait_until_loaded(), _REMOTE_ENGINE_SECONDS)
        async with (
            supervisor.running("event_loop", event_loop_monitor.run),
            supervisor.repeating("engine_workers", follow_workers, _WORKERS_SECONDS)
            if count_workers
            else nullcontext(),
            telemetry.running(supervisor) if telemetry else nullcontext(),
            shared_limits.running(supervisor),
            housekeeping.running(supervisor),
            custom_voices.running(supervisor),
            voice_settings.running(supervisor),
            refinement_worker.running(supervisor),
            loudness_worker.running(supervisor),
            voice_sync.running(supervisor) if voice_sync else nullcontext(),
            pronunciations.running(supervisor),
            dictionary_sync.running(supervisor) if dictionary_sync else nullcontext(),
            wyoming.running() if wyoming else nullcontext(),
        ):
            yield
        lifecycle.drain()
        await trial.close()
        await connections.close(settings.shutdown_seconds)
        if wyoming:
            await wyoming.close()
        await scheduler.close()

    app = FastAPI(
        title="svc",
        version=__version__,
        lifespan=lifespan,
        strict_content_type=False,
        responses=errors.RESPONSES,
        docs_url=None,  # `pages` serves them, with nothing from other servers
        redoc_url=None,
        # FastAPI's own spans hold paths and queries, and so credentials and the names of voices: see `svc.telemetry`.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.include_router(health.router(scheduler, supervisor, voice_sync, dictionary_sync, lifecycle))
    app.include_router(metrics_api.router(metrics.registry))
    synthesis = HttpSynthesis(pipeline, scheduler, admission, metrics, settings.max_characters)
    app.include_router(speech.router(synthesis, voices, voice_settings, pronunciations))
    app.include_router(dialogue.router(synthesis, dialogue_voices))
    app.include_router(openai.router(synthesis, voices, voice_settings, _split(settings.model_aliases)))
    app.include_router(realtime.router(dependencies, connections, lifecycle))
    app.include_router(voices_api.router(voices, voice_settings, refinement_queue))
    app.include_router(cloning.router(cloner, voices, voice_settings, refinement_queue))
    mixer = VoiceMixer(voices, custom_voices, settings.max_custom_voices)
    app.include_router(mixing.router(mixer, voices, voice_settings, refinement_queue))
    app.include_router(dictionaries.router(pronunciations))
    app.include_router(previews.router(Previews(pipeline, scheduler, settings.cache_dir / "previews"), voices))
    app.include_router(models.router(_split(settings.model_aliases), settings.max_characters))
    app.include_router(account.router())
    app.include_router(tokens.router(Tokens(table, clock)))
    pages.add_pages(app, DocsSite(find_docs_folder()))
    not_offered.add_not_found(app)
    # The last one added is the outermost: a request passes them from the last to the first.
    app.add_middleware(
        BodyLimits,
        max_bytes=settings.max_body_bytes,
        max_seconds=settings.max_body_seconds,
        max_clip_bytes=settings.max_clip_bytes,
    )
    app.add_middleware(ConcurrencyHeaders, admission=admission)
    authentication.add_authentication(app, verifier)
    errors.add_error_handlers(app)
    hosts = AllowedHosts(_split(settings.allowed_hosts), verifier.open)
    origins = AllowedOrigins(_split(settings.cors_origins), verifier.open)
    app.add_middleware(RefuseWhileDraining, lifecycle=lifecycle)
    app.add_middleware(Cors, origins=origins)
    app.add_middleware(CheckOrigin, hosts=hosts, origins=origins)
    templates = RouteTemplates(app.routes)
    app.add_middleware(RequestMetrics, metrics=metrics, templates=templates)
    if telemetry and telemetry.tracer:
        from svc.api.request_spans import RequestSpans

        app.add_middleware(RequestSpans, tracer=telemetry.tracer, templates=templates)
    app.add_middleware(RequestLog, templates=templates)
    app.add_middleware(RequestId)
    app.state.lifecycle = lifecycle  # for the server, which begins the shutdown
    app.state.connections = connections  # for the server, which drains them before it closes
    return app


def _split(words: str) -> list[str]:
    return [word for part in words.split(",") if (word := part.strip())]
