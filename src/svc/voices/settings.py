"""`voice_settings`: what each slider changes in the synthesis, and the settings stored for voices."""

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from svc.audio.equalizer import SpectralEnvelope
from svc.auth.keys import ANYONE, Principal
from svc.engine.protocol import Delivery, StyleTable
from svc.errors import StorageUnavailable
from svc.process.tasks import Supervisor, describe_error
from svc.storage import atomic_files
from svc.text.language.languages import Language
from svc.voices.built_in import STYLE
from svc.voices.catalogue import Voice
from svc.voices.parameters import Vector

log = logging.getLogger(__name__)

SLOWEST, FASTEST = 0.5, 2.0
"""The range of the slider."""
SLOWEST_SPEECH, FASTEST_SPEECH = 0.25, 4.0
"""The range that other interfaces may ask for."""

# The engine's own range: beyond it words blur, and it does not get much faster. The rest is done by stretching the
# audio: at twice the speed Whisper then mishears 2 % of the words instead of 15 to 20 %, at a quarter 7 % instead of
# 49 %.
_ENGINE_SPEEDS = 0.5, 1.0
_POLL_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class VoiceSettings:
    """Sliders from 0 to 1, and the speed. The defaults leave the voice as it is."""

    stability: float = 0.5
    """How steady the melody is: lower is livelier, higher is calmer."""
    similarity_boost: float = 0.75
    """How much of its own timbre a voice keeps: lower is nearer to the mean voice of its gender."""
    style: float = 0.0
    """Exaggeration: how much wider the pitch range is."""
    use_speaker_boost: bool = True
    """Off is a little nearer to the mean voice."""
    speed: float = 1.0

    def clamp(self) -> "VoiceSettings":
        """The same settings within their ranges."""
        return VoiceSettings(
            stability=_clamp_slider(self.stability),
            similarity_boost=_clamp_slider(self.similarity_boost),
            style=_clamp_slider(self.style),
            use_speaker_boost=self.use_speaker_boost,
            speed=min(max(self.speed, SLOWEST_SPEECH), FASTEST_SPEECH),
        )

    def clamp_sliders(self) -> "VoiceSettings":
        """The same, with the speed within the range of its slider."""
        return replace(self.clamp(), speed=min(max(self.speed, SLOWEST), FASTEST))

    def delivery(self, seed: int | None) -> Delivery:
        settings = self.clamp()
        liveliness: float = 2.0 ** (0.5 - settings.stability)
        exaggeration = 1.0 + 0.4 * settings.style
        return Delivery(speed=self.split_speed()[0], pitch_range=liveliness * exaggeration, seed=seed)

    def split_speed(self, rate: float = 1.0) -> tuple[float, float]:
        """How fast the engine speaks, and by how much its speech is sped up; `rate` is a factor on the speed."""
        speed = min(max(self.speed * rate, SLOWEST_SPEECH), FASTEST_SPEECH)
        slowest, fastest = _ENGINE_SPEEDS
        engine_speed = min(max(speed, slowest), fastest)
        return engine_speed, speed / engine_speed

    # `similarity_boost` scales all that sets a voice apart from the mean voice: its timbre and, of a clone, its layer
    # offsets, vocoder embedding and equalizer gains. The melody is not a matter of similarity.

    def style_table(self, voice: Voice, language: Language) -> StyleTable:
        strength, full = self._strength(), voice.style_in(language)
        if strength == 1.0:
            return full
        style = full.copy()
        timbre = slice(0, STYLE)
        style[:, timbre] = voice.neutral[:, timbre] + strength * (full - voice.neutral)[:, timbre]
        return style

    def layer_offsets(self, voice: Voice, language: Language) -> Vector:
        return np.float32(self._strength()) * voice.layer_offsets_in(language)

    def vocoder_embedding(self, voice: Voice) -> Vector:
        return np.float32(self._strength()) * voice.vocoder_embedding

    def mask_offset(self, voice: Voice) -> Vector:
        return np.float32(self._strength()) * voice.mask_offset

    def equalizer_gains(self, voice: Voice) -> SpectralEnvelope:
        return np.float32(self._strength()) * voice.equalizer_gains

    def _strength(self) -> float:
        """The factor of what sets the voice apart from the mean voice."""
        strength = 0.6 + 0.4 * _clamp_slider(self.similarity_boost) / 0.75
        return strength if self.use_speaker_boost else strength - 0.1


def _clamp_slider(value: float) -> float:
    return min(max(value, 0.0), 1.0)


