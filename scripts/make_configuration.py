"""Makes docs/configuration.md from the settings class.

python scripts/make_configuration.py
"""

from pathlib import Path

from pydantic import SecretStr
from pydantic_core import PydanticUndefined

from svc.settings import Settings

TARGET = Path(__file__).parent.parent / "docs/configuration.md"

_HEAD = """# Configuration

Every setting is an environment variable. The options `--host` and `--port` of `svc serve` take precedence over theirs.
With an invalid value the server does not start, and the error names the variable.

| variable | default | meaning |
|---|---|---|
"""

# Defaults that depend on the machine.
_COMPUTED = {
    "key_max_voices": "a quarter of SVC_MAX_CUSTOM_VOICES",
    "key_max_dictionaries": "a quarter of SVC_MAX_DICTIONARIES",
    "token_max_characters_per_minute": "SVC_MAX_CHARACTERS",
    "engine_processes": "a quarter of the number of cores; 1 on a GPU",
    "cache_dir": "`~/.cache/svc`",
    "data_dir": "`~/.local/share/svc`",
    "workers": "cores divided by engine processes; 64 on a GPU",
    "threads": "cores divided by workers of all processes",
    "max_streams": "16 times the number of workers, at least 32",
    "max_waiting": "twice SVC_MAX_STREAMS",
    "cluster_cpus": "workers times threads",
    "cluster_gpus": "1 with a GPU, otherwise 0",
}


def page() -> str:
    """The whole page, which a test compares with the file."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = _COMPUTED.get(name) or _format_default(field.default)
        meaning = " ".join((field.description or "").split())
        rows.append(f"| `SVC_{name.upper()}` | {default} | {meaning} |\n")
    return _HEAD + "".join(rows)


def _format_default(default: object) -> str:
    assert default is not PydanticUndefined, "a computed default needs an entry in _COMPUTED"
    assert not isinstance(default, SecretStr)
    return f"`{default}`" if default not in (None, "") else "none"


if __name__ == "__main__":
    TARGET.write_text(page())
