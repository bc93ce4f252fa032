"""The smallest models of each kind: to score with one compiles all that any model of its kind needs."""

from collections.abc import Iterator

import numpy as np

from luce.data.transforms import ListMinMax, ListZScore, SecondOrder
from luce.scoring.forest import Forest, constant_tree
from luce.scoring.models import LinearModel, Parameters, ScoringModel, TreeModel
from luce.scoring.scorer import Scorer


def example_scorers() -> Iterator[tuple[str, Scorer]]:
    """A scorer of one feature for each kind of model, and one for the transforms that are compiled.

    >>> [scorer.score([[1.0]], [0, 1]).shape for _, scorer in example_scorers()]
    [(1,), (1,), (1,)]
    """
    one, none = np.array([1.0]), np.empty(0)
    first = np.array([0])
    products = SecondOrder(n_features=1, left=first, right=first, correlations=one)
    models: dict[str, ScoringModel] = {
        "trees": TreeModel(forest=Forest((constant_tree(0.0, 1),), 1, ("none",))),
        "linear": LinearModel(parameters=Parameters(one, none, none)),
        "transforms": LinearModel(
            (ListMinMax(), ListZScore(), products), parameters=Parameters(np.ones(2), none, none)
        ),
    }
    for name, model in models.items():
        yield name, Scorer(model, 1, None, None, model.within_lists)