class VoiceSettingsStore:
    """The settings of each voice, in one file that is written atomically; voices without any have the defaults.

    What a key edits is heard by that key alone, under the name `key id/voice id`. Under the voice id alone is what all
    others hear: the edits of a custom voice by its owner, and those on a server without keys.

    Safe to use from several threads and processes. What this release does not know in the file is kept there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "voice-settings.json"
        self._signature: tuple[int, int] | None = None
        self._settings: dict[str, VoiceSettings] = {}
        self._lock = Lock()
        try:
            self.refresh()
        except (OSError, StorageUnavailable) as error:
            log.error("the settings of voices cannot be read, which have the defaults now: %s", describe_error(error))

    def get(self, voice: Voice, caller: Principal) -> VoiceSettings:
        own = self._settings.get(_name_entry(voice, caller))
        return own or self._settings.get(voice.voice_id, VoiceSettings())

    def running(self, supervisor: Supervisor) -> AbstractAsyncContextManager[None]:
        """Polls for changes by other servers that share the folder."""

        async def refresh() -> None:
            await asyncio.to_thread(self.refresh)

        return supervisor.repeating("voice_settings", refresh, _POLL_SECONDS, expected=(OSError, StorageUnavailable))

    def refresh(self) -> None:
        """Reads the file if it changed. A damaged one is set aside."""
        with self._lock:
            if (signature := self._sign()) == self._signature:
                return
            try:
                self._adopt(_parse(atomic_files.read(self._file)) if signature else {}, signature)
                return
            except FileNotFoundError:  # set aside by another process at this moment: the next refresh sees it
                return
            except (ValueError, atomic_files.NotAFile):
                pass
        with self._locked():  # reads it again: it may have been replaced by an intact one
            pass

    def edit(self, voice: Voice, caller: Principal, change: Callable[[VoiceSettings], VoiceSettings]) -> VoiceSettings:
        """Replaces the settings of a voice by what `change` makes of them, one edit at a time."""
        entry = _name_entry(voice, caller)
        with self._locked() as stored:
            known = stored.get(entry, stored.get(voice.voice_id))
            settings = change(_parse_settings(known))
            kept = known if isinstance(known, dict) else {}
            self._write({**stored, entry: {**kept, **asdict(settings)}})
            return settings

    def forget(self, voice_id: str) -> None:
        """Deletes all settings of a removed voice. If that fails they stay, and nothing uses them."""
        if not any(_is_of(entry, voice_id) for entry in self._settings):
            return
        with suppress(StorageUnavailable), self._locked() as stored:
            self._write({entry: each for entry, each in stored.items() if not _is_of(entry, voice_id)})

    def _write(self, stored: dict[str, Any]) -> None:
        """Writes the file first: if that fails, the settings in memory stay as they were."""
        atomic_files.write(self._file, json.dumps(stored, indent=2).encode())
        self._adopt(stored, self._sign())

    def _adopt(self, stored: dict[str, Any], signature: tuple[int, int] | None) -> None:
        self._settings = {voice_id: _parse_settings(fields) for voice_id, fields in stored.items()}
        self._signature = signature

    def _sign(self) -> tuple[int, int] | None:
        """Changes with the file; None without one."""
        try:
            state = self._file.stat()
        except FileNotFoundError:
            return None
        return state.st_mtime_ns, state.st_ino

    @contextmanager
    def _locked(self) -> Iterator[dict[str, Any]]:
        """One change at a time; yields what the file says."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._lock, atomic_files.hold_lock(self._folder / ".voice-settings.lock"):
                yield self._read()
        except OSError as error:
            log.error("the settings of voices cannot be stored in %s: %s", self._folder, error)
            raise StorageUnavailable(str(error)) from error

    def _read(self) -> dict[str, Any]:
        signature = self._sign()
        if signature is None:
            stored = {}
        else:
            try:
                stored = _parse(atomic_files.read(self._file))
            except (ValueError, atomic_files.NotAFile) as problem:
                aside = atomic_files.set_aside(self._file)
                log.error("the settings of voices are damaged and kept as %s: %s", aside, problem)
                stored, signature = {}, None
        self._adopt(stored, signature)
        return stored


def _name_entry(voice: Voice, caller: Principal) -> str:
    """Where the settings are that this caller edits."""
    for_all = caller == ANYONE or (voice.custom is not None and voice.custom.may_be_changed_by(caller))
    return voice.voice_id if for_all else f"{caller.key_id}/{voice.voice_id}"


def _is_of(entry: str, voice_id: str) -> bool:
    return entry.rpartition("/")[2] == voice_id


def _parse(content: bytes) -> dict[str, Any]:
    """Raises `ValueError` on anything but a JSON object."""
    try:
        stored = json.loads(content)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(stored, dict):
        raise ValueError("it is no JSON object")
    return stored


def _parse_settings(fields: Any) -> VoiceSettings:
    """A field of a wrong type counts as not given, and one of another release is ignored."""
    given = fields if isinstance(fields, dict) else {}
    defaults = asdict(VoiceSettings())
    known = {name: given[name] for name in defaults if name in given and _is_like(given[name], defaults[name])}
    return VoiceSettings(**known).clamp_sliders()


def _is_like(value: Any, default: bool | float) -> bool:
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(value, bool) and isinstance(default, bool)
    return isinstance(value, int | float) and abs(value) < 1e9  # NaN fails the comparison, too
