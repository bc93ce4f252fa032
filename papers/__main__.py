"""Reproduce the tables and figures of a paper: our results beside the published ones, a verdict on each claim."""

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
from luce.files import atomic_write
from papers import REPRODUCTIONS, Reproduction
from papers.datasets import DATASETS, REAL_DATA
from papers.environment import Environment, commit_of
from papers.outcome import VERDICTS, Outcome
from papers.papers_page import PAGE, papers_page
from papers.runner import Run
from papers.stored_output import store

COLORS = dict(zip(VERDICTS, ("green", "yellow", "red", "cyan", "cyan", "dim"), strict=True))
EXAMPLES = """examples:
  python -m papers --list
  python -m papers partition-simulation --quick --report simulation.html
  python -m papers listmle-trees --data DIR --cache trees.json --store
  python -m papers --page

If the public data are not available, synthetic data of the same shape are used, and a note is printed. A run with
--cache may be interrupted and continued, also on another machine: bring the file along. Add --store in the end, in a
clone with all code committed, and --page to write docs/papers.md again.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the reproduction named on the command line, print its outcome, and write the report."""
    parser = ArgumentParser("python -m papers", description=__doc__, epilog=EXAMPLES)
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.add_argument(
        "name", nargs="?", choices=REPRODUCTIONS, metavar="NAME", help="the reproduction to run, see --list"
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the public data, as distributed")
    parser.add_argument("--quick", action="store_true", help="use fewer seeds, points and steps: minutes on two cores")
    parser.add_argument(
        "--cache", type=Path, metavar="FILE", help="JSON file of finished points; an interrupted run resumes from it"
    )
    parser.add_argument("--report", type=Path, metavar="HTML", help="write the tables and figures to an HTML page")
    parser.add_argument("--store", action="store_true", help="write the output to papers/results, for docs/papers.md")
    parser.add_argument("--page", action="store_true", help="write docs/papers.md from the outputs in papers/results")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    parser.add_argument("--threads", type=int, help="number of threads (default: all cores)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--list", action="store_true", help="list the reproductions and the public data they need")
    options = parser.parse_args(arguments)
    if options.list:
        _list(options.json)
        return
    if options.page:
        with atomic_write(PAGE) as partial:
            partial.write_text(papers_page(), encoding="utf-8")
        say(PAGE, "Page")
        return
    if options.name is None:
        parser.error(f"give a NAME: {', '.join(REPRODUCTIONS)}")
    chosen = REPRODUCTIONS[options.name]
    check_written([options.report, options.cache], [])
    # What would end the run after hours of work is reported before it.
    for package in ("jinja2", "matplotlib") if options.report is not None or options.store else ():
        load_package(package, "report")
    if options.store:
        commit_of(Environment.here().sources)
    with progress(f"Reproducing {options.name}") as on_progress:
        run = Run(options.name, options.data, options.quick, options.seed, options.threads, options.cache, on_progress)
        outcome: Outcome = import_module(f"papers.{chosen.module}").run(run)
    if options.store:
        say(store(run, outcome), "Output")
    if options.json:
        metadata = {"name": options.name, "paper": chosen.paper, "quick": options.quick, "seed": options.seed}
        show_json(metadata | outcome.to_dict())
    else:
        _print(chosen, outcome)
    if options.report is not None:
        from papers.page import write_report

        command = shlex.join(["python", "-m", "papers", *(sys.argv[1:] if arguments is None else arguments)])
        settings = {"quick": "yes" if options.quick else "no", "seed": options.seed}
        title = f"Reproduction of {options.name}: {chosen.shows}"
        write_report(options.report, outcome, title=title, paper=chosen.paper, command=command, settings=settings)
        say(options.report, "Report")


def _list(json: bool) -> None:
    used = {*REAL_DATA, *(name for each in REPRODUCTIONS.values() for name in each.datasets)}
    needed = {name: data for name, data in DATASETS.items() if name in used}
    if json:
        files = {name: {"source": data.source, "files": data.files()} for name, data in needed.items()}
        reproductions = [{"name": name, **each._asdict()} for name, each in REPRODUCTIONS.items()]
        show_json({"reproductions": reproductions, "datasets": files})
        return
    rows = [
        [name, r.paper, r.shows, ", ".join(r.datasets) or "none", *map(_duration, (r.quick_minutes, r.full_minutes))]
        for name, r in REPRODUCTIONS.items()
    ]
    columns = ["name", "paper", "shows", "public data", "quick", "full"]
    show_table("Reproductions, and approximate times on two cores", columns, rows, numeric=4)
    print()
    sources = [[name, data.source, "\n".join(data.files())] for name, data in needed.items()]
    show_table("Public data: where to get them, and their files in --data", ["name", "source", "files"], sources, 3)


def _duration(minutes: float) -> str:
    return f"{minutes:g} min" if minutes < 120 else f"{minutes / 60:.0f} h"


def _print(chosen: Reproduction, outcome: Outcome) -> None:
    console = Console(highlight=False)
    console.print(f"[bold]{escape(chosen.paper)}[/]: {escape(chosen.shows)}\n{escape(outcome.data)}\n", soft_wrap=True)
    console.print(f"{escape(outcome.notes)}\n" if outcome.notes else "", soft_wrap=True)
    for table in outcome.tables:
        if console.is_terminal and len(str(table).splitlines()[1]) > console.width:
            print(f"{table}\n")  # a terminal wraps the lines; show_table would truncate them
            continue
        show_table(table.title, table.columns, table.texts())
        console.print(f"[dim]{escape(table.note)}[/]\n" if table.note else "", soft_wrap=True)
    console.print("[bold]Claims[/]")
    for claim in outcome.claims:
        verdict = f"[{COLORS[claim.verdict]}]{claim.verdict}[/]"
        console.print(f"{verdict}: {escape(claim.text)}\n    [dim]{escape(claim.evidence)}[/]", soft_wrap=True)


if __name__ == "__main__":
    try:
        main()
    except LuceError as error:
        sys.exit(f"Error: {error}")
