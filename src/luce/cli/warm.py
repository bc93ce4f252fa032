"""`luce warm`: the kernels that scoring needs, compiled into the cache."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.options import Json
from luce.cli.output import say, show_json, show_table

Models = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[MODEL]...", help="Model files. (default: what linear models and trees of any kind need)"),
]


def warm(models: Models = None, json: Json = False) -> None:
    """Compile what scoring needs, so that the first request does not wait for it: a step of the build of a container.

    The cache is in the folder NUMBA_CACHE_DIR, if that is set. Compiled code is for one kind of processor; for an image
    that runs on others, set NUMBA_CPU_NAME=generic, during the build and in the image.

    Example: luce warm model.luce
    """
    import numpy as np

    found = []
    for name, scorer in _scorers(models):
        start = time.perf_counter()
        scorer.score(np.zeros((1, scorer.n_features), dtype=np.float32), [0, 1])
        found.append({"scored": name, "seconds": round(time.perf_counter() - start, 2)})
    if json:
        show_json({"cache": _cache(), "compiled": found})
        return
    show_table(None, ["scored", "seconds"], [[each["scored"], f"{each['seconds']:.2f}"] for each in found])
    say(f"Compiled code is cached in {_cache()}.")


def _scorers(models: list[Path] | None) -> Any:
    """Scorers that need all that is to be compiled, and their names."""
    if not models:
        from luce.scoring.examples import example_scorers

        return example_scorers()
    from luce.models import load_scorer

    return ((str(path), load_scorer(path)) for path in models)


def _cache() -> str:
    """The folder of the compiled code."""
    from luce.kernels.tree_scores import cpu

    return str(cpu.add_scores.stats.cache_path)
