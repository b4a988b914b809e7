"""The memory of a real server: with the engine loaded, and over many requests of every kind."""

import random
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import track

from bench import options, sentences, server
from bench.report import Report
from svc.text.language import Language

BAR_MEGABYTES = 1200
GROWTH_BAR = 0.05  # megabytes a request over the second half: what is left is the allocator's noise

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
_BREATHLESS = "the old bridge was closed for repairs and nobody could cross the river " * 20
_EVERY = 100


def main(
    requests: Annotated[int, typer.Option(help="How many.", min=20)] = 500,
    whole: Annotated[float, typer.Option(help="The share of whole sentences; the rest are one to six words.")] = 0.1,
    output: options.Output = None,
) -> None:
    """Resident memory after loading and over the requests, and how much it still grows over their second half."""
    chance = random.Random(0)  # the same requests each time
    texts = {language: [sentence.text for sentence in sentences.read(language)] for language in Language}
    with server.running() as svc:

        def ask(voice: str, output_format: str, body: dict[str, Any]) -> None:
            for _ in svc.stream(voice, output_format, body):
                pass
            sizes.append(svc.resident_megabytes())

        sizes = [svc.resident_megabytes()]
        for _ in track(range(requests), "asking"):
            language = chance.choice(list(Language))
            text = chance.choice(texts[language])
            if chance.random() >= whole:
                text = _few_words(text, language, chance)
            body = {"text": text, "language_code": language, "voice_settings": {"speed": chance.uniform(0.8, 1.2)}}
            ask(chance.choice(_VOICES[language]), chance.choice(_FORMATS), body)
        # The hardest to hold in memory: the slowest speech, without a pause for breath.
        ask("af_heart", "mp3_44100_128", {"text": _BREATHLESS, "voice_settings": {"speed": 0.5}})
    *sizes, breathless = sizes
    second_half = sizes[len(sizes) // 2 :]
    growth = float(np.polyfit(range(len(second_half)), second_half, 1)[0])
    report = Report(
        "memory",
        f"Resident memory over {requests} requests in nine languages and {len(_FORMATS)} formats",
        ["after requests", "megabytes"],
        [[str(done), f"{sizes[done]:.0f}"] for done in sorted({*range(0, requests + 1, _EVERY), requests})],
        [
            f"Peak {max(sizes):.0f} MB (bar: below {BAR_MEGABYTES}); over the second half {growth:+.3f} MB a request "
            f"(bar: below {GROWTH_BAR}). After a minute and a half of slow speech without a pause: {breathless:.0f} MB."
        ],
        {
            "megabytes": [round(size, 1) for size in sizes],
            "megabytes_a_request_in_the_second_half": round(growth, 4),
            "breathless": round(breathless, 1),
        },
    )
    report.show()
    report.save(output)


def _few_words(text: str, language: Language, chance: random.Random) -> str:
    count = chance.randint(1, 6)
    if language in (Language.JAPANESE, Language.MANDARIN):
        return text[: 2 * count]
    return " ".join(text.split()[:count])


if __name__ == "__main__":
    typer.run(main)
