"""Lists that every objective can work on: ragged, with ties, unobserved items, empty and one-item lists."""

from itertools import pairwise

import numpy as np

from luce.objectives import OBJECTIVES, Draw, Evaluation, objective

DRAW = Draw(seed=3, step=1)
SIZES = [5, 1, 0, 8, 3, 12]
GRADES = 4


def shaped(name: str, n_rows: int, rng: np.random.Generator, spread: float = 2.0) -> np.ndarray:
    """Random scores in the shape that the objective takes."""
    shape = (n_rows, GRADES) if OBJECTIVES[name].one_output_per_grade else n_rows
    return rng.normal(0, spread, shape)


def suitable(name: str, labels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Labels that the objective accepts: a full order at the top is asked for by some."""
    if name != "pl-topk":
        return labels
    labels = labels.copy()
    for a, b in pairwise(offsets):
        above = a + np.flatnonzero(labels[a:b] > np.nanmin(labels[a:b])) if np.isfinite(labels[a:b]).any() else []
        labels[above] += np.arange(len(above)) / 100
    return labels


def ragged(name: str, seed: int = 0, spread: float = 2.0, observed: bool = False):
    """Scores, labels and offsets."""
    rng = np.random.default_rng(seed)
    offsets = np.cumsum([0, *SIZES])
    labels = rng.integers(0, GRADES, offsets[-1]).astype(float)
    if not observed:
        labels[[2, 9]] = np.nan
    return shaped(name, offsets[-1], rng, spread), suitable(name, labels, offsets), offsets


def without_ties(name: str, seed: int = 0):
    """The same with no two labels of a list equal, as far as the objective takes such labels."""
    scores, labels, offsets = ragged(name, seed)
    if not OBJECTIVES[name].one_output_per_grade:
        labels = labels + np.random.default_rng(seed).permutation(len(labels)) / 10_000
    return scores, labels, offsets


def evaluate(name: str, scores, labels, offsets=None, **settings) -> Evaluation:
    """The objective with its default options, its draw held."""
    settings.setdefault("draw", DRAW)
    return objective(name).value_and_gradient(scores, labels, offsets, **settings)
