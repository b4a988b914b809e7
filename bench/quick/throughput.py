"""How many seconds of speech does one engine synthesise per second, for several threads at once, on SVC_DEVICE?"""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import typer

from bench import options, sentences
from bench.report import Report
from svc.engine.protocol import Utterance
from svc.service import create_engine, create_voices
from svc.settings import Settings
from svc.text.g2p import Phonemizer
from svc.text.language import Language


def main(
    streams: Annotated[list[int] | None, typer.Option(help="May be repeated; default: 1, 2, 4, 8 and 16.")] = None,
    seconds: Annotated[float, typer.Option(help="How long each number of streams is measured.")] = 5,
    output: options.Output = None,
) -> None:
    """Every stream synthesises the same paragraph again and again."""
    settings = Settings()
    engine = create_engine(settings)
    engine.load()
    style = create_voices(settings).find(sentences.VOICE).style
    utterances = [
        Utterance(each, style) for each in sentences.phonemize(Phonemizer(), sentences.PARAGRAPH, Language.ENGLISH_US)
    ]

    def synthesize_until(end: float) -> float:
        """The seconds of speech."""
        samples = 0
        while time.perf_counter() < end:
            samples += sum(len(chunk.samples) for utterance in utterances for chunk in engine.synthesize(utterance))
        return samples / engine.sample_rate

    synthesize_until(time.perf_counter() + 0.1)
    rates = {}
    for count in streams or (1, 2, 4, 8, 16):
        with ThreadPoolExecutor(count) as pool:
            began = time.perf_counter()
            speech = sum(pool.map(synthesize_until, [began + seconds] * count))
            rates[count] = speech / (time.perf_counter() - began)
    report = Report(
        "throughput",
        f"Throughput of SVC_ENGINE={settings.engine}, SVC_DEVICE={settings.device}",
        ["streams at once", "seconds of speech a second"],
        [[str(count), f"{rate:.1f}"] for count, rate in rates.items()],
        figures={"device": settings.device, "speech_a_second": rates},
    )
    report.show()
    report.save(output)


if __name__ == "__main__":
    typer.run(main)
