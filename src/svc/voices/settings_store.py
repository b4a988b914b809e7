"""The settings that people gave to voices: one small file, whole after a crash."""

import json
from dataclasses import asdict
from pathlib import Path
from threading import Lock

from svc import atomic_files
from svc.voices.settings import VoiceSettings


class VoiceSettingsStore:
    """A voice's own settings, or the default ones."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "voice-settings.json"
        self._lock = Lock()
        stored = json.loads(self._file.read_text()) if self._file.exists() else {}
        self._settings = {voice_id: VoiceSettings(**fields) for voice_id, fields in stored.items()}

    def get(self, voice_id: str) -> VoiceSettings:
        return self._settings.get(voice_id, VoiceSettings())

    def set(self, voice_id: str, settings: VoiceSettings) -> None:
        with self._lock:
            changed = {**self._settings, voice_id: settings}
            self._write({voice_id: asdict(each) for voice_id, each in changed.items()})
            self._settings = changed

    def forget(self, voice_id: str) -> None:
        """A removed voice leaves no settings behind."""
        with self._lock:
            if voice_id in self._settings:
                changed = {known: each for known, each in self._settings.items() if known != voice_id}
                self._write({known: asdict(each) for known, each in changed.items()})
                self._settings = changed

    def _write(self, content: dict[str, dict[str, object]]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        atomic_files.write(self._file, json.dumps(content, indent=2).encode())
