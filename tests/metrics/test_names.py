"""Names such as ndcg@10, read and refused."""

import pytest

from luce.errors import OptionError
from luce.metrics import METRICS, metric, parse_metrics


@pytest.mark.parametrize("given", ["ndcg@10", "NDCG@10", " ndcg @ 10 ", "nDcG@010"])
def test_capitals_and_spaces_do_not_matter(given):
    found = metric(given)
    assert (str(found), found.name, found.cutoff) == ("ndcg@10", "ndcg", 10)


def test_without_a_cutoff_it_is_the_record_of_the_table():
    assert all(
        metric(name) is record and str(record) == name and record.cutoff is None for name, record in METRICS.items()
    )


@pytest.mark.parametrize(
    "given", ["ndcg@", "ndcg@0", "ndcg@-1", "ndcg@2.5", "ndcg@ten", "ndcg@1@2", "ndcg@²", "ndcg@9999999999"]
)
def test_bad_cutoffs(given):
    with pytest.raises(OptionError, match=r"The cutoff of ndcg must be an integer ≥ 1, as in 'ndcg@10'\. Got 'ndcg@"):
        metric(given)


@pytest.mark.parametrize("name", [name for name, record in METRICS.items() if not record.takes_cutoff])
def test_cutoffs_of_metrics_that_take_none(name):
    with pytest.raises(OptionError, match=f"{name} has no cutoff.*Got '{name}@5'; use '{name}'"):
        metric(f"{name}@5")


def test_the_best_of_some_values_is_the_least_where_lower_is_better():
    assert metric("ndcg@5").best([0.2, 0.7, 0.5]) == 0.7
    assert metric("arp").best([2.0, 1.5, 3.0]) == 1.5


def test_unknown_names_get_the_nearest():
    with pytest.raises(OptionError, match=r"There is no metric 'nddcg'\. Did you mean 'ndcg'.*Known: arp, dcg"):
        metric("nddcg@10")
    with pytest.raises(OptionError, match="There is no metric ''"):
        metric("")
    with pytest.raises(OptionError, match=r"must be a name such as 'ndcg@10'\. Got 10"):
        metric(10)


def test_several_at_once():
    assert [str(one) for one in parse_metrics("ndcg@10, MAP,ndcg@10")] == ["ndcg@10", "map"]
    assert [str(one) for one in parse_metrics(["err", "ndcg@5"])] == ["err", "ndcg@5"]
    with pytest.raises(OptionError, match="at least one metric"):
        parse_metrics([])
    with pytest.raises(OptionError, match=r"must be names such as 'ndcg@10, err'\. Got 3"):
        parse_metrics(3)
