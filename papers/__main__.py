"""`python -m papers NAME`: a paper's tables and figures run again, ours beside theirs, with a verdict on each claim."""

import shlex
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from luce.cli.output import check_written, progress, say, show_json, show_table
from luce.errors import LuceError, load_package
from papers import REPRODUCTIONS, Reproduction
from papers.datasets import DATASETS
from papers.outcome import Outcome
from papers.runner import Run

COLOURS = {"held": "green", "held in part": "yellow", "not held": "red", "needs data not at hand": "dim"}
EXAMPLES = """examples:
  python -m papers --list
  python -m papers partition-simulation --quick --report simulation.html

Without the public data it runs on synthetic data of the same shape, and says so.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for, print it, and write the page."""
    parser = ArgumentParser("python -m papers", description=__doc__, epilog=EXAMPLES)
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.add_argument("name", nargs="?", choices=REPRODUCTIONS, metavar="NAME", help="what to run, see --list")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the public data, as distributed")
    parser.add_argument("--quick", action="store_true", help="fewer seeds, points and steps: minutes on two cores")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="file of finished points, to resume from")
    parser.add_argument("--report", type=Path, metavar="HTML", help="page of tables and figures to write")
    parser.add_argument("--seed", type=int, default=0, help="seed of everything random (default: 0)")
    parser.add_argument("--threads", type=int, help="number of threads (default: all cores)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--list", action="store_true", help="list what can be run and the public data it needs")
    given = parser.parse_args(arguments)
    if given.list:
        _list(given.json)
        return
    if given.name is None:
        parser.error(f"give a NAME: {', '.join(REPRODUCTIONS)}")
    chosen = REPRODUCTIONS[given.name]
    check_written([path for path in (given.report, given.keep) if path is not None], [])
    for package in ("jinja2", "matplotlib") if given.report is not None else ():
        load_package(package, "report")  # a missing package is reported before hours of work
    with progress(f"Reproducing {given.name}") as tell:
        run = Run(given.name, given.data, given.quick, given.seed, given.threads, given.keep, tell)
        outcome: Outcome = import_module(f"papers.{chosen.module}").run(run)
    if given.json:
        about = {"name": given.name, "paper": chosen.paper, "quick": given.quick, "seed": given.seed}
        show_json(about | outcome.facts())
    else:
        _print(chosen, outcome)
    if given.report is not None:
        from papers.page import write_report

        command = shlex.join(["python", "-m", "papers", *(sys.argv[1:] if arguments is None else arguments)])
        settings = {"quick": "yes" if given.quick else "no", "seed": given.seed}
        title = f"{given.name}: {chosen.shows}, run again"
        write_report(given.report, outcome, title=title, paper=chosen.paper, command=command, settings=settings)
        say(given.report, "Report")


def _list(json: bool) -> None:
    needed = {name: data for name, data in DATASETS.items() if any(name in r.datasets for r in REPRODUCTIONS.values())}
    if json:
        files = {name: {"source": data.source, "files": data.files()} for name, data in needed.items()}
        reproductions = [{"name": name, **each._asdict()} for name, each in REPRODUCTIONS.items()]
        show_json({"reproductions": reproductions, "datasets": files})
        return
    rows = [
        [name, r.paper, r.shows, ", ".join(r.datasets) or "none", *map(_duration, (r.quick_minutes, r.full_minutes))]
        for name, r in REPRODUCTIONS.items()
    ]
    columns = ["name", "paper", "shows", "public data", "quick", "in full"]
    show_table("What can be run again, and about how long it takes on two cores", columns, rows, numeric=4)
    print()
    sources = [[name, data.source, "\n".join(data.files())] for name, data in needed.items()]
    show_table("Public data: where to get them, and their files below --data", ["name", "from", "files"], sources, 3)


def _duration(minutes: float) -> str:
    return f"{minutes:g} min" if minutes < 120 else f"{minutes / 60:.0f} h"


def _print(chosen: Reproduction, outcome: Outcome) -> None:
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


if __name__ == "__main__":
    try:
        main()
    except LuceError as error:
        sys.exit(f"Error: {error}")
