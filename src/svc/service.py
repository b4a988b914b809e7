"""The parts of the service, made from the settings and joined together; none of them knows the web."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext, suppress

from svc.admission.admission import Admission, Limits
from svc.admission.shared import SharedLimits
from svc.auth.housekeeping import Housekeeping
from svc.auth.keys import KeyLimits, Quota, StaticKeys
from svc.auth.table import KeysTable
from svc.auth.tokens import Tokens
from svc.auth.verifier import Verifier
from svc.cloning.cloner import VoiceCloner
from svc.cloning.gradients import GradientRefiner, VoiceRefiner
from svc.cloning.loudness_worker import LoudnessWorker
from svc.cloning.mixer import VoiceMixer
from svc.cloning.refinement import RefinementWorker
from svc.cloning.refinement_queue import RefinementQueue
from svc.cloning.speaker_encoder import BuiltInEmbeddings, OnnxSpeakerEncoder, SpeakerEncoder
from svc.cloning.trial import LoadSpeakerEncoder, TrialSynthesis
from svc.dictionaries.catalogue import Dictionaries
from svc.dictionaries.store import DictionaryStore
from svc.dictionaries.sync import DictionarySync
from svc.engine.fake import FakeEngine
from svc.engine.protocol import Engine
from svc.engine.turbo import TurboEngine
from svc.errors import SvcError, VoiceNotFound
from svc.observability.event_loop import EventLoopMonitor
from svc.observability.metrics import Metrics
from svc.observability.telemetry import create_telemetry
from svc.process.lifecycle import Lifecycle
from svc.process.tasks import Supervisor
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.previews import Previews
from svc.synthesis.scheduler import Scheduler
from svc.text.g2p import Phonemizer
from svc.voices.built_in import load_built_in_voices
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.custom_voices import CustomVoices
from svc.voices.object_store import open_object_store
from svc.voices.settings import VoiceSettingsStore
from svc.voices.store import VoiceStore
from svc.voices.sync import VoiceSync

log = logging.getLogger(__name__)

log = logging.getLogger(__name__)

EXPOSED = (
    "this server is OPEN. It needs no key, so whoever can reach it can speak, clone and remove voices.\n"
    "  Set SVC_API_KEY, SVC_API_KEYS or SVC_API_KEYS_TABLE, or listen on 127.0.0.1 only."
)

# One process cannot encode and send the audio of more.
_MAX_REMOTE_WORKERS = 256
# Utterances that a worker elsewhere may have at a time: the queue there knows all servers, and so it decides who waits.
# With two, four replicas behind four servers spoke 4 % less than with eight.
_REMOTE_TURNS = 8
_WORKERS_SECONDS = 2.0
_REMOTE_ENGINE_SECONDS = 30.0


class Service:
    def __init__(
        self,
        settings: Settings,
        pipeline: Pipeline | None = None,
        clock: Callable[[], float] = time.time,
        encoder: LoadSpeakerEncoder | None = None,
        refiner: Callable[[], VoiceRefiner] | None = None,
        after_load: Callable[[], None] = lambda: None,
        count_workers: Callable[[], Awaitable[int]] | None = None,
    ) -> None:
        """Tests pass in another `pipeline`, `clock`, `encoder` or `refiner`.

        `after_load` is called in a thread once the engine is loaded. `count_workers` tells how many workers an engine
        has that is elsewhere; it is asked again and again.
        """
        self._settings, self._count_workers = settings, count_workers
        self.lifecycle = Lifecycle()
        self.supervisor = Supervisor()
        self.metrics = Metrics()
        self.telemetry = create_telemetry(self.metrics.registry)
        self._event_loop_monitor = EventLoopMonitor(self.metrics.event_loop_stall_seconds.observe)
        self.metrics.event_loop_stall_max_seconds.set_function(self._event_loop_monitor.longest)

        self.pipeline = pipeline or create_pipeline(settings)
        self.scheduler = self._create_scheduler(after_load)

        keys_table = create_keys_table(settings)
        static_keys = StaticKeys(settings.static_keys())
        self.tokens = Tokens(static_keys, keys_table, clock)
        self._housekeeping = Housekeeping(keys_table, clock)
        self.verifier = Verifier(
            static_keys,
            keys_table,
            clock=clock,
            cache_seconds=settings.keys_cache_seconds,
            grace_seconds=settings.keys_grace_seconds,
            note_use=self._housekeeping.note_use,
        )
        self._shared_limits = SharedLimits(settings.redis_url.get_secret_value() if settings.redis_url else None)
        several_keys = settings.has_several_keys()
        self.admission = create_admission(settings, self._shared_limits, self.scheduler, self.metrics, several_keys)

        self.voices = create_catalogue(settings)
        self.pipeline.find_voice = self.voices.find_common
        self.voice_settings = VoiceSettingsStore(settings.data_dir)
        self.custom_voices = create_custom_voices(settings, self.voices)
        self.custom_voices.load()
        check_default_voice(settings, self.voices)
        self.voice_sync = create_voice_sync(settings, self.custom_voices)
        self.dictionaries = create_dictionaries(settings)
        self.dictionaries.load()
        self.dictionary_sync = create_dictionary_sync(settings, self.dictionaries)
        self.previews = Previews(self.pipeline, self.scheduler, settings.cache_dir / "previews")

        if encoder is None and settings.engine == "turbo":  # the gradients are those of its networks
            refiner = refiner or GradientRefiner.load
        self._trial = TrialSynthesis(encoder or load_speaker_encoder, self.pipeline, self.scheduler, self.voices)
        self.refinement_queue = create_refinement_queue(settings)
        self._refinement_worker = RefinementWorker(
            self.refinement_queue,
            self._trial,
            self.custom_voices,
            refiner,
            refine_earlier=settings.refine_voices and refiner is not None,
        )
        self.cloner = create_cloner(
            settings, self._trial, self.voices, self.custom_voices, self.refinement_queue, self.metrics
        )
        self.mixer = VoiceMixer(self.voices, self.custom_voices, create_voice_quota(settings))
        self._loudness_worker = LoudnessWorker(
            self._trial, self.voices, self.custom_voices, settings.data_dir / "voices/.loudness"
        )
        self.pipeline.note_language = self._loudness_worker.note_language

    def _create_scheduler(self, after_load: Callable[[], None]) -> Scheduler:
        def load() -> None:
            self.pipeline.load()
            after_load()

        workers = self._settings.workers
        if self._count_workers:
            return Scheduler(load, self.metrics, workers, _MAX_REMOTE_WORKERS, turns=_REMOTE_TURNS)
        return Scheduler(load, self.metrics, workers)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """The engine is loaded meanwhile, and at the end what it has begun is finished."""
        if self._settings.is_exposed:
            log.warning("\n%s\n  WARNING: %s\n%s", "!" * 76, EXPOSED, "!" * 76)
        self.scheduler.start()
        self._trial.open()
        if self._count_workers:
            # The server listens after this: clients go to another one until this one can speak, unless none can.
            with suppress(TimeoutError, SvcError):
                await asyncio.wait_for(self.scheduler.wait_until_loaded(), _REMOTE_ENGINE_SECONDS)
        yield
        await self.scheduler.close()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """What is done in the background. Afterwards no voice is cloned any more."""
        tasks = self.supervisor
        async with (
            tasks.running("event_loop", self._event_loop_monitor.run),
            tasks.repeating("engine_workers", self._follow_workers, _WORKERS_SECONDS)
            if self._count_workers
            else nullcontext(),
            self.telemetry.running(tasks) if self.telemetry else nullcontext(),
            self._shared_limits.running(tasks),
            self._housekeeping.running(tasks),
            self.custom_voices.running(tasks),
            self.voice_settings.running(tasks),
            self._refinement_worker.running(tasks),
            self._loudness_worker.running(tasks),
            self.voice_sync.running(tasks) if self.voice_sync else nullcontext(),
            self.dictionaries.running(tasks),
            self.dictionary_sync.running(tasks) if self.dictionary_sync else nullcontext(),
        ):
            yield
        self.lifecycle.drain()
        await self._trial.close()

    async def _follow_workers(self) -> None:
        assert self._count_workers
        self.scheduler.resize(await self._count_workers())


def create_engine(settings: Settings) -> Engine:
    return FakeEngine() if settings.engine == "fake" else TurboEngine(settings.threads, settings.device)


def create_voices(settings: Settings) -> VoiceCatalogue:
    """The catalogue of built-in and custom voices."""
    voices = create_catalogue(settings)
    create_custom_voices(settings, voices).refresh()
    return voices


def create_catalogue(settings: Settings) -> VoiceCatalogue:
    """The catalogue of the built-in voices; custom voices are loaded into it."""
    private = settings.voice_sharing == "private"
    return VoiceCatalogue(load_built_in_voices(), settings.default_voice, settings.strict_voices, private)


def check_default_voice(settings: Settings, voices: VoiceCatalogue) -> None:
    """Raises unless SVC_DEFAULT_VOICE exists, or may be a custom voice that the mirror has yet to bring."""
    try:
        voices.find_default()
    except VoiceNotFound:
        if settings.voice_mirror is None or not settings.default_voice.startswith("custom"):
            reason = "It is SVC_DEFAULT_VOICE; `svc voices list` lists the voices."
            raise VoiceNotFound(settings.default_voice, reason) from None
        log.warning(
            "SVC_DEFAULT_VOICE=%s is not here; until the mirror brings it, %s speaks for unknown ids",
            settings.default_voice,
            voices.default.key,
        )


def create_custom_voices(settings: Settings, voices: VoiceCatalogue) -> CustomVoices:
    store = VoiceStore(settings.data_dir / "voices", track_uploads=settings.voice_mirror is not None)
    return CustomVoices(store, voices)


def create_voice_sync(settings: Settings, custom_voices: CustomVoices) -> VoiceSync | None:
    if settings.voice_mirror is None:
        return None
    object_store = open_object_store(settings.voice_mirror)
    return VoiceSync(object_store, custom_voices.store, custom_voices.refresh, settings.voice_mirror_seconds)


def create_voice_quota(settings: Settings) -> Quota:
    return Quota(settings.max_custom_voices, settings.key_max_voices)


def create_dictionaries(settings: Settings) -> Dictionaries:
    store, private = DictionaryStore(settings.data_dir / "dictionaries"), settings.voice_sharing == "private"
    return Dictionaries(store, Quota(settings.max_dictionaries, settings.key_max_dictionaries), private)


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
        quota=create_voice_quota(settings),
        keep_references=settings.keep_references,
        require_consent=settings.require_consent,
        refine=settings.refine_voices and settings.keep_references,
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
        clip_queue_seconds=settings.clip_queue_seconds,
        token_rate=settings.token_max_characters_per_minute,
    )


def create_keys_table(settings: Settings) -> KeysTable | None:
    if settings.api_keys_table is None:
        return None
    return KeysTable(settings.api_keys_table.get_secret_value())
