"""`GET /previews/{voice_id}.mp3`: a voice introduces itself. Public, as an <audio> element can send no key."""

from contextlib import aclosing
from pathlib import Path
from uuid import uuid4

from fastapi import APIRouter, Response

from svc.audio import formats
from svc.scheduler import Scheduler
from svc.speech import AudioPart, Speech, SpeechRequest, clip
from svc.text.language import Language
from svc.voices import Voices

_FORMAT = formats.find("mp3_44100_64")
_TEXTS = {
    Language.ENGLISH_US: "Hello! This is how I sound. Give me a text, and I will read it to you.",
    Language.ENGLISH_GB: "Hello! This is how I sound. Give me a text, and I will read it to you.",
    Language.SPANISH: "¡Hola! Así es como sueno. Dame un texto y te lo leeré.",
    Language.FRENCH: "Bonjour ! Voici ma voix. Donnez-moi un texte, et je vous le lirai.",
    Language.HINDI: "नमस्ते! मेरी आवाज़ ऐसी है। मुझे कोई पाठ दीजिए, मैं उसे पढ़ दूँगी।",
    Language.ITALIAN: "Ciao! Ecco la mia voce. Dammi un testo e te lo leggerò.",
    Language.JAPANESE: "こんにちは。これが私の声です。文章をいただければ、お読みします。",
    Language.PORTUGUESE_BR: "Olá! Esta é a minha voz. Me dê um texto e eu o lerei para você.",
    Language.MANDARIN: "你好！这就是我的声音。给我一段文字，我来读给你听。",
}


def router(speech: Speech, scheduler: Scheduler, voices: Voices, cache: Path) -> APIRouter:
    router = APIRouter(prefix="/previews", tags=["voices"])

    @router.get("/{voice_id}.mp3", response_class=Response)
    async def preview(voice_id: str) -> Response:
        """A few words by the voice, made once and then kept."""
        voice = voices.find(voice_id)
        file = cache / f"{voice.voice_id}-{speech.engine_name}.mp3"
        if not file.exists():
            request = SpeechRequest(_TEXTS[voice.language], voice)
            latest = AudioPart()
            work = clip(speech.speak(request), _FORMAT, speech.sample_rate, request.text)
            async with aclosing(scheduler.stream(work)) as parts:
                async for part in parts:
                    latest = part
            _keep(file, latest.audio)
        return Response(file.read_bytes(), media_type=_FORMAT.content_type)

    return router


def _keep(file: Path, audio: bytes) -> None:
    """Beside its place first, under a name of its own: two may be making the same one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_suffix(f".{uuid4().hex}")
    beside.write_bytes(audio)
    beside.replace(file)
