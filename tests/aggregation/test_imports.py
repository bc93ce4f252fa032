"""Rank aggregation stands on its own: a fit loads none of the rankers, and no heavy package but scikit-learn."""

import subprocess
import sys

FIT = """
import sys
from luce.aggregation import PlackettLuce
model = PlackettLuce(n_jobs=1).fit([["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"]])
assert model.convergence_.converged
print("\\n".join(sys.modules))
"""


def test_a_fit_loads_no_ranker_and_nothing_heavy():
    modules = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True).stdout.split()
    assert "luce.aggregation.plackett_luce" in modules
    heavy = (
        "torch",
        "lightgbm",
        "matplotlib",
        "jinja2",
        "typer",
        "rich",
        "luce.rankers",
        "luce.objectives",
        "luce.metrics",
    )
    assert [name for name in modules if name.startswith(tuple(f"{each}." for each in heavy)) or name in heavy] == []
