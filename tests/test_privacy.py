"""Nothing is collected behind the user's back."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.real
def test_speaking_leaves_nothing_in_the_home_folder(tmp_path: Path) -> None:
    """ONNX Runtime keeps what it would report to its maker, and an id of the machine, in ~/.cache."""
    program = (
        "from svc.service import create_pipeline, create_voices\n"
        "from svc.settings import Settings\n"
        "from svc.synthesis.request import SynthesisRequest\n"
        "pipeline = create_pipeline(Settings())\n"
        "pipeline.load()\n"
        "assert list(pipeline.synthesize(SynthesisRequest('Hello.', create_voices(Settings()).default)))\n"
    )
    subprocess.run([sys.executable, "-c", program], env={"HOME": str(tmp_path)}, check=True)
    assert list(tmp_path.rglob("*")) == []
