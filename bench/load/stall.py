"""How long does the event loop stall under heavy requests, seen from outside and by the server's own figure?"""

import asyncio
import base64
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.progress import track

from bench.load.client import VOICE, Incomplete, read_figures, request
from bench.load.listeners import listen, make_long_text, quantile
from bench.load.options import Options
from bench.load.processes import ServerProcess
from bench.report import Report
from bench.worker import ROOT
from svc.text.language.languages import Language
from svc.voices.built_in import STYLE
from svc.voices.custom_voice import CustomVoice, ReferenceMeasurements, StoredReference, new_id
from svc.voices.custom_voice import Report as CloneReport
from svc.voices.parameters import LAYERS, VoiceParameters
from svc.voices.store import VoiceStore

TITLE = "Event loop: the longest stall under heavy requests"
_CLONES, _QUICK_CLONES = 1_000, 100
_SECONDS, _QUICK_SECONDS = 20.0, 5.0
_BODY_BYTES = 15_000_000  # of recordings in one JSON body
_CHARACTERS = {"fake": 40_000, "turbo": 4_000}
_BAR = 0.02
_REFERENCE = b"no recording, but as large as one" * 10_000


def measure(options: Options) -> Report:
    seconds = _QUICK_SECONDS if options.quick else _SECONDS
    with TemporaryDirectory(prefix="svc-stall-") as folder:
        server = ServerProcess(Path(folder), options.engine, max_custom_voices=2 * _CLONES)
        _add_clones(server.data / "voices", _QUICK_CLONES if options.quick else _CLONES)
        server.start()
        poller = subprocess.Popen(
            [sys.executable, "-m", "bench.load.poll_health", str(server.port)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        try:
            stalls = asyncio.run(
                _run(server.address, _CHARACTERS[options.engine], seconds, lambda name: _begin(poller, name))
            )
            shown, _ = poller.communicate(timeout=90)
        finally:
            poller.kill()
            server.stop()
    return _make_report(options, json.loads(shown), stalls)


def _begin(poller: "subprocess.Popen[str]", section: str) -> None:
    assert poller.stdin
    poller.stdin.write(section + "\n")
    poller.stdin.flush()


def _make_report(options: Options, latencies: dict[str, list[float]], stalls: dict[str, float | None]) -> Report:
    report = Report(
        "load-stall", TITLE, ["requests", "polls", "median", "99 %", "longest", "stall, by the server", "bar"]
    )
    for name, stall in stalls.items():
        values = latencies.get(name, [])
        own = "not shown" if stall is None else f"{1000 * stall:.0f} ms"
        met = "" if name == "nothing" else "met" if stall is not None and stall <= _BAR else "missed"
        cells = [f"{1000 * quantile(values, share):.1f} ms" for share in (0.5, 0.99, 1)]
        report.rows.append([name, str(len(values)), *cells, own, met])
    report.notes = [
        f"GET /health every 10 ms from a process of its own; the server has "
        f"{_QUICK_CLONES if options.quick else _CLONES} custom "
        "voices. The latency includes waiting for a core, which clients, engine and poller share. Bar: the server's "
        "own "
        f"figure is at most {1000 * _BAR:.0f} ms; with --quick it may still show the stall of an earlier row."
    ]
    report.figures = {
        "longest": {name: max(values, default=None) for name, values in latencies.items()},
        "stalls": stalls,
    }
    return report


async def _run(address: str, characters: int, seconds: float, begin: Callable[[str], None]) -> dict[str, float | None]:
    """One kind of heavy request after the other, then all together; the server's own figure for each."""
    recordings = base64.b64encode(bytes(range(256)) * (_BODY_BYTES // 256)).decode()
    body = {"name": "Anna", "files": [recordings]}

    async def clone() -> None:
        await request(address, "/voices", body, method="POST")

    async def edit() -> None:
        await request(address, "/v1/voices/none/edit", body, method="POST")

    async def list_voices() -> None:
        await request(address, "/v1/voices")
        await request(address, "/v2/voices?page_size=100&search=voice")

    async def speak() -> None:
        await listen(address, "stream", make_long_text(300))

    async def speak_with_timestamps() -> None:
        path = f"/v1/text-to-speech/{VOICE}/with-timestamps?output_format=wav_48000"
        await request(address, path, {"text": make_long_text(characters)}, method="POST")

    async def preview() -> None:
        for voice in ("af_bella", "am_adam", "bf_emma", "bm_george"):
            await request(address, f"/previews/{voice}.mp3")

    kinds: dict[str, list[Callable[[], Awaitable[None]]]] = {
        "nothing": [],
        "speech": [speak, speak],
        "recordings in JSON": [clone, edit],
        "lists of voices": [list_voices],
        "long clips with timestamps": [speak_with_timestamps],
        "previews": [preview],
    }
    kinds["everything"] = [each for group in kinds.values() for each in group]
    stalls: dict[str, float | None] = {}
    for name, work in track(kinds.items(), "stalling"):
        begin(name)
        async with _repeating(work):
            stalls[name] = await _watch(address, seconds)
        begin("between")
        # The server's figure is that of the last minute: what one kind did must not show in the next.
        await asyncio.sleep(1 if seconds == _QUICK_SECONDS or not stalls[name] else 61)
    return stalls


async def _watch(address: str, seconds: float) -> float | None:
    deadline, longest = time.monotonic() + seconds, None
    while time.monotonic() < deadline:
        await asyncio.sleep(min(5.0, seconds))
        stall = await _read_stall(address)
        if stall is not None:
            longest = max(longest or 0.0, stall)
    return longest


async def _read_stall(address: str) -> float | None:
    with suppress(Incomplete, OSError):
        return (await read_figures(address)).longest_stall()
    return None


@asynccontextmanager
async def _repeating(work: list[Callable[[], Awaitable[None]]]) -> AsyncIterator[None]:
    async def repeat(each: Callable[[], Awaitable[None]]) -> None:
        while True:
            with suppress(Incomplete, OSError):
                await each()
            await asyncio.sleep(0.05)

    tasks = [asyncio.create_task(repeat(each)) for each in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _add_clones(folder: Path, count: int) -> None:
    """Custom voices with random parameters, written as the service writes them."""
    store, random = VoiceStore(folder), np.random.default_rng(1)
    timbre, melody = 0.1 * random.standard_normal((2, STYLE), dtype=np.float32)
    voice = CustomVoice(
        voice_id=new_id(),
        name="Voice",
        language=Language.ENGLISH_US,
        description="",
        labels={"accent": "none"},
        parameters=VoiceParameters(timbre, melody, np.zeros((LAYERS, STYLE), np.float32)),
        report=CloneReport(ReferenceMeasurements(12, 11, 10, -23, -60, 37, 0), 0.6, "Heart", 0.3, ()),
        created_at=int(time.time()),
        changed_at=time.time(),
        key_id="",
        consent=True,
        reference=StoredReference.of(_REFERENCE),
    )
    for number in track(range(count), "adding voices"):
        store.add(replace(voice, voice_id=new_id(), name=f"Voice {number}"), _REFERENCE)
