"""The simulation of 2020: its learner finds the worths, and its verdicts say what the errors and costs say."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from papers.partition_2020 import free_scores, simulation
from papers.partition_2020.free_scores import cost, error
from papers.partition_2020.simulation import METHODS, ORACLE, OURS, SimulationGrid
from papers.runner import Run

GRID = SimulationGrid((10, 1_000), (100,), 2, (100, 100_000), 1.0)


def errors(**means):
    """Errors of two seeds at both points; a method's mean is 1 unless it is named (its - as _)."""
    named = {name.replace("_", "-"): mean for name, mean in means.items()}
    return {
        (method, n, 100): np.array([0.9, 1.1]) * (named.get(method, 1.0) if n == 10 else {OURS: 0.5}.get(method, 1.0))
        for method in METHODS
        for n in GRID.items
    }


def test_more_rankings_and_the_right_likelihood_find_the_worths_better():
    few, many = (error(OURS, items=6, rankings=n, seed=1)["error"] for n in (40, 1_500))
    assert many < few / 3
    assert many < error("attrank", items=6, rankings=1_500, seed=1)["error"] / 3
    assert (
        error(OURS, items=6, rankings=40, seed=1)["error"] == few != error(OURS, items=6, rankings=40, seed=2)["error"]
    )


def test_the_oracle_knows_the_order():
    assert error(ORACLE, items=8, rankings=400, seed=0)["error"] < error(OURS, items=8, rankings=400, seed=0)["error"]


def test_costs_are_of_a_thousand_steps():
    found = cost("attrank", items=20, limit=0.05)
    assert 1 <= found["steps"] <= 1_000
    assert found["seconds"] * found["steps"] / 1_000 < 5 and found["megabytes"] >= 0


def test_memory_of_before_hides_nothing_that_steps_add():
    """In a process of its own, as in a run: what this one has freed but not given back would take in the steps."""
    program = (
        "import numpy; from papers.partition_2020.free_scores import cost;"
        "numpy.ones(40_000_000).sum();"  # 320 MB, and gone again
        "print(cost('attrank', items=20_000, limit=0.01)['megabytes'])"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root)
    assert float(done.stdout) > 3


def test_every_point_that_is_lost_is_named():
    best, close, *small = simulation._error_claims(errors(pl_partition=0.5, pl_lb=3.0))
    assert {claim.verdict for claim in (best, close, *small)} == {"held"}
    best, close, ranknet, ranksvm = simulation._error_claims(errors(pl_partition=0.8, ranksvm=0.7, pl_topk=0.3))
    assert [each.verdict for each in (best, close, ranknet, ranksvm)] == ["held in part"] * 2 + ["not held", "held"]
    assert (
        "Positive in 2 of 4 trials (0 of 2 on 10 items, 2 of 2 on 1,000 items), by −0.125 to +1: 100 rankings, 2 seeds."
        in (best.evidence)
    )
    assert "smallest at 1 of 2 points; not at N = 10, n = 100: ranksvm 7.00e−01 against 8.00e−01." in best.evidence
    assert "2.67 times that of PL-TopK, at N = 10," in close.evidence


def test_every_seed_counts():
    mixed = errors(pl_partition=0.5)
    mixed["pl-lb", 10, 100] = np.array([0.4, 2.0])  # the mean is higher than ours
    best, *_ = simulation._error_claims(mixed)
    assert best.verdict == "held in part" and "Positive in 3 of 4 trials" in best.evidence


def costs(**powers):
    """Costs that are 1 at the first size and grow by these powers of N, 1 unless named."""
    named = {name.replace("_", "-"): power for name, power in powers.items()}
    return {
        (method, n): {"seconds": (n / 100) ** named.get(method, 1.0), "megabytes": float(n), "steps": 9}
        for method in METHODS
        for n in GRID.cost_items
    }


def test_cost_claims_compare_growth():
    claims = simulation._cost_claims(costs(ranknet=1.5, ranksvm=1.4, pl_partition=0.9, pl_lb=0.95, attrank=0.9), GRID)
    time, memory, overhead, longer, alike = (claim.verdict for claim in claims)
    assert (time, memory, overhead, longer, alike) == ("held", "not held", "held", "held in part", "held")
    assert "N^1.50 (ranknet)" in claims[0].evidence
    assert "up to 1.00 times as long as PL-LB (100 items): 1.00 at 100, 0.71 at 100,000 items." in claims[2].evidence
    quick = {key: one | {"seconds": 1e-6 * one["seconds"]} for key, one in costs(ranknet=1.5).items()}
    assert "N^1.50 (ranknet)" in simulation._cost_claims(quick, GRID)[0].evidence, "on a quick machine too"
    slow = costs(ranknet=1.5, ranksvm=1.0, pl_partition=1.2, pl_lb=1.0)
    assert [claim.verdict for claim in simulation._cost_claims(slow, GRID)][:3] == [
        "held in part",
        "not held",
        "not held",
    ]


@pytest.fixture
def in_process(monkeypatch):
    """Points are computed in this process."""
    points = Run.points
    monkeypatch.setattr(Run, "points", lambda *args, isolated=False, processes=1, **options: points(*args, **options))


def test_run_on_a_small_grid(in_process, monkeypatch):
    monkeypatch.setattr(free_scores, "MAX_STEPS", 40)
    monkeypatch.setattr(simulation, "QUICK", SimulationGrid((6,), (30, 60), 2, (10, 40), 0.01))
    outcome = simulation.run(Run("partition-simulation", quick=True, seed=5))
    worths, cost_table = outcome.tables
    assert [row[:2] for row in worths.rows] == [["6", "30"], ["6", "60"]]
    assert worths.rows[0][2].startswith(
        f"{np.mean([error(OURS, 6, 30, seed)['error'] for seed in (5, 6)]):.2e} ±".replace("-", "−")
    )
    assert [row[:2] for row in cost_table.rows] == [["10", "s"], ["10", "MB"], ["40", "s"], ["40", "MB"]]
    assert "n = 30 to 60 rankings, 2 seeds from 5" in outcome.data and len(outcome.claims) == 9
    drawn = outcome.pictures()
    assert len(drawn) == 3 and all("pl-topk" in each.description for each in drawn)
