"""Stored outputs agree with themselves: claims follow from the tables beside them, and verdicts from their counts."""

import re

import pytest

from papers import REPRODUCTIONS
from papers.datasets import DatasetSpec
from papers.ordered_partitions_2011.learning import SYNTHETIC, Result
from papers.ordered_partitions_2011.published import ORDERS
from papers.ordered_partitions_2011.results import _fastest
from papers.outcome import HELD, IN_PART, NOT_HELD, Trial
from papers.partition_2020.label_claims import dataset_claims, follow_claim
from papers.partition_2020.label_results import TITLES, Cell
from papers.partition_2020.label_training import METRICS
from papers.partition_2020.published import CUTOFFS
from papers.partition_2020.simulation import FULL, METHODS, _cost_claims
from papers.stored_output import load

OUTPUTS = {name: output for name in REPRODUCTIONS if (output := load(name)) is not None}


def table(name, title):
    return next(each for each in OUTPUTS[name]["tables"] if each["title"] == title)


def numbers(text):
    """Those with decimals, in their order."""
    return [float(each.replace("−", "-")) for each in re.findall(r"−?\d+\.\d+", text)]


def assert_follow(claims, stored, within):
    """The claims are the stored ones, up to the rounding of the tables."""
    by_text = {each["text"]: each for each in stored}
    for claim in claims:
        assert claim.verdict == by_text[claim.text]["verdict"]
        assert numbers(claim.evidence) == pytest.approx(numbers(by_text[claim.text]["evidence"]), abs=within)


def test_claims_about_delicious_follow_from_its_tables():
    cell = Cell.of(DatasetSpec("delicious", "", None), 100)
    scores = {(cell, method): [{}] for method in TITLES}
    names = {f"{short}@{k}": f"{metric}@{k}" for metric, short in METRICS.items() for k in CUTOFFS}
    for title in ("Tables 1 and 2, D-1K", "Table 4, D-1K"):
        shown = table("partition-labels", title)
        rows = {row[0]: row[1:] for row in shown["rows"]}
        for method, own in ((method, rows[title]) for method, title in TITLES.items() if title in rows):
            means = (float(each.partition(" ")[0]) for each in own)
            scores[cell, method][0].update(zip((names[each] for each in shown["columns"][1:]), means, strict=True))
    claims = [*dataset_claims([cell], scores), follow_claim([cell], scores)]
    assert_follow(claims, OUTPUTS["partition-labels"]["claims"], 0.02)


def test_claims_about_costs_follow_from_their_table():
    names, costs = {"s": "seconds", "MB": "megabytes"}, {}
    for items, unit, *values in table("partition-simulation", "Figure 2: 1,000 steps of 20 rankings")["rows"]:
        for method, value in zip(METHODS, values, strict=True):
            costs.setdefault((method, int(items.replace(",", ""))), {})[names[unit]] = value
    assert_follow(_cost_claims(costs, FULL), OUTPUTS["partition-simulation"]["claims"], 0.02)


def test_the_claim_about_training_times_follows_from_table_1():
    times = {
        (row[0], order, Trial(SYNTHETIC, 400, 100, seed)): Result(0, float(row[-1]), {})
        for order, words in ORDERS.items()
        for row in table("ordered-partitions", f"Table 1, {words} features")["rows"]
        for seed in (0, 1)
    }
    assert_follow([_fastest(times)], OUTPUTS["ordered-partitions"]["claims"], 0.02)


def test_differences_of_trees_are_those_of_their_table():
    shown = table("listmle-trees", "NDCG@10 by the limit of rounds")["rows"]
    claims = {each["text"].partition(" ")[0]: each["evidence"] for each in OUTPUTS["listmle-trees"]["claims"]}
    systems = {"LambdaMART": claims["Tuned,"], "LightGBM lambdarank": claims["The"]}
    ours = {row[0]: row[2:5] for row in shown if row[1] == "PLRank(obj=1)"}
    for data, system, *cells in (row for row in shown if row[1] in systems):
        assert f"{data.partition(' (')[0]} {' / '.join(cells[4:])}" in systems[system]
        for mine, its, difference in zip(ours[data], cells[:3], cells[4:], strict=True):
            assert float(mine) - float(its) == pytest.approx(numbers(difference)[0], abs=1.1e-4)


def test_improvements_of_p_listmle_are_those_of_its_table():
    for data in ("synthetic mq2007-list", "synthetic mq2008-list", "mq2008"):
        rows = table("position-aware", f"Figure 1 on {data}")["rows"]
        for _, ndcg, _, above, *_ in rows[1:]:
            assert 100 * (float(rows[0][1]) / float(ndcg) - 1) == pytest.approx(above, abs=0.03)


@pytest.mark.parametrize("name", OUTPUTS)
def test_verdicts_follow_from_the_counts_of_their_evidence(name):
    for claim in OUTPUTS[name]["claims"]:
        found = re.match(r"(Positive in )?(\d+) of (\d+)( trials[^,]*|:)", claim["evidence"])
        if found is None:
            continue
        positive, trials = int(found[2]), int(found[3])
        possible = {HELD: positive == trials, NOT_HELD: positive == 0, IN_PART: 0 < positive < trials}
        assert possible.get(claim["verdict"], True), claim
        parts = re.findall(r"(\d+) of (\d+) on", claim["evidence"].partition(", by ")[0])
        assert not parts or [sum(map(int, each)) for each in zip(*parts, strict=True)] == [positive, trials]
