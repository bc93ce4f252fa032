"""The page of a rank aggregation: it claims what the tests show, has whole names, and says what its numbers rest on."""

import numpy as np
import pyarrow as pa
import pytest

from luce.aggregation import PlackettLuce, PseudoRankings, Rankings
from luce.report import aggregation, write_aggregation
from luce.report.leaderboard import LISTED, headline, items_table, leaderboard, win_matrix

LONG = "a-model-with-a-long-name-instruct-preview-2024-05-13-turbo"


def battles(n_items=4, n_pairs=400, seed=0, spread=1.0, ties=0.2):
    """Comparisons of two, the first items better, and a fit."""
    rng = np.random.default_rng(seed)
    names = [f"{LONG}-{i}" if i == 1 else f"model {i}" for i in range(n_items)]
    first = rng.integers(n_items, size=n_pairs)
    second = (first + rng.integers(1, n_items, size=n_pairs)) % n_items
    won = rng.random(n_pairs) < 1 / (1 + np.exp(spread * (first - second)))
    outcome = np.where(rng.random(n_pairs) < ties, 0.5, won)
    return Rankings.from_pairs([names[i] for i in first], [names[i] for i in second], outcome)


def fitted(rankings, **settings):
    return PlackettLuce(n_jobs=1, **{"prior": PseudoRankings(0.5), **settings}).fit(rankings)


def choices(model, kind=None):
    return aggregation.choices(model, leaderboard(model, kind=kind))


@pytest.fixture(scope="module")
def model():
    return fitted(battles())


@pytest.fixture
def page_of(tmp_path, read_page):
    return lambda model, **more: read_page(write_aggregation(tmp_path / "page.html", model, **more))


@pytest.mark.parametrize(
    ("wins", "said"),
    [
        ({"ab": (300, 100), "ac": (300, 100), "bc": (200, 200)}, ", significantly above all others (95 %)."),
        ({"ab": (11, 10), "ac": (11, 10), "bc": (10, 10)}, ", but is not significantly above any other (95 %)."),
        ({"ab": (203, 200), "ac": (300, 100), "bc": (300, 100)}, ", significantly above 1 of the other 2 (95 %)."),
    ],
)
def test_the_headline_claims_what_the_ranks_show(wins, said):
    pairs = [(*pair, *counts) for pair, counts in wins.items()]
    left, right, won, lost = zip(*pairs, strict=True)
    rankings = Rankings.from_pairs([*left, *right], [*right, *left], weights=[*won, *lost])
    rows = fitted(rankings, prior=None).summary().to_pylist()
    total = f"{sum(won) + sum(lost):,}"
    first = "\u2068a\u2069 has the highest estimated worth of 3 items"
    assert headline(rows, rankings) == f"{first}{said} From {total} rankings."


@pytest.mark.filterwarnings("ignore::luce.errors.LuceWarning")
def test_an_item_without_an_estimate_is_no_part_of_the_claim():
    rankings = Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"]] * 9)
    rows = fitted(rankings, prior=None).summary().to_pylist()
    assert "of 2 items" in headline(rows, rankings) and "1 more item could not be estimated" in headline(rows, rankings)
    cells = items_table(rows).rows[-1]
    assert cells[1].text == "c" and cells[2].small == "never placed above another item"


def test_a_page_has_a_title_and_a_headline_of_its_own(model, page_of):
    page = page_of(model)
    assert "<h1>Rank aggregation</h1>" in page.source and "has the highest estimated worth of 4 items" in page.source
    given = page_of(model, title="Birds", summary="A summary.", command="luce aggregate birds.csv").source
    assert "<h1>Birds</h1>" in given and "A summary." in given and "highest estimated worth" not in given
    assert "<span>birds.csv</span>" in given and "<pre>" not in page.source


def test_names_are_whole_in_table_plot_and_matrix(model, page_of):
    page = page_of(model)
    longest = f"{LONG}-1"
    assert len(longest) == 60
    assert page.source.count(f">{longest}</text>") == 2, "the plot of wide pages, and that of phones"
    assert [row[1] for row in page.rows if len(row) == 7].count(longest) == 1
    heads = next(row for row in page.rows if row[0] == "")
    assert longest in heads and [row[0] for row in page.rows if len(row) == len(heads)].count(longest) == 1


