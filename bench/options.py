"""Command-line options that several benchmarks share."""

from pathlib import Path
from typing import Annotated

import typer

_HERE = Path(__file__).parent

EVAL_HOME = _HERE / ".eval"
PEERS_HOME = _HERE / ".peers"

EvalHome = Annotated[Path, typer.Option(envvar="EVAL_HOME", help="The folder of `bench/setup.sh eval`.")]
PeersHome = Annotated[Path, typer.Option(envvar="PEERS_HOME", help="The folder of `bench/setup.sh peers`.")]
Keep = Annotated[Path | None, typer.Option(help="Keep the recordings in this folder.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="For the page and the figures; default: docs/benchmarks, bench/.figures."),
]
