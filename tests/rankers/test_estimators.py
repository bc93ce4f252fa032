"""Every public estimator as it is: scikit-learn's checks that need no data, and those of its habits that need some."""

import dataclasses
import pickle
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

from luce.aggregation import ItemScores, PlackettLuce
from luce.data.synthetic import web_search
from luce.objectives import objective
from luce.rankers import EnsembleRanker, LabelRanker, LinearRanker, NeuralRanker, TreeRanker

from .tagged import tagged

LISTS = web_search(12, n_features=4, mean_length=6, seed=1).dataset
VOTES = [["tea", "rum", "gin"], ["rum", "tea", "gin"], ["gin", "tea", "rum"]]
NETWORK = {"hidden_layer_sizes": (4,), "epochs": 2, "device": "cpu", "n_jobs": 1}
MEMBERS = [
    ("linear", LinearRanker(max_iter=3, n_jobs=1)),
    ("trees", TreeRanker(n_estimators=2, num_leaves=4, min_child_samples=1, n_jobs=1)),
]
ESTIMATORS = {
    "linear": (LinearRanker(max_iter=3, n_jobs=1), LISTS),
    "neural": (NeuralRanker(**NETWORK), LISTS),
    "trees": (TreeRanker(n_estimators=2, num_leaves=4, min_child_samples=1, n_jobs=1), LISTS),
    "ensemble": (EnsembleRanker(MEMBERS, n_jobs=1), LISTS),
    "labels": (LabelRanker(**NETWORK), tagged(n_rows=20, n_labels=6)),
    "items": (PlackettLuce(n_jobs=1), VOTES),
    "item scores": (ItemScores("ranknet", n_jobs=1), VOTES),
}
CHECKS = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]
EVERY = pytest.mark.parametrize("name", ESTIMATORS)


@pytest.mark.parametrize(("name", "check"), list(product(ESTIMATORS, CHECKS)))
def test_checks_of_scikit_learn_without_data(name, check):
    if not hasattr(estimator_checks, check):
        pytest.skip(f"scikit-learn before 1.6 has no {check}")
    getattr(estimator_checks, check)(name, clone(ESTIMATORS[name][0]))


def learned(estimator, data):
    """The score and all arrays of floats that a fit has left, by name."""
    score = {"score": estimator.score(data)} if hasattr(estimator, "score") else {}
    return score | {k: v for k, v in vars(estimator).items() if isinstance(v, np.ndarray) and v.dtype.kind == "f"}


@EVERY
def test_a_fit_returns_the_estimator_keeps_its_parameters_and_repeats(name):
    estimator, data = clone(ESTIMATORS[name][0]), ESTIMATORS[name][1]
    before = estimator.get_params()
    assert estimator.fit(data) is estimator
    assert estimator.get_params() == before
    first = learned(estimator, data)
    assert first
    for other in (clone(estimator).fit(data), estimator.fit(data), pickle.loads(pickle.dumps(estimator))):
        again = learned(other, data)
        assert again.keys() == first.keys()
        for each, values in first.items():
            np.testing.assert_allclose(again[each], values, rtol=1e-6, atol=1e-9, err_msg=each)


@pytest.mark.parametrize("name", [name for name, (estimator, _) in ESTIMATORS.items() if hasattr(estimator, "score")])
def test_a_score_before_the_fit_is_refused(name):
    estimator, data = ESTIMATORS[name]
    with pytest.raises(NotFittedError, match="fit"):
        clone(estimator).score(data)


@pytest.mark.parametrize(
    ("ranker", "data"),
    [
        (LinearRanker(optimizer="gradient-descent", max_iter=2, n_jobs=1), LISTS),
        (NeuralRanker(**NETWORK), LISTS),
        (LabelRanker(**NETWORK), ESTIMATORS["labels"][1]),
    ],
    ids=["linear", "neural", "labels"],
)
def test_every_step_tells_its_objective_how_many_passes_are_done(ranker, data):
    """A schedule of the number of samples grows a little at every step."""
    seen, softmax = [], objective("softmax")

    def watch(lists, **options):
        seen.append(lists.draw.epoch)
        return softmax.compute(lists, **options)

    clone(ranker).set_params(objective=dataclasses.replace(softmax, compute=watch), batch_size=3).fit(data)
    assert 0 == seen[0] < seen[1] < seen[2] < 1 <= max(seen)
