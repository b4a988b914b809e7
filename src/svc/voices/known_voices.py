"""Voices of other APIs: the ids and names that clients ask for, and the voices that speak for them here."""

import tomllib
from importlib.resources import files

_TABLES: dict[str, dict[str, str]] = tomllib.loads(
    files("svc").joinpath("data/known-voices.toml").read_text(encoding="utf-8")
)
OPENAI_NAMES = _TABLES["openai_names"]
IDS = _TABLES["ids"]
LEGACY_NAMES = _TABLES["legacy_names"]
"""The id, one of `IDS`, of each name."""
