"""How does the service grow with cores and machines? Each command answers one question, as README.md says."""

from typing import Annotated, Literal

import typer

from bench import options
from bench.report import Report
from bench.scale import capacity_table, cores, ray_cost, replicas

app = typer.Typer(add_completion=False, help=__doc__, no_args_is_help=True)

Engine = Annotated[Literal["turbo", "fake"], typer.Option(help="The engine of the servers.")]
Seconds = Annotated[float, typer.Option(help="How long each number is measured.", min=1)]


@app.command("cores")
def measure_cores(
    cores_: Annotated[
        list[int] | None, typer.Option("--cores", help="May be repeated; default: 2, 4, 8 and 16.", min=1)
    ] = None,
    threads: Annotated[
        list[int] | None, typer.Option(help="Of a worker; may be repeated. Default: the server's.", min=1)
    ] = None,
    processes_each: Annotated[
        int | None, typer.Option(help="SVC_PROCESSES: one for so many cores. Default: the server's.", min=1)
    ] = None,
    rounds: Annotated[int, typer.Option(help="One number of cores after the other, so often.", min=1)] = 1,
    seconds: Seconds = 30,
    engine: Engine = "turbo",
    output: options.Output = None,
) -> None:
    """Speech a second and live listeners of one machine with more and more of its cores."""
    _finish(cores.measure(cores_ or (2, 4, 8, 16), threads or (), seconds, engine, processes_each, rounds), output)


@app.command("replicas")
def measure_replicas(
    count: Annotated[
        list[int] | None, typer.Option("--replicas", help="May be repeated; default: 1, 2 and 4.", min=1)
    ] = None,
    cores_each: Annotated[
        int, typer.Option(help="For each replica, with its share of the API and of the clients.", min=1)
    ] = 4,
    seconds: Seconds = 30,
    engine: Engine = "turbo",
    output: options.Output = None,
) -> None:
    """Speech a second of one, two and four replicas of the engine under Ray."""
    _finish(replicas.measure(count or (1, 2, 4), cores_each, seconds, engine), output)


@app.command("ray-cost")
def measure_ray_cost(
    rounds: Annotated[int, typer.Option(min=1)] = 8,
    requests: Annotated[int, typer.Option(help="For the first byte, in each round.", min=1)] = 10,
    streams: Annotated[int, typer.Option(help="At once, for the speech a second.", min=1)] = 4,
    seconds: Seconds = 10,
    engine: Engine = "turbo",
    output: options.Output = None,
) -> None:
    """`svc serve --cluster` beside `svc serve`: the first byte, and speech a second."""
    _finish(ray_cost.measure(rounds, requests, streams, seconds, engine), output)


@app.command("capacity")
def compute_capacity(output: options.Output = None) -> None:
    """What machines of a kind hold at a target for the first byte: the tables of docs/capacity.md."""
    for report in capacity_table.make_reports():
        report.show()
        report.save(output)


def _finish(report: Report, output: options.Output) -> None:
    report.show()
    report.save(output)
    raise typer.Exit(any(row[-1] == "missed" for row in report.rows))


if __name__ == "__main__":
    app()
