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


@pytest.mark.parametrize("given", ["rbp(p=0.95)@10", "RBP( P = .95 ) @ 10", "rbp(p=9.5e-1)@010"])
def test_a_parameter_is_part_of_the_name(given):
    found = metric(given)
    assert (str(found), found.name, found.cutoff, found.parameters) == ("rbp(p=0.95)@10", "rbp", 10, {"p": 0.95})
    assert str(metric("err(max_grade=4)")) == "err(max_grade=4)" and str(metric("ndcg(gain=Linear)@5")) == (
        "ndcg(gain=linear)@5"
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("rbp(p=1)", r"The parameter p of rbp must be a number ≥ 0 and < 1\. Got 1\.0"),
        ("rbp(p=high)", "The parameter p of rbp must be a number ≥ 0 and < 1. Got 'high'"),
        ("ndcg(gain=square)", "The parameter gain of ndcg must be 'exponential' or 'linear'. Got 'square'"),
        ("rbp(gain=linear)", "There is no parameter of rbp 'gain'.*Known: p"),
        ("rbp(0.9)", r"A parameter is given as in 'rbp\(p=…\)'. Got 'rbp\(0.9\)'"),
        ("mrr(p=0.5)", r"The metric mrr has no parameters\. Got 'mrr\(p=0.5\)'"),
        ("rbp(p=0.5", r"The parentheses of a metric must be closed, as in 'rbp\(p=0.95\)@10'"),
        ("rbp@10(p=0.5)", "The cutoff of rbp must be an integer"),
    ],
)
def test_bad_parameters(given, words):
    with pytest.raises(OptionError, match=words):
        metric(given)


def test_several_at_once():
    assert [str(one) for one in parse_metrics("ndcg@10, MAP,ndcg@10")] == ["ndcg@10", "map"]
    assert [str(one) for one in parse_metrics(["err", "ndcg@5"])] == ["err", "ndcg@5"]
    with pytest.raises(OptionError, match="at least one metric"):
        parse_metrics([])
    with pytest.raises(OptionError, match=r"must be names such as 'ndcg@10, err', or functions\. Got 3"):
        parse_metrics(3)


def test_a_parameter_after_the_cutoff_is_told_its_place():
    with pytest.raises(OptionError, match=r"Got 'ndcg@5\(gain=linear\)'\. Parameters come before the cutoff"):
        metric("ndcg@5(gain=linear)")
