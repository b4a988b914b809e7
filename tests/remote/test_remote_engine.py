"""The engine that the API sees, with replicas that fail in every way."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import msgspec
import numpy as np
import pytest

from bench.load.processes import wait_until
from svc.engine.fake import FakeEngine
from svc.engine.protocol import Chunk, Timing, Utterance
from svc.errors import EngineUnavailable
from svc.remote.engine_host import EngineHost
from svc.remote.pronouncer import RemotePronouncer
from svc.remote.remote_engine import RemoteEngine
from svc.remote.replicas import Replicas, share_workers
from svc.remote.utterance_server import UtteranceServer
from svc.remote.wire import (
    Connection,
    Deadline,
    End,
    EngineDescription,
    EngineFailure,
    NotTheReplica,
    SpeechAnswer,
    SpeechRequest,
    WordsAnswer,
    WordsRequest,
    pack,
    prove,
)
from svc.synthesis.playback import Playback, current_playback
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.text.markup.parsed_text import Substitution
from svc.text.sentences.phrases import Word, pronounce

_UTTERANCE = Utterance("a" * 200, np.ones((1, 256), dtype=np.float32), mask_offset=np.full(2408, 0.1, dtype=np.float32))
_WHOLE = list(FakeEngine().synthesize(_UTTERANCE))

Speak = Callable[[], AsyncIterator[Chunk]]


def _join(chunks: Iterable[Chunk]) -> tuple[bytes, list[Timing]]:
    """All samples and timings, however they were cut into chunks."""
    chunks = list(chunks)
    samples = np.concatenate([chunk.samples for chunk in chunks])
    return samples.tobytes(), [timing for chunk in chunks for timing in chunk.timings]


class _Replica:
    """A server for utterances, each of which is answered by one function after the other; the last one stays."""

    def __init__(self, *answers: Speak) -> None:
        self._answers = list(answers)
        self.calls = self.cancelled = 0
        self.server = UtteranceServer(self._speak, self._find_words)

    async def _speak(self, utterance: Utterance, deadline: Deadline) -> AsyncGenerator[SpeechAnswer]:
        assert utterance.style.shape == (1, 256)
        assert np.array_equal(utterance.mask_offset, _UTTERANCE.mask_offset)
        self.calls += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        try:
            async for chunk in answer():
                yield SpeechAnswer(chunk, 0.25)
        except (GeneratorExit, asyncio.CancelledError):
            self.cancelled += 1
            raise

    async def _find_words(self, request: WordsRequest) -> AsyncGenerator[WordsAnswer]:
        self.calls += 1
        if not request.text:
            raise ValueError("nothing to read")
        await asyncio.sleep(0)
        yield WordsAnswer([Word(0, len(request.text), request.text, "", f"{request.language}", space=False)])


async def _speak() -> AsyncIterator[Chunk]:
    for chunk in _WHOLE:
        yield chunk


async def _speak_two_and_die() -> AsyncIterator[Chunk]:
    for chunk in _WHOLE[:2]:
        yield chunk
    raise ConnectionResetError


async def _speak_in_other_chunks() -> AsyncIterator[Chunk]:
    """A replica of another release."""
    samples = np.concatenate([chunk.samples for chunk in _WHOLE])
    timings = [timing for chunk in _WHOLE for timing in chunk.timings]
    for start in range(0, 200, 25):
        seconds = 1440  # samples of a phoneme
        yield Chunk(samples[start * seconds : (start + 25) * seconds], tuple(timings[start : start + 25]))


async def _speak_one_and_hang() -> AsyncIterator[Chunk]:
    yield _WHOLE[0]
    await asyncio.sleep(1000)


async def _fail() -> AsyncIterator[Chunk]:
    raise ValueError("an unknown phoneme")
    yield


@contextmanager
def _loaded(*replicas: _Replica, chunk_seconds: float = 30.0, give_up_seconds: float = 60.0) -> Iterator[RemoteEngine]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start(replica: _Replica) -> EngineDescription:
        return EngineDescription("weights", "127.0.0.1", await replica.server.start("127.0.0.1"), replica.server.token)

    described = [asyncio.run_coroutine_threadsafe(start(each), loop).result(60) for each in replicas]

    async def find() -> list[EngineDescription]:
        return described

    found = Replicas(find, chunk_seconds)
    engine = RemoteEngine(FakeEngine(), found, give_up_seconds=give_up_seconds)
    engine.load()
    try:
        yield engine
    finally:
        engine.close()
        found._thread.join(60)
        for each in replicas:
            asyncio.run_coroutine_threadsafe(each.server.drain(0.1), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()


@pytest.mark.parametrize("rest", [_speak, _speak_in_other_chunks])
def test_a_replica_that_dies_is_not_heard(rest: Speak) -> None:
    replica = _Replica(_speak_two_and_die, _speak_two_and_die, rest)
    with _loaded(replica) as engine:
        assert _join(engine.synthesize(_UTTERANCE)) == _join(_WHOLE)
    assert engine.fingerprint == "weights"
    assert replica.calls == 3


def test_another_replica_goes_on_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without waiting until it is asked again which replicas there are: here that is never."""
    monkeypatch.setattr("svc.remote.replicas._FIND_SECONDS", 3_600.0)
    replicas = [_Replica(_speak_two_and_die), _Replica(_speak_two_and_die), _Replica(_speak)]
    with _loaded(*replicas) as engine:
        for _ in range(3):
            assert _join(engine.synthesize(_UTTERANCE)) == _join(_WHOLE)
    assert replicas[2].calls == 3


