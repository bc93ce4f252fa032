"""A leaderboard of models from pairwise comparisons with ties: worths with intervals, tiers, and win probabilities.

In each battle a judge prefers one of two answers, or declares a draw. Models mostly meet others of similar strength, so
win rates say little. Davidson's model puts all battles on one scale and models draws, which are more likely between
models of similar worth.
"""

import numpy as np
import pyarrow as pa
from scipy.stats import kendalltau

import luce
from luce.report import write_aggregation

names = np.array(["heron", "tern", "plover", "curlew", "avocet", "dunlin", "knot", "ruff"])
strength = np.array([1.2, 1.0, 0.8, 0.4, 0.2, 0.0, -0.6, -1.1])


def battles(n: int, seed: int) -> pa.Table:
    """Simulated battles: pairs and outcomes, with draws most likely between equals."""
    random = np.random.default_rng(seed)
    near = np.exp(-1.5 * np.abs(np.subtract.outer(np.arange(8), np.arange(8)))) * ~np.eye(8, dtype=bool)
    first = random.integers(8, size=n)
    second = np.array([random.choice(8, p=near[i] / near[i].sum()) for i in first])
    left, right = np.exp(strength[first]), np.exp(strength[second])
    draw = 0.6 * np.sqrt(left * right)
    place = random.random(n) * (left + right + draw)
    winner = np.where(place < left, "left", np.where(place < left + right, "right", "draw"))
    return pa.table({"left": names[first], "right": names[second], "winner": winner})


table = battles(3_000, seed=1)
left, right, winner = (column.to_pylist() for column in table.columns)
games = luce.Rankings.from_pairs(left, right, winner, results=("left", "draw", "right"))
print(f"{len(games):,} battles, {int(games.tied.sum())} of them draws")

model = luce.PlackettLuce(ties="davidson", n_jobs=1).fit(games)
rows = model.summary().to_pylist()
print("rank  model   log worth  95 % interval   ranks  tier")
for row in rows:
    interval, ranks = f"{row['lower']:+.2f} to {row['upper']:+.2f}", f"{row['rank_lower']}–{row['rank_upper']}"
    print(f"{row['rank']:4}  {row['item']:7} {row['log_worth']:+9.3f}  {interval}  {ranks:5}  {row['tier']:4}")

best, last = rows[0]["item"], rows[-1]["item"]
chances = model.win_matrix([best, last])
won, lost = chances[0, 1], chances[1, 0]
print(f"{best} against {last}, which hardly met: {won:.0%} won, {1 - won - lost:.0%} drawn, {lost:.0%} lost")

# For comparison: win rates, with draws counted as half.
points = np.array([{"left": 1.0, "draw": 0.5, "right": 0.0}[each] for each in winner])
shares = [np.concatenate([points[np.equal(left, name)], 1 - points[np.equal(right, name)]]).mean() for name in names]
worths = dict(zip(model.names_, model.log_worths_, strict=True))
before, after = (kendalltau(estimate, strength)[0] for estimate in (shares, [worths[name] for name in names]))
print(f"Agreement with the true order (Kendall's τ): {before:.2f} by win rate, {after:.2f} by worth")

page = write_aggregation(
    "leaderboard.html",
    model,
    title="Leaderboard of eight models",
    summary=f"{best} leads after {len(games):,} battles; models in different tiers differ significantly.",
    command="python examples/model_leaderboard.py",
    settings={"ties": "davidson"},
)
print(f"Report: {page}")
