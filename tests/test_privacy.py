"""Nothing is collected behind the user's back."""

import subprocess
import sys
from pathlib import Path


def test_speaking_leaves_nothing_in_the_home_folder(tmp_path: Path) -> None:
    """ONNX Runtime keeps what it would report to its maker, and an id of the machine, in ~/.cache."""
    program = (
        "from svc.app import create_speech, create_voices\n"
        "from svc.settings import Settings\n"
        "from svc.speech import SpeechRequest\n"
        "speech = create_speech(Settings())\n"
        "speech.load()\n"
        "assert list(speech.synthesize(SpeechRequest('Hello.', create_voices(Settings()).default)))\n"
    )
    subprocess.run([sys.executable, "-c", program], env={"HOME": str(tmp_path)}, check=True)
    assert list(tmp_path.rglob("*")) == []
