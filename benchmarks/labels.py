"""Extreme multi-label ranking as in the 2020 paper: `python benchmarks/labels.py --data ../shared/data`.

Delicious with 983 labels, its own training and test rows. One in four of the training rows, drawn by the seed, stops
the training and chooses the learning rate from 1e-4, 1e-3 and 1e-2. Two layers, 256 hidden values, ReLU, Adam, batches
of 128. Prints the means over seeds beside the published figures (Ma et al. 2020, tables 1 and 4), their standard
deviations, and how long a seed took, with all its learning rates. psndcg is normalised as the public tables are; the
paper's is not between its psp@1 and its psp@k, so it was normalised in another way.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from luce import LabelRanker, TaggedData, read_tagged
from luce.data import split
from measuring import show_machine

PUBLISHED = {
    "precision": {
        "pl-partition": (66.72, 61.30, 56.63, 47.61),
        "pl-lb": (66.12, 60.13, 54.72, 45.76),
        "ranknet": (64.11, 58.46, 53.60, 45.62),
        "ranksvm": (61.95, 57.05, 52.74, 44.57),
    },
    "psp": {
        "pl-partition": (33.22, 34.23, 35.02, 35.26),
        "pl-lb": (30.36, 31.69, 31.82, 31.91),
        "ranknet": (32.02, 32.76, 32.85, 33.27),
        "ranksvm": (31.03, 31.61, 32.20, 32.71),
    },
    "ndcg": {
        "pl-partition": (66.72, 62.78, 59.25, 52.48),
        "pl-lb": (66.12, 61.57, 57.51, 50.70),
        "ranknet": (64.11, 60.00, 56.29, 50.23),
        "ranksvm": (61.95, 58.24, 55.01, 49.08),
    },
    "psndcg": {
        "pl-partition": (33.22, 36.01, 37.58, 39.48),
        "pl-lb": (30.36, 33.26, 34.55, 36.09),
        "ranknet": (32.02, 34.34, 35.77, 37.43),
        "ranksvm": (31.03, 33.29, 34.87, 36.52),
    },
}
CUTOFFS = (1, 3, 5, 10)
RATES = (1e-3, 1e-2, 1e-4)
METRICS = [f"{name}@{k}" for name in PUBLISHED for k in CUTOFFS]


def one_seed(
    objective: str, seed: int, train: TaggedData, test: TaggedData, settings: dict[str, Any]
) -> dict[str, Any]:
    """The figures of one training, in per cent, with its learning rate, epochs and seconds."""
    part, validation = split(train, (0.75, 0.25), seed=seed)
    start, busy = time.perf_counter(), time.process_time()
    ranker = LabelRanker(objective, learning_rate=RATES, random_state=seed, **settings).fit(part, validation=validation)
    spent = {"seconds": time.perf_counter() - start, "busy": time.process_time() - busy}
    means = ranker.evaluate(test, metrics=METRICS, n_bootstrap=0).means
    found = {name: 100 * value for name, value in means.items()}
    return found | {"rate": ranker.learning_rate_, "epochs": len(ranker.history_), **spent}


def show(objective: str, runs: list[dict[str, Any]]) -> None:
    """The means over seeds, their deviations, and the published figures."""
    rates = ", ".join(f"{run['rate']:g} ({run['epochs']})" for run in runs)
    seconds, busy = (np.mean([run[key] for run in runs]) for key in ("seconds", "busy"))
    print(f"\n{objective}: {len(runs)} seeds, {seconds:.1f} s each, {busy:.1f} s of processor time")
    print(f"learning rates (epochs): {rates}")
    print(f"{'':10}" + "".join(f"{f'@{k}':>16}{'paper':>8}" for k in CUTOFFS))
    for name, published in PUBLISHED.items():
        cells = ""
        for k, figure in zip(CUTOFFS, published.get(objective, ()) or [np.nan] * 4, strict=True):
            values = [run[f"{name}@{k}"] for run in runs]
            paper = "–" if np.isnan(figure) else f"{figure:.2f}"
            cells += f"{np.mean(values):10.2f} ±{np.std(values):4.2f}{paper:>8}"
        print(f"{name:10}{cells}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that has delicious-983/train.txt and test.txt")
    parser.add_argument("--objectives", default="pl-partition,pl-lb,ranknet,ranksvm")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=40, help="the most passes over the rows, for each learning rate")
    parser.add_argument("--metric", default="precision@5", help="what the validation rows judge by")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    show_machine("torch", "numpy", "numba")
    train, test = (read_tagged(given.data / "delicious-983" / f"{part}.txt") for part in ("train", "test"))
    print(f"{train!r}\n{test!r}")
    settings = {"epochs": given.epochs, "metric": given.metric, "n_jobs": given.threads, "device": "cpu"}
    for objective in given.objectives.split(","):
        show(objective, [one_seed(objective, seed, train, test, settings) for seed in range(given.seeds)])


if __name__ == "__main__":
    main()
