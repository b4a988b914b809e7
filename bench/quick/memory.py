"""How much memory does a server need after loading and over many requests, and does it grow?"""

import random
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import track

from bench import options, sentences, server
from bench.report import Report
from svc.text.language.languages import Language

BAR_MEGABYTES = 1200
GROWTH_BAR = 0.05  # megabytes per request over the second half; smaller slopes are allocator noise

_VOICES = {
    Language.ENGLISH_US: ("af_heart", "am_puck"),
    Language.ENGLISH_GB: ("bf_emma", "bm_lewis"),
    Language.SPANISH: ("ef_dora", "em_alex"),
    Language.FRENCH: ("ff_siwis",),
    Language.HINDI: ("hf_beta", "hm_omega"),
    Language.ITALIAN: ("if_sara", "im_nicola"),
    Language.JAPANESE: ("jf_alpha", "jm_kumo"),
    Language.PORTUGUESE_BR: ("pf_dora", "pm_alex"),
    Language.MANDARIN: ("zf_xiaoni", "zm_yunxi"),
}
_FORMATS = ("mp3_44100_128", "mp3_22050_32", "pcm_16000", "pcm_24000", "ulaw_8000", "opus_48000_64", "wav_44100")
_WITHOUT_PAUSE = "the old bridge was closed for repairs and nobody could cross the river " * 20
_ROW_EVERY = 100


def main(
    requests: Annotated[int, typer.Option(help="Number of requests.", min=20)] = 500,
    whole: Annotated[float, typer.Option(help="Share of whole sentences; the rest are one to six words.")] = 0.1,
    output: options.Output = None,
) -> None:
    """Resident memory after loading and over the requests, and its slope over their second half."""
    rng = random.Random(0)  # the same requests each time
    languages = [language for language in Language if language is language.base]
    texts = {language: [sentence.text for sentence in sentences.read(language)] for language in languages}
    with server.run_server() as svc:

        def request(voice: str, output_format: str, body: dict[str, Any]) -> None:
            for _ in svc.stream(voice, output_format, body):
                pass
            sizes.append(svc.resident_megabytes())

        sizes = [svc.resident_megabytes()]
        for _ in track(range(requests), "requesting"):
            language = rng.choice(languages)
            text = rng.choice(texts[language])
            if rng.random() >= whole:
                text = _cut_words(text, language, rng)
            body = {"text": text, "language_code": language, "voice_settings": {"speed": rng.uniform(0.8, 1.2)}}
            request(rng.choice(_VOICES[language]), rng.choice(_FORMATS), body)
        # The largest utterance: slow speech without a pause.
        request("af_heart", "mp3_44100_128", {"text": _WITHOUT_PAUSE, "voice_settings": {"speed": 0.5}})
    *sizes, without_pause = sizes
    second_half = sizes[len(sizes) // 2 :]
    growth = float(np.polyfit(range(len(second_half)), second_half, 1)[0])
    report = Report(
        "memory",
        f"Resident memory over {requests} requests in nine languages and {len(_FORMATS)} formats",
        ["after requests", "megabytes"],
        [[str(done), f"{sizes[done]:.0f}"] for done in sorted({*range(0, requests + 1, _ROW_EVERY), requests})],
        [
            f"Peak {max(sizes):.0f} MB (bar: below {BAR_MEGABYTES}); over the second half {growth:+.3f} MB a request "
            f"(bar: below {GROWTH_BAR}). After 90 s of slow speech without a pause: {without_pause:.0f} MB."
        ],
        {
            "megabytes": [round(size, 1) for size in sizes],
            "megabytes_a_request_in_the_second_half": round(growth, 4),
            "breathless": round(without_pause, 1),
        },
    )
    report.show()
    report.save(output)


def _cut_words(text: str, language: Language, rng: random.Random) -> str:
    count = rng.randint(1, 6)
    if language in (Language.JAPANESE, Language.MANDARIN):
        return text[: 2 * count]
    return " ".join(text.split()[:count])


if __name__ == "__main__":
    typer.run(main)
