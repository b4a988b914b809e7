"""What the command line says, for every scenario."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    engine: str = "turbo"
    minutes: float = 3
    clients: int = 100
    rounds: int = 100
    seed: int = 1
    quick: bool = False