def test_replicas_share_the_work() -> None:
    replicas = [_Replica(_speak_one_and_hang) for _ in range(3)]
    with _loaded(*replicas) as engine:
        spoken = [engine.synthesize(_UTTERANCE) for _ in range(6)]
        for chunks in spoken:
            next(chunks)
        assert [each.server.ongoing for each in replicas] == [2, 2, 2]
        for chunks in spoken:
            chunks.close()  # type: ignore[attr-defined]


def test_a_connection_is_used_again() -> None:
    replica = _Replica(_speak)
    with _loaded(replica) as engine:
        for _ in range(20):
            assert _join(engine.synthesize(_UTTERANCE)) == _join(_WHOLE)
        assert len(replica.server._connections) == 1


def test_what_has_come_meanwhile_comes_as_one() -> None:
    said = [Chunk(chunk.samples[:2400], chunk.timings[:1]) for chunk in _WHOLE]

    async def speak() -> AsyncIterator[Chunk]:
        for chunk in said:
            yield chunk

    replica = _Replica(speak)
    with _loaded(replica) as engine:
        chunks = iter(engine.synthesize(_UTTERANCE))
        first = next(chunks)
        wait_until(lambda: replica.server.ongoing == 0, 60, "all is spoken")
        rest = list(chunks)
    assert len(said) > 2
    assert len(rest) <= 1
    assert _join([first, *rest]) == _join(said)


def test_a_message_may_come_in_any_pieces() -> None:
    """As it does through a network."""
    near, far = socket.socketpair()
    answers = b"".join(pack(each) for each in (SpeechAnswer(_WHOLE[0], 0.1), SpeechAnswer(_WHOLE[1], 0.2), End()))
    connection = object.__new__(Connection)
    connection._socket, connection._received = near, bytearray()
    spoken: list[SpeechAnswer] = []
    listener = threading.Thread(target=lambda: spoken.extend(connection.ask(_UTTERANCE, Deadline())))
    listener.start()
    with far:
        far.recv(1)
        for start in [*range(40), *range(40, len(answers), 10_007)]:
            end = start + 1 if start < 40 else start + 10_007
            far.sendall(answers[start : min(end, len(answers))])
            time.sleep(0.002)
        listener.join(60)
    connection.close()
    assert _join(each.chunk for each in spoken) == _join(_WHOLE[:2])
    assert sum(each.worked_seconds for each in spoken) == pytest.approx(0.3)


def test_a_replica_finds_the_words_of_a_sentence(phonemizer: Phonemizer) -> None:
    replica = _Replica(_speak)
    with _loaded(replica) as engine:
        pronouncer = RemotePronouncer(engine._replicas, phonemizer)
        (word,) = pronouncer("Hello.", Language.GERMAN, ())
        assert (word.spoken, word.phonemes) == ("Hello.", "de")
        with pytest.raises(EngineFailure, match="nothing to read"):
            pronouncer("", Language.GERMAN, ())
        assert _join(engine.synthesize(_UTTERANCE)) == _join(_WHOLE)
        assert len(replica.server._connections) == 1
    assert replica.calls == 3


