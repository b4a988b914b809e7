"""What clients of a cluster notice while its parts come and go: of most of it, nothing.

The tests run in this order: the last ones leave less of the cluster behind.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import httpx
import pytest
from websockets.sync.client import connect

from bench.load.processes import wait_until
from bench.load.surroundings import ObjectStore, Postgres, Redis
from svc.audio.samples import Samples
from tests.audio.recordings import encode_recording
from tests.cluster.conftest import KEY, ClusterProcess
from tests.conftest import STORY

pytestmark = [pytest.mark.slow, pytest.mark.real, pytest.mark.timeout(1800)]

_PATIENCE = 120.0
_LONG = " ".join([STORY] * 8)
_VOICE = "/v1/text-to-speech/af_heart"


@pytest.fixture
def client(cluster: ClusterProcess) -> Iterator[httpx.Client]:
    """Without kept-alive connections: each request may go to another replica."""
    limits = httpx.Limits(max_keepalive_connections=0)
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=cluster.address, headers=headers, timeout=_PATIENCE, limits=limits) as client:
        yield client


@pytest.fixture(scope="module")
def undisturbed(cluster: ClusterProcess) -> bytes:
    with httpx.Client(
        base_url=cluster.address, headers={"Authorization": f"Bearer {KEY}"}, timeout=_PATIENCE
    ) as client:
        response = _speak(client, _LONG)
    assert response.status_code == 200
    return response.content


def _speak(client: httpx.Client, text: str) -> httpx.Response:
    return client.post(f"{_VOICE}/stream", params={"output_format": "pcm_24000"}, json={"text": text})


def _speak_disturbed(client: httpx.Client, disturb: Callable[[int], object]) -> bytes:
    """The whole audio of the long text; `disturb` is called after each piece, with its number."""
    pieces = []
    with client.stream(
        "POST", f"{_VOICE}/stream", params={"output_format": "pcm_24000"}, json={"text": _LONG}
    ) as response:
        assert response.status_code == 200
        for number, piece in enumerate(response.iter_raw()):
            pieces.append(piece)
            disturb(number)
    return b"".join(pieces)


def test_a_stream_comes_through_and_is_always_the_same(client: httpx.Client, undisturbed: bytes) -> None:
    assert len(undisturbed) > 24_000 * 2 * 60
    assert _speak(client, _LONG).content == undisturbed


def test_a_token_of_one_replica_is_good_at_the_others(client: httpx.Client) -> None:
    token = client.post("/v1/tokens/ephemeral", json={}).json()["token"]
    for _ in range(8):
        response = client.get("/v1/voices", headers={"Authorization": f"Bearer {token}"})
        assert response.status_code == 200


def test_a_socket_speaks(cluster: ClusterProcess) -> None:
    address = f"{cluster.address.replace('http', 'ws')}{_VOICE}/stream-input?output_format=pcm_24000"
    with connect(address, open_timeout=_PATIENCE) as socket:
        socket.send(json.dumps({"text": " ", "authorization": f"Bearer {KEY}"}))
        socket.send(json.dumps({"text": f"{STORY} "}))
        socket.send(json.dumps({"text": ""}))
        messages = [json.loads(message) for message in socket]
    assert sum(len(message.get("audio") or "") for message in messages) > 100_000
    assert messages[-1].get("isFinal") is True


def test_who_hangs_up_is_not_spoken_to(cluster: ClusterProcess, client: httpx.Client) -> None:
    before = cluster.count_steps()
    with client.stream(
        "POST", f"{_VOICE}/stream", params={"output_format": "pcm_24000"}, json={"text": _LONG}
    ) as response:
        next(response.iter_raw())
    time.sleep(3)  # for the steps that were running
    made = cluster.count_steps()
    time.sleep(3)
    assert cluster.count_steps() == made
    assert made - before < len(_LONG) / 40 / 2  # of about one for every 40 phonemes


def test_a_killed_engine_is_not_noticed(cluster: ClusterProcess, client: httpx.Client, undisturbed: bytes) -> None:
    alive = cluster.find("ServeReplica:svc-engine")
    assert len(alive) == 2

    def kill(number: int) -> None:
        """One after the other, so that at least once it is the one that speaks."""
        if number in (0, 10):
            os.kill(alive.pop(), signal.SIGKILL)

    assert _speak_disturbed(client, kill) == undisturbed
    assert alive == []
    wait_until(cluster.is_ready, _PATIENCE, "another engine was started", every=0.5)


def test_speech_goes_on_while_the_object_store_stands_still(
    client: httpx.Client, surroundings: tuple[Postgres, ObjectStore, Redis], spoken: Samples
) -> None:
    _, objects, _ = surroundings
    with objects.paused():
        clip = encode_recording(spoken, "wav 44.1 kHz")
        cloned = client.post("/voices", data={"name": "Ann"}, files={"file": ("clip.wav", clip)})
        assert cloned.is_success, cloned.text
        voice_id = cloned.json()["voice_id"]
        until = time.monotonic() + 60
        while time.monotonic() < until:
            assert _speak(client, "Hello.").status_code == 200
            time.sleep(2)

    def reached_the_mirror() -> bool:
        lag = client.get("/readyz").json()["voice_mirror"]
        return bool(lag["waiting"] == 0 and lag["fetched_seconds_ago"] < 10)

    wait_until(reached_the_mirror, _PATIENCE, "the voice was mirrored", every=1)
    assert {client.get(f"/v1/voices/{voice_id}").status_code for _ in range(8)} == {200}


def test_an_upgrade_is_not_noticed(cluster: ClusterProcess, client: httpx.Client, undisturbed: bytes) -> None:
    before = set(cluster.find("ServeReplica:svc-"))
    with cluster.commanding("upgrade") as begin:
        assert _speak_disturbed(client, begin) == undisturbed

        def replaced() -> bool:
            """Every request on the way is answered."""
            assert _speak(client, "Hello.").status_code == 200
            return before.isdisjoint(cluster.find("ServeReplica:svc-"))

        # Without a pause: a replica that refused requests before it had left the port did so for a tenth of a second.
        wait_until(replaced, 600, "all replicas were replaced", every=0)
    assert {"upgraded" in client.get("/v1/models").text for _ in range(8)} == {True}


def test_a_killed_node_is_replaced_by_the_other(
    cluster: ClusterProcess, client: httpx.Client, undisturbed: bytes
) -> None:
    """A client that was connected to it gets an error, never a short response that looks complete."""

    with cluster.commanding("kill node") as begin, suppress(httpx.TransportError):
        assert _speak_disturbed(client, begin) == undisturbed

    def speaks() -> bool:
        try:
            return _speak(client, _LONG).content == undisturbed
        except httpx.TransportError:
            return False

    wait_until(speaks, 300, "the other node speaks", every=1)
