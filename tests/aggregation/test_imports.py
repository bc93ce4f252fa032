"""Rank aggregation stands on its own: a fit loads none of the rankers, and no heavy package but scikit-learn."""

import os
import subprocess
import sys

import pytest

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


COMPILED = """
import sys, luce
from numba.core import event
with event.install_recorder("numba:compile") as recorder:
    luce.PlackettLuce(n_jobs=1).fit(eval(sys.argv[1]))
dispatchers = [each.data["dispatcher"].py_func for _, each in recorder.buffer if each.is_start]
print("\\n".join(each.__qualname__ for each in dispatchers if each.__module__.startswith("luce.")))
"""
ORDERS = '[["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"]]'
PAIRS = 'luce.Rankings.from_pairs(["a", "b", "a", "c"], ["b", "a", "c", "a"])'


@pytest.mark.parametrize(
    ("rankings", "expected"),
    [
        (ORDERS, {"_first_wrong_row", "sums", "squares"}),
        (
            PAIRS,
            {
                "_first_wrong_row",
                "add_to_table",
                "bradley_terry_sums",
                "_differences",
                "bradley_terry",
                "_sigmoid",
                "_add",
            },
        ),
    ],
)
def test_a_first_fit_compiles_what_it_uses_alone(rankings, expected, tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    words = [sys.executable, "-c", COMPILED, rankings]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout.split()
    own = [name for name in done if name not in ("exp", "log1p_and_inverse")]  # of which there may be several
    assert sorted(own) == sorted(expected)
