"""Who speaks in a dialogue, and how: the same over HTTP and on sockets."""

from collections.abc import Iterable, Sequence

from svc.api.speech.dialogue_schemas import DialogueSettings
from svc.auth.keys import Principal
from svc.dictionaries.catalogue import Dictionaries, Locator
from svc.synthesis.request import SynthesisRequest
from svc.text.language.languages import Language
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.settings import VoiceSettingsStore


class DialogueVoices:
    def __init__(self, voices: VoiceCatalogue, voice_settings: VoiceSettingsStore, dictionaries: Dictionaries) -> None:
        self._voices = voices
        self._dictionaries = dictionaries
        self._voice_settings = voice_settings

    def resolve(
        self,
        voice_ids: Iterable[str],
        caller: Principal,
        settings: DialogueSettings | None,
        language_code: str | None,
        seed: int | None,
        locators: Sequence[Locator],
    ) -> dict[str, SynthesisRequest]:
        """For each id a request without a text. Raises `VoiceNotFound` for an unknown id in strict mode."""
        rules = self._dictionaries.resolve_locators(locators)
        requests = {}
        for voice_id in voice_ids:
            voice = self._voices.resolve(voice_id, caller)
            own = self._voice_settings.get(voice, caller)
            requests[voice_id] = SynthesisRequest(
                "",
                voice,
                settings.apply_to(own) if settings else own,
                Language.parse(language_code, voice.language) if language_code else None,
                seed,
                rules=rules,
            )
        return requests
