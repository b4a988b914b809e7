"""How does a server behave under too much load, bad clients and faults? Each scenario prints a table of its own."""

from types import ModuleType
from typing import Annotated, Literal

import typer

from bench import options as shared
from bench.load import crash, fairness, hang_ups, malformed, overload, stall
from bench.load.options import Options

SCENARIOS: dict[str, ModuleType] = {
    "overload": overload,
    "fairness": fairness,
    "hang_ups": hang_ups,
    "crash": crash,
    "malformed": malformed,
    "stall": stall,
}


def main(
    only: Annotated[str, typer.Option(help=f"Comma-separated: {', '.join(SCENARIOS)}.")] = ",".join(SCENARIOS),
    engine: Annotated[Literal["turbo", "fake"], typer.Option(help="Of the scenarios that synthesize.")] = "turbo",
    minutes: Annotated[float, typer.Option(help="Of each phase of `overload`.", min=0.1)] = 3,
    clients: Annotated[int, typer.Option(help="Of `overload`.", min=1)] = 100,
    rounds: Annotated[int, typer.Option(help="Of `crash`.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="The same seed makes the same requests.")] = 1,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer requests and shorter phases, for a first look.")
    ] = False,
    output: shared.Output = None,
) -> None:
    chosen = [name.strip() for name in only.split(",")]
    if unknown := set(chosen) - set(SCENARIOS):
        raise typer.BadParameter(f"unknown: {', '.join(sorted(unknown))}")
    options = Options(engine, minutes, clients, 6 if quick else rounds, seed, quick)
    missed = False
    for name in chosen:
        report = SCENARIOS[name].measure(options)
        report.show()
        report.save(output)
        missed = missed or any(row[-1] == "missed" for row in report.rows)
    raise typer.Exit(missed)


if __name__ == "__main__":
    typer.run(main)
