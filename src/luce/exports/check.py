"""Whether an exported file scores as the ranker does: by the oracle of its format, on data or rows made to be hard."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from luce.arrays import Floats
from luce.data import Dataset
from luce.data.transforms import Standardize, chain_of
from luce.errors import OptionError
from luce.exports.adversarial import adversarial_rows
from luce.exports.network_form import Layer, layers_of
from luce.exports.parts import Part, feature_names, one_hot_features, parts_of
from luce.exports.record import Export, Rows
from luce.rankers.trees.lightgbm_package import forest_booster, lightgbm_features


@dataclass(frozen=True)
class Check:
    """What came of scoring rows by the exported file and by the ranker.

    Attributes
    ----------
    rows : int
        The number of rows.
    synthetic : bool
        Whether they were made from the model, thresholds and their neighbors included.
    different_rows : int
        Rows whose score differs by more than the engine's rounding of the same numbers.
    largest_difference : float
        The largest difference of two scores of a row, rounding included.
    """

    rows: int
    synthetic: bool
    different_rows: int
    largest_difference: float

    def within(self, tolerance: float) -> bool:
        """Whether no score differs by more."""
        return self.largest_difference <= tolerance  # not where it is NaN

    def __str__(self) -> str:
        made = "rows made from the model" if self.synthetic else "rows of the data"
        return (
            f"{self.different_rows:,} of {self.rows:,} {made} score differently by the rule of the engine; "
            f"largest difference {self.largest_difference:.3g}, rounding included"
        )


def check_export(export: Export, ranker: Any, content: bytes, data: Any = None) -> Check:
    """Score the rows of a dataset, or adversarial ones, by the oracle and by the ranker."""
    dataset = adversarial_rows(ranker) if data is None else data if ranker.kind == "labels" else ranker.aligned(data)
    found = export.oracle(content, rows_of(export, ranker, dataset))
    wanted, expected, rounding = expectation(export, ranker, dataset)
    apart = np.abs(found - expected) > rounding
    different = int((apart | ~np.isfinite(found)).reshape(dataset.n_rows, -1).any(axis=1).sum())
    largest = float(np.abs(found - wanted).max(initial=0.0))
    return Check(dataset.n_rows, data is None, different, largest)


def rows_of(export: Export, ranker: Any, dataset: Dataset) -> Rows:
    """The rows of a dataset with the features of the engine."""
    features = dataset.features.toarray() if dataset.is_sparse else dataset.features
    expanded = export.one_hot and any(part.kind != "trees" for part in parts_of(ranker))
    columns = one_hot_features(ranker, features) if expanded else features
    return Rows(columns, feature_names(ranker, one_hot=expanded), dataset.offsets)


def expectation(export: Export, ranker: Any, dataset: Dataset) -> tuple[Floats, Floats, Floats]:
    """The scores of the ranker; what an exact engine makes of them, with its rounding of leaves and sums; and how far
    its rounding may lead away from that."""
    wanted = ranker.predict(dataset.features if ranker.kind == "labels" else dataset)
    parts = parts_of(ranker)
    if any(part.kind != "trees" or part.model.outputs > 1 for part in parts):
        bounds = [part.weight * _rounding(part, dataset, wanted) for part in parts]
        return wanted, wanted, np.finfo(export.precision).eps * (np.sum(bounds, axis=0) + np.abs(wanted))
    expected = export.sum_leaves(np.hstack([_leaves(part, dataset) for part in parts]))
    return wanted, expected, 1e-12 * (1 + np.abs(expected))


def _leaves(part: Part, dataset: Dataset) -> Floats:
    """The value of the leaf of each tree that each row reaches, by LightGBM."""
    rows = lightgbm_features(part.ranker.transform_features(dataset))
    leaves = forest_booster(part.model).predict(rows, pred_leaf=True, num_threads=1)
    trees = part.model.trees
    return np.column_stack(
        [
            part.weight * tree.leaf_value[numbers]
            for tree, numbers in zip(trees, leaves.reshape(len(rows), -1).astype(int).T, strict=True)
        ]
    )


def _rounding(part: Part, dataset: Dataset, wanted: Floats) -> Floats:
    """How far rounding may move the scores, in units of the precision: operations times the sum of all sizes."""
    if part.kind == "trees":
        sizes = sum(np.abs(tree.leaf_value).max() for tree in part.model.trees)
        return np.full(dataset.n_rows, sizes * (len(part.model.trees) + 2))
    layers = _layers(part)
    if layers is None:
        return 1024 * (1 + np.abs(wanted))
    values = np.abs(part.ranker.transform_features(dataset)).astype(np.float64)
    for each in chain_of(part.transforms):
        if (
            isinstance(each, Standardize) and each.mean is not None
        ):  # what is subtracted may be larger than what is left
            values[:, : len(each.mean)] += np.abs(each.mean) / each.scale
    for matrix, bias, _ in layers:
        values = values @ np.abs(matrix).T + np.abs(bias)
    return (8 + sum(matrix.shape[1] for matrix, *_ in layers)) * values.sum(axis=1)


def _layers(part: Part) -> list[Layer] | None:
    """A linear model or a network as layers; None where it is more than that."""
    if part.kind == "linear":
        weights, intercept = part.model.weights, part.model.intercept
        matrix = weights.reshape(len(weights), -1).T
        return [Layer(matrix, intercept if intercept.size else np.zeros(len(matrix)), "identity")]
    try:
        return layers_of(part.ranker, "", ("relu", "sigmoid", "tanh", "gelu", "silu", "identity"))
    except OptionError:
        return None
