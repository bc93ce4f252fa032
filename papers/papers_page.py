"""docs/papers.md, generated from the stored outputs of the reproductions: `python -m papers --page`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from papers import REPRODUCTIONS
from papers.environment import ROOT
from papers.outcome import RULE, VERDICTS, ResultTable
from papers.stored_output import RESULTS, load

PAGE = ROOT / "docs" / "papers.md"

INTRODUCTION = f"""\
<!-- Generated from papers/results by `python -m papers --page`: do not edit. -->

# Reproducing the papers

From a clone of the repository, `python -m papers NAME` repeats the experiments behind the published tables and figures,
prints our results next to the published ones, and gives each claim of the paper a verdict. This page is generated from
the outputs stored in `papers/results`: every figure on it comes from one of these files, which also gives the command,
the commit, the seeds, the machine and the versions.

{RULE} Verdicts are computed from the results; none is a matter of judgment.

`python -m papers --list` shows the public data that each experiment uses, and where to put the files. Without these
data, an experiment runs on synthetic data of the same shape, and on three small public sets (MQ2008, a sample of
MSLR-WEB30K, LightGBM's ranking example) if they are in the folder of `--data`.
"""

OPTIONS = """\
`--quick` takes minutes instead of hours, `--cache FILE` lets an interrupted run resume, `--report PAGE.html` writes all
tables and figures to a page, and `--data DIR` is the folder of the public data. To update this page, run a reproduction
with `--store`, then `python -m papers --page`.
"""


def papers_page(results: Path = RESULTS) -> str:
    """The page."""
    outputs = {name: load(name, results) for name in REPRODUCTIONS}
    rows = [
        [f"`python -m papers {name}`", _citation(chosen.paper), chosen.shows, _summary(outputs[name])]
        for name, chosen in REPRODUCTIONS.items()
    ]
    blocks = [INTRODUCTION, _table(["command", "paper", "shows", "claims"], rows), OPTIONS]
    for paper, names in groupby(REPRODUCTIONS, lambda name: REPRODUCTIONS[name].paper):
        blocks.append(f"## {paper.partition('), ')[2]}\n\n{_citation(paper)}.\n")
        for name in names:
            blocks += [f"### {REPRODUCTIONS[name].shows}: `python -m papers {name}`\n", *_section(name, outputs[name])]
    return "\n".join(blocks)


def _citation(paper: str) -> str:
    return paper.partition(")")[0] + ")"


def _summary(output: Mapping[str, Any] | None) -> str:
    if output is None:
        return "not run yet"
    verdicts = [claim["verdict"] for claim in output["claims"]]
    return ", ".join(f"{verdicts.count(each)} {each}" for each in VERDICTS if each in verdicts)


def _section(name: str, output: Mapping[str, Any] | None) -> list[str]:
    if output is None:
        return ["Not run yet.\n"]
    blocks = [f"{_escaped(text)}\n" for text in (output["data"], output["notes"]) if text]
    if "picture" in output:
        blocks.append(f"![{output['picture']['description']}](pictures/{output['picture']['file']})\n")
    claims = [[claim["text"], claim["verdict"], claim["evidence"]] for claim in output["claims"]]
    blocks.append(_table(["claim", "verdict", "evidence"], claims))
    for table in (ResultTable(**each) for each in output["tables"] if each["on_page"]):
        numeric = "".join([":--|", "--:|" * (len(table.columns) - 1)])
        blocks.append(f"**{_escaped(table.title)}**\n\n{_table(table.columns, table.texts(), numeric)}")
        blocks += [f"{_escaped(table.note)}\n"] if table.note else []
    return [*blocks, _provenance(name, output)]


def _provenance(name: str, output: Mapping[str, Any]) -> str:
    drawn = ", ".join(f"{word} {_numbers(output[word])}" for word in ("seeds", "folds") if output[word])
    places = [
        f"at commit `{each['commit'][:10]}` on {each['machine']}, with "
        + ", ".join(f"{package} {version}" for package, version in each["versions"].items())
        for each in output["computed"]
    ]
    computed = f"`{output['command']}`; {drawn}; computed {'; and '.join(places)}."
    return f"{computed} Output: `papers/results/{name}.json`.\n"


def _numbers(values: Sequence[int]) -> str:
    """Numbers in a row by the first and the last.

    >>> _numbers([0, 1, 2, 3]), _numbers([0, 1]), _numbers([1, 5, 6])
    ('0 to 3', '0, 1', '1, 5, 6')
    """
    in_row = len(values) > 2 and values[-1] - values[0] == len(values) - 1
    return f"{values[0]} to {values[-1]}" if in_row else ", ".join(map(str, values))


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], alignment: str = "") -> str:
    lines = [columns, *([_escaped(cell) for cell in row] for row in rows)]
    head, *body = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([head, f"|{alignment or '---|' * len(columns)}", *body, ""])


def _escaped(text: str) -> str:
    """Text in which nothing but backticks is markup."""
    return re.sub(r"([|<*\[\]])", r"\\\1", text)
