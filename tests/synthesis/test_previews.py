"""Previews: made once, one at a time, behind live requests, and again with other weights."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from svc.engine.fake import FakeEngine
from svc.engine.protocol import Chunk, Utterance
from svc.errors import ModelLoading, PreviewsBusy
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.previews import Previews
from svc.synthesis.scheduler import Scheduler
from svc.text.g2p import Phonemizer
from svc.voices.catalogue import Voice, VoiceCatalogue
from tests.voices.examples import make_voice


class Engine(FakeEngine):
    """Counts what it speaks, and waits before each utterance until it may."""

    def __init__(self, fingerprint: str = "1") -> None:
        super().__init__()
        self.fingerprint = fingerprint
        self.utterances = 0
        self.may_speak = threading.Event()
        self.may_speak.set()

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        self.may_speak.wait(60)
        self.utterances += 1
        yield from super().synthesize(utterance)


@asynccontextmanager
async def running(engine: Engine, phonemizer: Phonemizer, folder: Path) -> AsyncIterator[tuple[Previews, Scheduler]]:
    pipeline = Pipeline(engine, phonemizer)
    scheduler = Scheduler(pipeline.load)
    previews = Previews(pipeline, scheduler, folder)
    scheduler.start()
    while True:
        with suppress(ModelLoading):
            scheduler.require_ready()
            break
        await asyncio.sleep(0.01)
    try:
        yield previews, scheduler
    finally:
        engine.may_speak.set()
        await scheduler.close()


def list_files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def remove_files(folder: Path) -> None:
    for each in folder.iterdir():
        each.unlink()


@pytest.fixture
def custom(voices: VoiceCatalogue) -> Voice:
    return voices.build_custom(make_voice())


def test_one_preview_for_many_callers(
    phonemizer: Phonemizer, voices: VoiceCatalogue, custom: Voice, tmp_path: Path
) -> None:
    async def main() -> None:
        engine = Engine()
        async with running(engine, phonemizer, tmp_path) as (previews, _):
            for voice in (voices.find("af_heart"), custom):
                before = engine.utterances
                alone = await previews.get(voice)
                needed = engine.utterances - before
                assert alone
                remove_files(tmp_path)
                previews._kept.clear()
                assert set(await asyncio.gather(*(previews.get(voice) for _ in range(20)))) == {alone}
                assert engine.utterances == before + 2 * needed
                assert await previews.get(voice) == alone
                assert engine.utterances == before + 2 * needed

    asyncio.run(main())


def test_too_many_are_refused_and_callers_that_leave_make_room(
    phonemizer: Phonemizer, voices: VoiceCatalogue, tmp_path: Path
) -> None:
    async def main() -> None:
        engine = Engine()
        async with running(engine, phonemizer, tmp_path) as (previews, _):
            engine.may_speak.clear()
            first, *others = list(voices)[:9]
            waiting = [asyncio.create_task(previews.get(voice)) for voice in (first, *others[:7])]
            await asyncio.sleep(0.2)
            with pytest.raises(PreviewsBusy):
                await previews.get(others[7])
            again = asyncio.create_task(previews.get(first))  # it is being made already: no further place
            await asyncio.sleep(0.1)
            for each in waiting[1:]:
                each.cancel()
            await asyncio.gather(*waiting[1:], return_exceptions=True)
            waiting[0].cancel()  # the other caller still waits for it
            last = asyncio.create_task(previews.get(others[7]))
            await asyncio.sleep(0.1)
            engine.may_speak.set()
            assert await again
            assert await last
            assert len(list_files(tmp_path)) == 2

    asyncio.run(main())


def test_previews_are_made_again_with_other_weights(
    phonemizer: Phonemizer, voices: VoiceCatalogue, tmp_path: Path
) -> None:
    async def main(fingerprint: str) -> int:
        engine = Engine(fingerprint)
        async with running(engine, phonemizer, tmp_path) as (previews, _):
            await previews.get(voices.find("af_heart"))
            await previews.get(voices.find("af_bella"))
        assert len(list_files(tmp_path)) == 2
        return engine.utterances

    counts = [asyncio.run(main(fingerprint)) for fingerprint in ("1", "1", "2")]
    assert counts[0] == counts[2] > counts[1] == 0


def test_previews_of_custom_voices_follow_their_revision_and_are_bounded(
    phonemizer: Phonemizer, voices: VoiceCatalogue, custom: Voice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        engine = Engine()
        async with running(engine, phonemizer, tmp_path) as (previews, _):
            clip = await previews.get(custom)
            monkeypatch.setattr("svc.synthesis.previews._MAX_KEPT_BYTES", 2.5 * len(clip))
            assert custom.custom
            known = custom.custom
            for _ in range(3):
                before = engine.utterances
                assert await previews.get(voices.build_custom(known)) == clip
                assert engine.utterances == before, "it is kept"
                known = known.revise()
                await previews.get(voices.build_custom(known))
                assert engine.utterances > before, "it is made anew"
            for _ in range(4):
                await previews.get(voices.build_custom(make_voice()))
            assert sum(map(len, previews._kept.values())) <= 2.5 * len(clip)
            assert not list_files(tmp_path)

    asyncio.run(main())


def test_a_disk_that_cannot_be_written_costs_only_the_cache(
    phonemizer: Phonemizer, voices: VoiceCatalogue, tmp_path: Path
) -> None:
    async def main() -> None:
        (tmp_path / "previews").write_text("not a folder")
        async with running(Engine(), phonemizer, tmp_path / "previews") as (previews, _):
            assert await previews.get(voices.find("af_heart"))

    asyncio.run(main())
