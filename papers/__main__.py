"""`luce reproduce`: a paper's tables and figures run again, ours beside theirs, and what became of its claims."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.options import Json, Seed, Threads
from luce.cli.output import check_written, progress, say, show_json, show_table
from luce.errors import OptionError, load_package

Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="What to run again; --list tells the names.")]
Folder = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Folder of the public data, as distributed.")
]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer seeds, points and steps: minutes on two cores.")]
Keep = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Keep finished points here; a run that was stopped goes on from them."),
]
Page = Annotated[Path | None, typer.Option("--report", metavar="HTML", help="Page of tables and figures to write.")]
Listed = Annotated[bool, typer.Option("--list", help="Tell what can be run, which data it wants and where they go.")]

COLOURS = {"held": "green", "held in part": "yellow", "not held": "red", "needs data not at hand": "dim"}


def reproduce(
    name: Name = None,
    data: Folder = None,
    quick: Quick = False,
    keep: Keep = None,
    report: Page = None,
    seed: Seed = 0,
    threads: Threads = None,
    listed: Listed = False,
    json: Json = False,
) -> None:
    """Run a paper's protocol again, print ours beside theirs, and say which of its claims held.

    Without the public data it runs on made data of that shape, and says so.

    Example: luce reproduce --list

    Example: luce reproduce partition-simulation --quick --report simulation.html
    """
    from luce.reproductions import REPRODUCTIONS, reproduction
    from luce.reproductions.reproduction import Run

    if listed:
        _list(json)
        return
    if name is None:
        raise OptionError(f"Give the name of what to run again. Known: {', '.join(REPRODUCTIONS)}.")
    chosen = reproduction(name)
    check_written([path for path in (report, keep) if path is not None], [])
    for package in ("jinja2", "matplotlib") if report is not None else ():
        load_package(package, "report")  # told now, not after hours
    with progress(f"Reproducing {name}") as told:
        outcome = chosen.run(Run(name, data, quick, seed, threads, keep, told))
    if json:
        show_json({"name": name, "paper": chosen.paper, "quick": quick, "seed": seed} | outcome.facts())
    else:
        _print(chosen, outcome)
    if report is not None:
        _write(report, chosen, outcome, {"quick": "yes" if quick else "no", "seed": seed})


def _list(json: bool) -> None:
    from luce.reproductions import REPRODUCTIONS
    from luce.reproductions.datasets import DATASETS

    wanted = {name: data for name, data in DATASETS.items() if any(name in r.datasets for r in REPRODUCTIONS.values())}
    if json:
        places = {name: {"source": data.source, "files": data.files()} for name, data in wanted.items()}
        show_json({"reproductions": [each.facts() for each in REPRODUCTIONS.values()], "datasets": places})
        return
    rows = [
        [each.name, each.paper, each.shows, ", ".join(each.datasets) or "none", *map(_minutes, each.minutes)]
        for each in REPRODUCTIONS.values()
    ]
    columns = ["name", "paper", "shows", "public data", "quick", "in full"]
    show_table("What can be run again, and about how long it takes on two cores", columns, rows, numeric=4)
    print()
    files = [[name, data.source, "\n".join(data.files())] for name, data in wanted.items()]
    show_table("Public data: where to get them, and their files below --data", ["name", "from", "files"], files, 3)


def _minutes(minutes: float) -> str:
    return f"{minutes:g} min" if minutes < 120 else f"{minutes / 60:.0f} h"


def _print(chosen: Any, outcome: Any) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    console.print(f"[bold]{escape(chosen.paper)}[/]: {escape(chosen.shows)}\n{escape(outcome.data)}\n", soft_wrap=True)
    for table in outcome.tables:
        if console.is_terminal and len(str(table).splitlines()[1]) > console.width:
            print(f"{table}\n")  # a terminal folds the lines; a table would leave out what does not fit
            continue
        show_table(table.title, table.columns, table.texts())
        console.print(f"[dim]{escape(table.note)}[/]\n" if table.note else "", soft_wrap=True)
    console.print("[bold]Claims[/]")
    for claim in outcome.claims:
        verdict = f"[{COLOURS[claim.verdict]}]{claim.verdict}[/]"
        console.print(f"{verdict}: {escape(claim.text)}\n    [dim]{escape(claim.evidence)}[/]", soft_wrap=True)


def _write(path: Path, chosen: Any, outcome: Any, settings: dict[str, Any]) -> None:
    from luce.report.reproduction import write_reproduction

    page = write_reproduction(
        path,
        outcome,
        title=f"{chosen.name}: {chosen.shows}, run again",
        paper=chosen.paper,
        command=shlex.join(["luce", *sys.argv[1:]]),
        settings=settings,
    )
    say(f"[bold]Report:[/] {page}")
