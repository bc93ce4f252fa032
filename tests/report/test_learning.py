"""The section on training: which curve, which iteration is best, and what a history may lack."""

import math

import numpy as np
import pytest

from luce.errors import OptionError
from luce.report.curves import RankerCurve, scale

NAN, INF = math.nan, math.inf


def test_the_best_iteration_is_that_of_the_validation_metric(page):
    history = [{"iteration": i, "loss": 3.0 - i, "validation": v} for i, v in enumerate([0.1, 0.7, 0.7])]
    made = page(histories={"a": history}, validation_metric="ndcg@10")
    assert "ended at iteration 2. The best ndcg@10, 0.7000, was at iteration 1." in made.sections["learning"]
    assert made.pictures[:2] == [
        "a: best ndcg@10 0.7000 at iteration 1, the last of 3 is 0.7000.",
        "a: best loss 2.0000 at iteration 1, the last of 3 is 1.0000.",
    ]
    lower = page(histories={"a": history}, validation_metric="arp").sections["learning"]
    assert "The best arp, 0.1000, was at iteration 0." in lower


def test_loss_decides_where_nothing_was_validated(page):
    history = [{"iteration": 10 * i, "loss": loss} for i, loss in enumerate([INF, 2.0, 2.5, NAN])]
    made = page(histories={"a": history})
    assert "ended at iteration 30. The best loss, 2.0000, was at iteration 10." in made.sections["learning"]
    assert len([text for text in made.pictures if ": best " in text]) == 1


def test_validation_measured_now_and_then(page):
    history = [{"iteration": 1, "loss": NAN}, {"iteration": 2, "validation": 0.25}]
    made = page(histories={"a": history}, validation_metric="ndcg")
    assert "The best ndcg, 0.2500, was at iteration 2." in made.sections["learning"]
    assert "learning" not in page(histories={"a": [{"iteration": 1, "loss": NAN}], "b": []}).sections


def test_several_rankers_get_a_small_picture_each(page):
    histories = {
        "first": [{"iteration": i, "loss": 3.0, "validation": v} for i, v in enumerate([0.1, 0.7, 0.6])],
        "never measured": [{"iteration": 1}],
        "second": [{"iteration": i, "validation": 0.5 - i % 7 / 100} for i in range(1000)],
    }
    made = page(histories=histories, validation_metric="ndcg@10")
    assert "ndcg@10 on the validation lists" in made.sections["learning"]
    assert made.pictures[:2] == [
        "first: best ndcg@10 0.7000 at iteration 1, the last of 3 is 0.6000.",
        "second: best ndcg@10 0.5000 at iteration 0, the last of 1000 is 0.4500.",
    ]
    longest = max(path.partition('"')[0].count("L") for path in made.source.split('<path d="'))
    assert longest <= 201, "points are thinned out"
    mixed = page(histories=histories | {"third": [{"iteration": 1, "loss": 2.0}]}, validation_metric="ndcg@10")
    assert "The early-stopping criterion" in mixed.sections["learning"]


def test_history_without_an_iteration_is_refused(page):
    with pytest.raises(OptionError, match=r"history of a must have 'iteration'. Got \{'loss': 1\}"):
        page(histories={"a": [{"loss": 1}]})


@pytest.mark.parametrize("metric, sign", [("ndcg@10", 1), ("arp", -1)])
def test_the_scale_of_small_pictures_holds_the_best_of_each(metric, sign):
    iterations, steps = np.arange(40.0), np.log1p(np.arange(40.0))
    rows = [RankerCurve(name, metric, iterations, sign * factor * steps, 39) for name, factor in (("a", 1), ("b", 2))]
    low, high = scale(rows)
    for row in rows:
        assert low < row.values[row.best] < high, "the last is the best"
    assert not low < rows[0].values[0] < high, "the first step is left out"
    assert scale([row._replace(values=np.ones(40)) for row in rows]) is None
