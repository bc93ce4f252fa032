"""`PlackettLuce.plot`: the best items on Matplotlib axes."""

from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

from luce.aggregation import PlackettLuce, Rankings
from luce.errors import OptionError

matplotlib.use("Agg")


@pytest.fixture
def model():
    orders = [["tea", "$rum", "gin", "ale"], ["$rum", "tea", "ale", "gin"], ["gin", "tea", "ale", "$rum"]]
    orders += [["ale", "tea"]]
    return PlackettLuce(n_jobs=1).fit(Rankings.from_orderings(orders * 5))


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def test_the_best_items_with_comparison_intervals(model):
    axes = model.plot(n_items=3, level=0.9)
    rows = model.summary().to_pylist()[:3]
    assert [label.get_text() for label in axes.get_yticklabels()] == [row["item"] for row in rows]
    assert [line.get_xdata()[0] for line in axes.lines] == pytest.approx([row["log_worth"] for row in rows])
    drawn = np.array([segment[:, 0] for lines in axes.collections for segment in lines.get_segments()])
    codes = [model.names_.index(row["item"]) for row in rows]
    assert drawn == pytest.approx(model.comparison_intervals(0.9)[codes])
    assert axes.get_xlabel() == "log worth, 90 % comparison intervals"


@pytest.mark.filterwarnings("ignore:Robust standard errors are")
def test_intervals_by_ranker(model):
    rankings = model.rankings_
    rankers = np.arange(len(rankings)) % 4
    own = PlackettLuce(n_jobs=1).fit(replace(rankings, rankers=rankers))
    axes = own.plot(n_items=1, kind="sandwich")
    best = own.names_.index(own.summary().to_pylist()[0]["item"])
    (drawn,) = axes.collections[0].get_segments()
    assert drawn[:, 0] == pytest.approx(own.comparison_intervals(kind="sandwich")[best])


def test_on_given_axes(model):
    axes = pyplot.figure().subplots(1, 2)[1]
    assert model.plot(axes) is axes


def test_names_are_no_formulas(model):
    axes = model.plot()
    axes.figure.canvas.draw()
    assert not [label for label in axes.get_yticklabels() if label.get_parse_math()]


def test_a_plot_of_no_items_is_an_error(model):
    with pytest.raises(OptionError, match="n_items must be at least 1"):
        model.plot(n_items=0)