def test_the_matrix_has_the_probabilities(model):
    rows = model.summary().to_pylist()
    table, items = win_matrix(model, rows), [row["item"] for row in rows]
    wins = model.win_matrix(items)
    for i, row in enumerate(table.rows):
        for j, cell in enumerate(row[1:]):
            assert cell.text == ("" if i == j else f"{100 * wins[i, j]:.0f}")
            assert cell.shade == (None if i == j else pytest.approx(0.5 + 0.5 * (wins[i, j] - wins[j, i])))


def test_ratings_take_the_place_of_log_worths_in_the_plot(model, page_of):
    page = page_of(model, elo={"anchor": ("model 0", 1000)})
    assert page.pictures[0].startswith("The rating of 4 items, best first: model 0 1000; ")
    assert page.rows[0][:4] == ["Rank", "Item", "Rating", "Log worth"]
    assert next(row for row in page.rows if row[1] == "model 0")[2].startswith("1,000 ")
    assert page_of(model).pictures[0].startswith("The log worth of 4 items")


def test_the_plot_has_the_best_items_only(model, page_of):
    page = page_of(model, n_items=2)
    best = [row["item"] for row in model.summary().to_pylist()]
    assert page.pictures[0].startswith("The log worth of 2 items") and best[2] not in page.pictures[0]


def test_ranks_by_category(model, page_of):
    part = fitted(Rankings.from_pairs(["model 3"] * 6 + ["model 0"], ["model 0"] * 6 + ["model 3"]))
    page = page_of(model, categories={"coding": part})
    ranks = {row[0]: row[1:] for row in page.rows if len(row) == 3}
    assert ranks["model 0"][0].startswith("1 ") and ranks["model 0"][1] == "2 1–2, n = 7"
    assert ranks["model 2"][1] == "–", "it is in no ranking of the category"
    assert next(row for row in page.rows if row[0] == "coding")[:3] == ["coding", "7", "2"]


def test_the_page_says_what_the_numbers_rest_on(model, page_of):
    data = page_of(model).sections["data"]
    for name, words in choices(model).items():
        assert f"{name} {words}" in data
    assert "chosen as all rankings compare two items" in choices(model)["Ties"]
    assert "0.5 wins" in choices(model)["Prior"]
    assert choices(fitted(battles(ties=0)))["Ties"] == "no ranking has any"
    assert "chosen" not in choices(fitted(battles(), ties="davidson"))["Ties"]
    assert choices(model, "expected")["Standard errors"].startswith("expected")


def test_what_unlisted_items_are_is_said(model):
    assert "Unlisted items" not in choices(model), "comparisons of two"
    orders = [["a", "b", "c"], ["b", "c", "a"], ["c", "a"]] * 3
    assert choices(fitted(Rankings.from_orderings(orders)))["Unlisted items"] == "not compared in 3 rankings"
    below = fitted(Rankings.from_orderings(orders, unlisted="below"))
    assert choices(below)["Unlisted items"] == "below the others in 3 rankings" and "Last places" not in choices(below)
    table = pa.table({"ranking": [1] * 4 + [2] * 4, "item": [*"abcd"] * 2, "place": [1, 2, None, None, 3, 1, 2, None]})
    last = fitted(Rankings.from_table(table, missing="last"))
    assert choices(last)["Last places"] == "in unknown order in 1 ranking"


def test_a_long_table_can_be_searched_and_is_cut(page_of):
    rng = np.random.default_rng(0)
    many = fitted(Rankings.from_orderings([rng.permutation(LISTED + 5).tolist() for _ in range(3)]))
    page = page_of(many)
    assert len(page.source) < 2_000_000
    assert f"The first {LISTED:,} of {LISTED + 5:,} items" in page.sections["leaderboard"]
    table = next(each for each in page.all("table"))
    assert "searchable" in table["class"]
    assert len([row for row in page.rows if len(row) == 7]) == 1 + LISTED
    assert leaderboard(many).num_rows == LISTED + 5