def test_words_are_found_here_where_no_replica_answers(phonemizer: Phonemizer) -> None:
    with _loaded(_Replica(_speak)) as engine:
        engine._replicas._update([])
        pronouncer = RemotePronouncer(engine._replicas, phonemizer)
        assert pronouncer("Hello.", Language.ENGLISH_US, ()) == pronounce(phonemizer, "Hello.", Language.ENGLISH_US, ())


def test_an_engine_host_reads_as_a_server_does(phonemizer: Phonemizer) -> None:
    text = "Call +1 555 0100 <at> noon; it costs $5."
    replacements = (Substitution(17, 21, "at"),)

    async def main() -> None:
        host = EngineHost(FakeEngine(), 1, phonemizer)
        description = await host.start("127.0.0.1")
        connection = await asyncio.to_thread(Connection, description, 60.0)
        request = WordsRequest.of(text, Language.ENGLISH_US, replacements)
        words = await asyncio.to_thread(connection.pronounce, request)
        connection.close()
        await host.drain(0.1)
        assert words == pronounce(phonemizer, text, Language.ENGLISH_US, replacements)

    asyncio.run(main())


def test_who_has_not_the_token_is_not_answered() -> None:
    """Nor is anything read that was sent after a wrong proof."""
    replica = _Replica(_speak)
    with _loaded(replica) as engine:
        (known,) = engine._replicas._replicas
        description, nonce = known.description, b"n" * 32
        with pytest.raises(NotTheReplica):
            Connection(msgspec.structs.replace(description, token=b"x" * 32), 30.0)
        for wrong in (prove(b"x" * 32, "server", nonce), description.token, None):
            with socket.create_connection((description.host, description.port), timeout=60) as stranger:
                stranger.sendall(nonce)
                answer = stranger.recv(64, socket.MSG_WAITALL)
                stranger.sendall(wrong or answer[32:])  # its own proof, sent back
                stranger.sendall(pack(SpeechRequest(_UTTERANCE, Deadline())))
                with suppress(ConnectionResetError):
                    assert stranger.recv(1) == b""
    assert replica.calls == 0


@pytest.mark.parametrize("echoes", [True, False])
def test_what_has_not_the_token_is_not_believed(echoes: bool) -> None:
    """Another program may get the port of a replica that has died: it learns no token, and what it says is not read."""
    learned: list[bytes] = []

    def answer(listening: socket.socket) -> None:
        caller, _ = listening.accept()
        with caller:
            nonce = caller.recv(32, socket.MSG_WAITALL)
            caller.sendall(nonce * 2 if echoes else b"n" * 32 + prove(b"x" * 32, "replica", nonce + b"n" * 32))
            with suppress(ConnectionError):
                caller.sendall(pack(SpeechAnswer(_WHOLE[0], 0.1)))
                learned.append(nonce + caller.recv(1000))

    token = b"t" * 32
    with socket.create_server(("127.0.0.1", 0)) as listening:
        impostor = threading.Thread(target=answer, args=(listening,))
        impostor.start()
        with pytest.raises(NotTheReplica):
            Connection(EngineDescription("", "127.0.0.1", listening.getsockname()[1], token), 30.0)
        impostor.join(60)
    assert token not in b"".join(learned)


def test_each_connection_proves_itself_anew() -> None:
    replica = _Replica(_speak)
    with _loaded(replica) as engine:
        (known,) = engine._replicas._replicas
        near = (known.description.host, known.description.port)
        answers = []
        for _ in range(2):
            with socket.create_connection(near, timeout=60) as caller:
                caller.sendall(b"n" * 32)
                answers.append(caller.recv(64, socket.MSG_WAITALL))
        first, second = answers
        assert first[:32] != second[:32]
        assert first[32:] != second[32:]


def test_the_engines_own_seconds_are_told() -> None:
    """Not those that its audio was on its way."""
    playback = Playback()
    token = current_playback.set(playback)
    try:
        with _loaded(_Replica(_speak)) as engine:
            list(engine.synthesize(_UTTERANCE))
    finally:
        current_playback.reset(token)
    assert playback.take_worked_seconds() == 0.25 * len(_WHOLE)
    assert playback.take_worked_seconds() is None


