"""`svc serve --cluster` with the real engine: the same audio as without a cluster, and all of it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pytest

from bench.load.processes import ServerProcess
from svc.audio.formats import OUTPUT_FORMATS
from svc.audio.samples import Samples
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.voices.catalogue import VoiceCatalogue
from tests.cluster.conftest import find_environment, running_node
from tests.conftest import STORY

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

_PATH = "/v1/text-to-speech/af_heart/stream?output_format=pcm_24000"


def test_the_same_audio_as_without_a_cluster_until_the_last_request(
    tmp_path: Path, pipeline: Pipeline, voices: VoiceCatalogue, transcribe: Callable[[Samples], str]
) -> None:
    environment = find_environment()
    pieces: list[bytes] = []
    with running_node(environment, tmp_path / "ray.log") as address:
        server = ServerProcess(tmp_path, "turbo", environment | {"RAY_ADDRESS": address}, cluster_cpus=1)
        server.arguments.append("--cluster")
        server.start(wait=False)
        try:
            server.wait_until_ready(900)
            with httpx.stream("POST", server.address + _PATH, json={"text": STORY}, timeout=120) as response:
                for piece in response.iter_raw():
                    if not pieces:
                        server.terminate()  # while it speaks
                    pieces.append(piece)
            assert server.wait(240) == 0
        finally:
            server.kill()
    audio = np.frombuffer(b"".join(pieces), dtype="<i2")
    alone = b"".join(
        part.audio
        for part in pipeline.stream(SynthesisRequest(STORY, voices.find("af_heart")), OUTPUT_FORMATS["pcm_24000"])
    )
    difference = audio.astype(np.int32) - np.frombuffer(alone, dtype="<i2").astype(np.int32)
    assert np.abs(difference).max() <= 2  # the number of threads may differ, and with it the last digit
    assert "somebody saw a sail" in transcribe((audio / 32768).astype(np.float32))


def test_without_ray_it_says_what_to_install(tmp_path: Path) -> None:
    hidden = tmp_path / "ray"
    hidden.mkdir()
    (hidden / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'ray'\", name='ray')")
    server = ServerProcess(tmp_path, "fake", find_environment(str(tmp_path)))
    server.arguments.append("--cluster")
    with pytest.raises(RuntimeError, match=r"pip install 'svc\[cluster\]'"):
        server.start()


def test_a_cluster_needs_a_port() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("svc"), "serve", "--cluster", "--port", "0"],
        capture_output=True,
        text=True,
        env=find_environment(),
    )
    assert done.returncode == 1
    assert "--port" in done.stderr
