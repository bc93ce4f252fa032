"""How does the cost of each objective grow with the length of a list?

`python benchmarks/list_length.py` prints milliseconds for the loss and gradient of one list of 1,000, 10,000 and
100,000 items on one thread, every objective at its default options, and the exponent of the growth between the last
two. Lists have the grades of MSLR-WEB30K and normal scores; `--equal` gives all items one score, as before the first
boosting round.
"""

import argparse
import math

import numpy as np

from luce.errors import LuceError
from luce.objectives import OBJECTIVES
from measuring import make_lists, seconds, show_machine

LENGTHS = 1_000, 10_000, 100_000


def milliseconds(name: str, length: int, equal: bool) -> float:
    """The shortest of several evaluations; NaN where the objective refuses such a list."""
    lists = make_lists(np.array([length]), name)
    scores = np.zeros_like(lists.scores) if equal else lists.scores
    groups = {"item_groups": np.arange(length) % 2}  # fair-policy compares groups, the others ignore them
    try:
        return 1e3 * seconds(
            lambda: OBJECTIVES[name].value_and_gradient(scores, lists.labels, lists.offsets, **groups, n_jobs=1),
            repeats=5,
        )
    except LuceError as error:
        print(f"{name}: {error}")
        return math.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--equal", action="store_true", help="all scores equal")
    parser.add_argument("--only", default="", help="comma-separated names of objectives")
    options = parser.parse_args()
    show_machine("luce", "numpy", "numba")
    print(f"\nms for one list on one thread, scores {'all equal' if options.equal else 'normal'}")
    print(f"{'objective':28}" + "".join(f"{length:>12,}" for length in LENGTHS) + f"{'growth':>10}")
    for name in options.only.split(",") if options.only else OBJECTIVES:
        times = [milliseconds(name, length, options.equal) for length in LENGTHS]
        growth = math.log10(times[-1] / times[-2])
        print(
            f"{name:28}" + "".join(f"{each:>12.2f}" for each in times) + f"{'n^' + format(growth, '.2f'):>10}",
            flush=True,
        )


if __name__ == "__main__":
    main()