def test_a_replica_that_hangs_is_given_up() -> None:
    replica = _Replica(_speak_one_and_hang, _speak)
    with _loaded(replica, chunk_seconds=0.5) as engine:
        assert _join(engine.synthesize(_UTTERANCE)) == _join(_WHOLE)
        wait_until(lambda: replica.cancelled == 1, 60, "the call was cancelled")


def test_an_engine_that_is_gone_is_an_error_in_the_end() -> None:
    replica = _Replica(_speak_two_and_die)
    with _loaded(replica, give_up_seconds=1.5) as engine, pytest.raises(EngineUnavailable):
        list(engine.synthesize(_UTTERANCE))
    assert replica.calls > 1


def test_a_failure_of_the_engine_itself_is_not_tried_again() -> None:
    replica = _Replica(_fail)
    with _loaded(replica) as engine, pytest.raises(EngineFailure, match="an unknown phoneme"):
        list(engine.synthesize(_UTTERANCE))
    assert replica.calls == 1


def test_closing_cancels_the_call() -> None:
    replica = _Replica(_speak_one_and_hang)
    with _loaded(replica) as engine:
        chunks = engine.synthesize(_UTTERANCE)
        next(chunks)
        assert replica.cancelled == 0
        chunks.close()  # type: ignore[attr-defined]
        wait_until(lambda: replica.cancelled == 1, 60, "the call was cancelled")


def test_a_server_that_drains_finishes_what_it_has() -> None:
    async def main() -> None:
        replica = _Replica(_speak)
        description = EngineDescription("", "127.0.0.1", await replica.server.start("127.0.0.1"), replica.server.token)
        connection = await asyncio.to_thread(Connection, description, 30.0)
        answers = connection.ask(_UTTERANCE, Deadline())
        first = await asyncio.to_thread(next, answers)
        await replica.server.drain(30)
        rest = await asyncio.to_thread(list, answers)
        assert _join(each.chunk for each in (first, *rest)) == _join(_WHOLE)
        with pytest.raises((OSError, EOFError)):
            await asyncio.to_thread(lambda: list(connection.ask(_UTTERANCE, Deadline())))
        connection.close()

    asyncio.run(main())


async def _lack_something() -> AsyncIterator[Chunk]:
    raise EngineUnavailable("The dictionary is missing.")
    yield


def test_what_an_engine_lacks_is_told_in_its_words() -> None:
    with (
        _loaded(_Replica(_lack_something)) as engine,
        pytest.raises(EngineUnavailable, match="The dictionary is missing"),
    ):
        list(engine.synthesize(_UTTERANCE))


@pytest.mark.parametrize("said", [b"\xc1", pack(End())[4:], msgspec.msgpack.encode(["SpeechRequest", {}, []]), b""])
def test_a_request_that_is_none_ends_the_connection(said: bytes) -> None:
    """A server of another release, say."""
    replica = _Replica(_speak)
    with _loaded(replica) as engine:
        (known,) = engine._replicas._replicas
        with Connection(known.description, 60.0)._socket as caller:
            caller.sendall(len(said).to_bytes(4, "big") + said)
            caller.settimeout(60)
            while caller.recv(1000):
                caller.shutdown(socket.SHUT_WR)
        assert _join(engine.synthesize(_UTTERANCE)) == _join(_WHOLE)


def test_all_that_was_borrowed_is_given_back() -> None:
    """By many threads at once, some of which lose their replica."""
    answers = [_speak, _speak_two_and_die] * 20
    with _loaded(_Replica(*answers, _speak), _Replica(*answers, _speak)) as engine:
        with ThreadPoolExecutor(16) as pool:
            spoken = list(pool.map(lambda _: _join(engine.synthesize(_UTTERANCE)), range(100)))
        assert spoken == [_join(_WHOLE)] * 100
        assert [replica.busy for replica in engine._replicas._replicas] == [0, 0]


def test_workers_are_shared_out() -> None:
    assert share_workers(0, 2) == 0
    assert share_workers(8, 2) == 4
    assert share_workers(1, 3) == 1
    assert share_workers(4, 0) == 4  # this one is about to run
