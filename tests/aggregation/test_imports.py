"""Rank aggregation stands on its own: a fit loads none of the rankers, and no heavy package but scikit-learn."""

import subprocess
import sys

FIT = """
import sys
from luce.aggregation import PlackettLuce
model = PlackettLuce(n_jobs=1).fit([["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"]])
assert model.convergence_.converged
model.save(sys.argv[1])
print("\\n".join(sys.modules))
"""

LOAD = """
import sys, luce
luce.load(sys.argv[1]).summary()
print("\\n".join(sys.modules))
"""


def modules_after(*words):
    return subprocess.run([sys.executable, "-c", *words], capture_output=True, text=True, check=True).stdout.split()


def test_a_fit_loads_no_ranker_and_nothing_heavy(tmp_path):
    modules = modules_after(FIT, str(tmp_path / "a.luce"))
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
    loaded = modules_after(LOAD, str(tmp_path / "a.luce"))
    assert "luce.aggregation.plackett_luce" in loaded
    assert {"torch", "lightgbm", "luce.objectives", "luce.rankers.ranker"}.isdisjoint(loaded)
