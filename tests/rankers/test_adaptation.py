"""A background model adapted by a few lists of another genre is better than either alone."""

import numpy as np
import pytest

import luce

from .growing import quick
from .made import pages


def ndcgs(ranker, dataset):
    return luce.evaluate(ranker.predict(dataset), dataset, "ndcg@10", n_bootstrap=0).values["ndcg@10"]


def surely_better(values, others):
    """By more than two standard errors of the difference, list by list."""
    gained = values - others
    counted = gained[~np.isnan(gained)]
    return counted.mean() > 2 * counted.std() / np.sqrt(len(counted))


@pytest.fixture(scope="module")
def background():
    return quick("pl-partition", n_estimators=80).fit(pages(600, seed=1))


@pytest.mark.parametrize("likes", [(9, 20, 0.8), (5, 7, -0.8)], ids=str)
def test_adapted_is_better_than_either_alone(background, likes):
    """The rival that has the 50 lists alone is even allowed the number of trees that the test lists like best."""
    few, test = pages(50, 2, *likes), pages(300, 3, *likes)
    adapted = ndcgs(quick("pl-partition", n_estimators=20).fit(few, init_model=background), test)
    long = quick("pl-partition", n_estimators=120).fit(few)
    alone = [ndcgs(long.truncate(trees), test) for trees in (10, 20, 40, 80, 120)]
    assert surely_better(adapted, ndcgs(background, test))
    assert surely_better(adapted, max(alone, key=np.nanmean))


def test_adapting_to_the_same_genre_stops_before_it_spoils_the_background(background):
    few, judge, test = (pages(50, seed) for seed in (2, 4, 3))
    hasty = quick("pl-partition", n_estimators=60, early_stopping_rounds=10, learning_rate=0.5)
    adapted = hasty.fit(few, init_model=background, validation=judge)
    assert adapted.forest_.trees[:80] == background.forest_.trees
    assert adapted.forest_.rounds < 140
    assert np.nanmean(ndcgs(adapted, test)) > np.nanmean(ndcgs(background, test)) - 0.02
