"""Outputs of reproductions stored in papers/results, one JSON file each, from which docs/papers.md is generated."""

import hashlib
import json
import re
import shlex
from pathlib import Path
from typing import Any

from luce.files import atomic_write
from luce.report.svg import Picture
from papers import REPRODUCTIONS
from papers.environment import ROOT, commit_of
from papers.outcome import Outcome
from papers.plots import panels
from papers.runner import Run

RESULTS, PICTURES = ROOT / "papers" / "results", ROOT / "docs" / "pictures"

_INNERMOST = re.compile(r'\[\s+((?:[^][{}"]|"(?:[^"\\]|\\.)*")*?)\s+\]')


def store(run: Run, outcome: Outcome, results: Path = RESULTS, pictures: Path = PICTURES) -> Path:
    """Write the outcome of a run, its provenance and its figures; an error if the code that ran is not committed."""
    chosen, drawn = REPRODUCTIONS[run.name], outcome.pictures()
    tables = [vars(table.rounded()) for table in outcome.tables]
    content: dict[str, Any] = {
        "name": run.name,
        "paper": chosen.paper,
        "command": command(run),
        "commit": commit_of(run.cache.here.sources),  # of the start: files edited during the run were not used
        "seeds": run.cache.seeds() or [run.seed],
        "folds": run.cache.folds(),
        "computed": [
            {"commit": commit_of(each.sources), "machine": each.machine, "versions": each.versions}
            for each in run.cache.environments()
        ],
        **outcome.to_dict() | {"tables": tables},
    }
    if drawn:
        content["picture"] = _write_picture(pictures / f"{run.name}.svg", drawn)
    results.mkdir(exist_ok=True)
    path = results / f"{run.name}.json"
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    with atomic_write(path) as partial:  # the innermost lists, such as the rows of tables, on one line each
        partial.write_text(_INNERMOST.sub(_on_one_line, text) + "\n", encoding="utf-8")
    return path


def load(name: str, results: Path = RESULTS) -> dict[str, Any] | None:
    """The stored output of a reproduction, or None."""
    path = results / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def command(run: Run) -> str:
    """The command that repeats a run, without the paths of this machine.

    >>> command(Run("pl-rank", Path("/data"), quick=True))
    'python -m papers pl-rank --data DIR --quick'
    """
    options = [
        *(["--data", "DIR"] if run.data is not None else []),
        *(["--quick"] if run.quick else []),
        *(["--seed", str(run.seed)] if run.seed else []),
    ]
    return shlex.join(["python", "-m", "papers", run.name, *options])


def digest(path: Path) -> str:
    """The digest of a picture, by which a test compares it with the stored output."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _write_picture(path: Path, drawn: list[Picture]) -> dict[str, str]:
    with atomic_write(path) as partial:
        partial.write_text(panels(drawn) + "\n", encoding="utf-8")
    titles = "; ".join(each.description.partition(":")[0] for each in drawn)
    return {"file": path.name, "digest": digest(path), "description": f"{titles}."}


def _on_one_line(found: re.Match[str]) -> str:
    return "[" + " ".join(line.strip() for line in found[1].splitlines()) + "]"
