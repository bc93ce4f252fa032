"""How long does one request take: the scores of 100 or 500 items, from NumPy or pandas, compared with LightGBM.

python benchmarks/latency.py
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import luce
from luce.data.synthetic import web_search
from measuring import seconds, show_machine

REQUESTS = 300
"""Requests of each kind; the shortest counts."""


def main() -> None:
    show_machine("luce", "numpy", "pandas", "pyarrow", "lightgbm")
    for n_features in (50, 136):
        compare(n_features)


def compare(n_features: int) -> None:
    """Requests to rankers of so many features, on one thread; LightGBM scores with the same trees."""
    data = web_search(100, n_features=n_features, mean_length=50, seed=0).dataset
    names = [f"feature {column}" for column in range(n_features)]
    frame = pd.DataFrame(data.features, columns=names)
    fit = {"y": data.labels, "group": data.sizes}
    linear = luce.LinearRanker(n_jobs=1, max_iter=10).fit(frame, **fit)
    trees = luce.TreeRanker(n_jobs=1, n_estimators=200, num_leaves=31, validation_fraction=None).fit(frame, **fit)
    colors = np.random.default_rng(0).choice(["red", "green", "blue"], (data.n_rows, 5))
    mixed = pd.concat([frame.iloc[:, 5:], pd.DataFrame(colors, columns=list("abcde"))], axis=1)
    by_color = luce.LinearRanker(n_jobs=1, max_iter=10).fit(mixed, **fit)
    booster = trees.to_lightgbm()

    def lightgbm(rows: Any) -> Any:
        return booster.predict(rows, num_threads=1)

    print(f"\n{n_features} features; {trees.forest_.rounds} trees of {trees.num_leaves} leaves; milliseconds")
    for n_rows in (100, 500):
        rows = data.features[:n_rows]
        named, shuffled = frame[:n_rows], frame[:n_rows][names[::-1]].assign(query=1, label=0.0)
        peers = {kind: timed(lightgbm, given) for kind, given in (("NumPy", rows), ("pandas", named))}
        for kind, value in peers.items():
            show(n_rows, "LightGBM", kind, value)
        for name, ranker in (("linear", linear), ("trees", trees)):
            show(n_rows, name, "NumPy", base := timed(ranker.predict, rows), peers["NumPy"])
            show(n_rows, name, "pandas", timed(ranker.predict, named), peers["pandas"], base)
            show(n_rows, name, "pandas, another order, 2 more columns", timed(ranker.predict, shuffled), None, base)
        show(n_rows, "linear", "pandas, 5 of the columns text", timed(by_color.predict, mixed[:n_rows]))


def timed(predict: Callable[[Any], Any], given: Any) -> float:
    """Milliseconds of the quickest request."""
    return 1e3 * seconds(lambda: predict(given), REQUESTS)


def show(n_rows: int, who: str, kind: str, value: float, peer: float | None = None, base: float | None = None) -> None:
    ratio = "" if peer is None else f"{value / peer:6.2f} × LightGBM"
    more = "" if base is None else f"{value - base:+7.3f} to NumPy"
    print(f"  {n_rows:>4} rows  {who:8}  {kind:38} {value:8.3f}  {ratio:18} {more}".rstrip())


if __name__ == "__main__":
    main()
