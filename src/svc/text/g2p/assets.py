"""English data that comes with the hibari-tts package (Apache-2.0): misaki's lexicons, a tagger, a letter net."""

import gzip
import json
from importlib.metadata import distribution
from pathlib import Path
from typing import Any


def asset(name: str) -> Path:
    """Where an asset lies. The package is only a carrier here: none of its code is imported."""
    return Path(str(distribution("hibari-tts").locate_file(f"hibari/assets/{name}")))


def load_json(name: str) -> Any:
    """A JSON asset, gzipped or not."""
    raw = asset(name).read_bytes()
    return json.loads(gzip.decompress(raw) if name.endswith(".gz") else raw)
