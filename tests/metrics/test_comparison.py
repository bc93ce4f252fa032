"""`luce.compare`: scores of any origin against those of a baseline."""

import numpy as np
import pytest

import luce
from luce.data.synthetic import web_search
from luce.errors import DataError, OptionError
from luce.metrics import compare_results

DATA = web_search(40, n_features=2, mean_length=8, seed=3).dataset
OLD, NEW = DATA.labels + np.random.default_rng(0).normal(size=(2, DATA.n_rows)) * [[3.0], [0.5]]


def test_a_comparison_of_scores_is_that_of_their_results():
    results = {name: luce.evaluate(each, DATA, "ndcg@5, arp") for name, each in (("baseline", OLD), ("new", NEW))}
    found = luce.compare({"new": NEW}, OLD, DATA, "ndcg@5, arp", n_permutations=500)
    assert [each.metric for each in found] == ["ndcg@5", "arp"]
    for each in found:
        assert each == compare_results(results, each.metric, n_permutations=500)[0]
        assert each.wins > each.losses  # lower is better in arp
    assert found[0].difference > 0 > found[1].difference
    (one,) = luce.compare(NEW, OLD, DATA, "ndcg@5", n_permutations=500)
    assert one == found[0]._replace(name="scores")


@pytest.mark.parametrize("settings", [{"empty": 0}, {"gain": "linear"}, {"max_grade": 9}], ids=str)
def test_settings_are_those_of_evaluate(settings):
    unjudged = luce.Dataset(DATA.features, np.where(DATA.labels > 2, DATA.labels, 0), DATA.offsets)
    found = luce.compare(NEW, OLD, unjudged, "ndcg, err", n_permutations=10, n_bootstrap=10, **settings)
    expected = [luce.evaluate(each, unjudged, "ndcg, err", n_bootstrap=0, **settings).means for each in (NEW, OLD)]
    assert [each.mean for each in found] == list(expected[0].values())
    assert [each.baseline_mean for each in found] == list(expected[1].values())


def test_several_are_corrected_together_and_print_as_a_table():
    found = luce.compare({"new": NEW, "same": OLD}, OLD, DATA, confidence=0.9)
    new, same = found
    assert new.randomization_holm == 2 * new.randomization
    assert (same.wins, same.losses, same.difference, same.randomization_holm) == (0, 0, 0, 1)
    assert found.table().column("name").to_pylist() == ["new", "same"]
    head, *rows = str(found).splitlines()
    assert "90 % interval" in head
    assert [row.split()[1] for row in rows] == ["new", "same"]
    assert f"+{new.difference:.4f}" in rows[0]


def test_scores_that_cannot_be_compared():
    for wrong in ({}, {"baseline": NEW}):
        with pytest.raises(OptionError, match="names other than 'baseline'"):
            luce.compare(wrong, OLD, DATA)
    with pytest.raises(DataError, match="scores"):
        luce.compare(NEW[1:], OLD, DATA)
