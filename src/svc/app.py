"""The web application: the routes and the middleware around the parts of the service."""

import math
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext

from fastapi import FastAPI

from svc import __version__
from svc.api import account, authentication, errors, health, models, not_offered, pages, tokens
from svc.api import metrics as metrics_api
from svc.api.dictionaries import dictionaries
from svc.api.input_budget import InputBudget
from svc.api.middleware.order import list_middleware
from svc.api.middleware.request_metrics import RouteTemplates
from svc.api.realtime import routes as realtime
from svc.api.realtime.connections import WEBSOCKET, WYOMING, Connections
from svc.api.realtime.session import SessionDependencies
from svc.api.speech import dialogue, openai
from svc.api.speech import text_to_speech as speech
from svc.api.speech.dialogue_voices import DialogueVoices
from svc.api.speech.http_synthesis import HttpSynthesis
from svc.api.voices import cloning, mixing, previews
from svc.api.voices import voices as voices_api
from svc.api.wyoming.server import WyomingServer
from svc.api.wyoming.session import WyomingLimits
from svc.cloning.gradients import VoiceRefiner
from svc.cloning.trial import LoadSpeakerEncoder
from svc.service import Service
from svc.settings import Settings, split_words
from svc.synthesis.pipeline import Pipeline
from svc.web.docs_site import DocsSite, find_docs_folder

_WYOMING_SHARE = 0.25
_KEY_SHARE = 0.75


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
    """What `Service` needs, and the socket on which Wyoming is spoken, if it is."""
    service = Service(settings, pipeline, clock, encoder, refiner, after_load, count_workers)
    connections = _create_connections(settings, wyoming=wyoming_socket is not None)
    budget = InputBudget(settings.max_input_bytes)
    dialogue_voices = DialogueVoices(service.voices, service.voice_settings, service.dictionaries)
    dependencies = SessionDependencies(
        service.pipeline,
        service.scheduler,
        service.admission,
        service.metrics,
        service.voices,
        service.voice_settings,
        dialogue_voices,
        service.dictionaries,
        service.verifier,
        connections,
        budget,
        settings.max_characters,
    )
    wyoming = wyoming_socket and WyomingServer(
        wyoming_socket,
        dependencies,
        service.voices,
        service.lifecycle,
        WyomingLimits(settings.stall_seconds, settings.shutdown_seconds),
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with service.open():
            async with service.working(), wyoming.running() if wyoming else nullcontext():
                yield
            await connections.close(settings.shutdown_seconds)
            if wyoming:
                await wyoming.close()

    app = FastAPI(
        title="svc",
        version=__version__,
        lifespan=lifespan,
        strict_content_type=False,
        responses=errors.RESPONSES,
        docs_url=None,  # `pages` serves them, with nothing from other servers
        redoc_url=None,
        # FastAPI's own spans hold paths and queries, and so credentials and the names of voices: see
        # `svc.observability.telemetry`.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    _add_routes(app, settings, service, dependencies, dialogue_voices, connections)
    errors.add_error_handlers(app)
    if not service.verifier.open:
        authentication.describe_security(app)
    tracer = service.telemetry.tracer if service.telemetry else None
    middleware = list_middleware(
        settings,
        RouteTemplates(app.routes),
        service.verifier,
        service.admission,
        budget,
        service.lifecycle,
        service.metrics,
        tracer,
    )
    app.user_middleware.extend(middleware)
    app.state.lifecycle = service.lifecycle  # for the server, which begins the shutdown
    app.state.connections = connections  # for the server, which drains them before it closes
    app.state.input_budget = budget  # for the server, which receives the messages of sockets
    return app


def _create_connections(settings: Settings, *, wyoming: bool) -> Connections:
    """Wyoming, which knows no keys, has a quarter of the places for itself, and a key three quarters of the others."""
    of_wyoming = math.ceil(_WYOMING_SHARE * settings.max_sockets) if wyoming else 0
    of_keys = max(1, settings.max_sockets - of_wyoming)
    share = _KEY_SHARE if settings.has_several_keys() else 1.0
    key_limit = settings.key_max_sockets or math.ceil(share * of_keys)
    return Connections({WEBSOCKET: of_keys, WYOMING: of_wyoming}, key_limit)


def _add_routes(
    app: FastAPI,
    settings: Settings,
    service: Service,
    dependencies: SessionDependencies,
    dialogue_voices: DialogueVoices,
    connections: Connections,
) -> None:
    voices, voice_settings, queue = service.voices, service.voice_settings, service.refinement_queue
    synthesis = HttpSynthesis(
        service.pipeline, service.scheduler, service.admission, service.metrics, settings.max_characters
    )
    aliases = split_words(settings.model_aliases)
    state = metrics_api.ServiceState(
        service.pipeline,
        service.scheduler,
        connections,
        service.custom_voices,
        service.voice_sync,
        service.dictionaries,
        service.dictionary_sync,
        service.supervisor.states,
    )
    state.register(service.metrics.registry)
    for router in (
        health.router(
            service.scheduler,
            service.supervisor,
            service.voice_sync,
            service.dictionary_sync,
            service.lifecycle,
            settings.is_exposed,
        ),
        metrics_api.router(service.metrics.registry),
        speech.router(synthesis, voices, voice_settings, service.dictionaries),
        dialogue.router(synthesis, dialogue_voices),
        openai.router(synthesis, voices, voice_settings, aliases),
        realtime.router(dependencies, service.lifecycle),
        voices_api.router(voices, voice_settings, queue),
        cloning.router(service.cloner, voices, voice_settings, queue),
        mixing.router(service.mixer, voices, voice_settings, queue),
        dictionaries.router(service.dictionaries),
        previews.router(service.previews, voices),
        models.router(aliases, settings.max_characters),
        account.router(),
        tokens.router(service.tokens),
    ):
        app.include_router(router)
    pages.add_pages(app, DocsSite(find_docs_folder()), settings.is_exposed)
    not_offered.add_not_found(app)
