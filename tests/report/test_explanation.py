"""The pictures and the page of an explanation: what they say is what was found, in the house's colours."""

import numpy as np
import pytest

import luce
from luce.rankers.importance import Importance
from luce.rankers.item_explanation import ItemExplanation, ItemFeature
from luce.report import Report, explanation
from luce.report.explanation import (
    Contribution,
    ExplainedItem,
    ExplainedList,
    explained_list,
    importance_rows,
    write_explanation,
)
from luce.report.item_explanation import gap_picture, item_summary, move_picture, write_item_explanation

WORDS = {"title": "T", "summary": "S", "command": "luce explain", "settings": {}}


@pytest.fixture(scope="module")
def data():
    """Two features that make the grade, nine that do not, and one missing value."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 11))
    labels = features[:, 0] + 0.5 * features[:, 1]
    features[3, 0] = np.nan
    names = ["<b>first</b>", *(f"a feature with a rather long name {i}" for i in range(10))]
    return luce.Dataset(features, labels, np.arange(0, 61, 6), feature_names=names)


@pytest.fixture(scope="module")
def found(data):
    return explained_list(luce.LinearRanker(n_jobs=1).fit(data), data, 4, top=3)


def test_the_top_of_a_list(data, found):
    ranker = luce.LinearRanker(n_jobs=1).fit(data)
    scores, rows = ranker.predict(data)[24:30], 24 + np.argsort(-ranker.predict(data)[24:30], kind="stable")
    assert (found.query, found.size) == ("5", 6)
    assert found.mean == pytest.approx(scores.mean())
    assert [item.row for item in found.items] == (rows[:3] + 1).tolist()
    assert [item.document for item in found.items] == [f"item {row - 23}" for row in rows[:3]]
    for place, item in enumerate(found.items):
        assert item.rank == place + 1 and item.label == data.labels[item.row - 1]
        assert found.mean + sum(each.contribution for each in item.contributions) == pytest.approx(item.score)
        assert [each.value for each in item.contributions] == data.features[item.row - 1].tolist()


def test_small_parts_are_put_together():
    contributions = [Contribution(str(i), 1.0, value) for i, value in enumerate([0.1, -5.0, 3.0, 0.2, -0.4])]
    item = ExplainedItem(1, "d", 0, 0.0, 1.0, contributions)
    assert [each.feature for each in item.shown(2)] == ["1", "2", "3 others"]
    assert item.shown(2)[-1].contribution == pytest.approx(-0.1)
    assert [each.feature for each in item.shown(4)] == ["1", "2", "4", "3", "0"]
    other = ExplainedItem(
        2, "e", 1, 0.0, 0.0, [each._replace(contribution=10.0 * (each.feature == "4")) for each in contributions]
    )
    rows = ExplainedList("q", 2, 0.0, [item, other]).by_feature(2)
    assert [name for name, _ in rows] == ["4", "1", "3 others"]
    assert [each.contribution for each in rows[0][1]] == [-0.4, 10.0]
    assert [each.contribution for each in rows[2][1]] == pytest.approx([3.3, 0.0])
    assert len(ExplainedList("q", 2, 0.0, [item, other]).by_feature(4)) == 5


def test_a_value_of_a_feature_that_a_transform_made_is_not_told(data):
    ranker = luce.LinearRanker(transforms=("fill", "second-order"), n_jobs=1).fit(data)
    contributions = explained_list(ranker, data, 0, top=1).items[0].contributions
    assert len(contributions) > 11
    assert not np.isnan([each.value for each in contributions[1:11]]).any()
    assert np.isnan([each.value for each in contributions[11:]]).all()


def test_the_page_of_a_list(found, tmp_path):
    page = write_explanation(tmp_path / "a.html", found, **WORDS).read_text("utf-8")
    assert page.count("<svg") == 3 and "<b>" not in page and "&lt;b&gt;first" in page
    assert "the top 3 of its 6 items" in page
    for item in found.items:
        assert f"score {item.score:.4f}".replace("-", "−") in page and item.document in page
    first = found.items[0].shown(1)[0]
    assert f"{first.contribution:.4f}".replace("-", "−") in page


def importances():
    names = "price", "age", "size"
    lost = Importance("ndcg@10", names, np.array([0.1, -0.01, 0.3]), np.array([0.01, 0.02, np.nan]))
    return [lost, Importance("gain", (*names, "price*age"), np.array([5.0, 1.0, 2.0, 4.0]))]


def test_measures_stand_side_by_side():
    rows = importance_rows(importances())
    assert [row["feature"] for row in rows] == ["size", "price", "age", "price*age"]
    assert rows[1] == {"feature": "price", "ndcg@10": 0.1, "gain": 5.0, "ndcg@10 error": 0.01}
    assert rows[3] == {"feature": "price*age", "ndcg@10": None, "gain": 4.0, "ndcg@10 error": None}


def test_the_page_of_features(tmp_path):
    page = write_explanation(tmp_path / "a.html", importances(), **WORDS).read_text("utf-8")
    assert page.count("<svg") == 2 and "ndcg@10 lost" in page and "± 0.0100" in page and "−0.0100" in page
    assert "Gain and splits show" in page
    page = write_explanation(tmp_path / "a.html", importances()[:1], **WORDS).read_text("utf-8")
    assert page.count("<svg") == 1 and "Gain" not in page


def test_pictures_keep_to_the_page(found):
    for made in (explanation.item_picture(found.items[0], 1.0), *map(explanation.importance_picture, importances())):
        assert made.svg.startswith('<svg viewBox="0 0 360 ') and "var(--accent)" in made.svg and "http" not in made.svg
    assert "size 0.3000; price 0.1000; age −0.0100" in explanation.importance_picture(importances()[0]).description


def test_nothing_to_tell_apart_is_drawn_too():
    still = ExplainedItem(1, "d", 0, 0.0, np.nan, [Contribution("a", np.nan, 0.0)])
    assert "grade –" in explanation.item_picture(still, 0.0).description


def test_at_most_ten_features_are_drawn():
    many = Importance("split", tuple(f"<{i}>" for i in range(30)), np.arange(30.0))
    made = explanation.importance_picture(many)
    assert made.svg.count("&lt;") - made.svg.partition(">")[0].count("&lt;") == 10 and "&lt;29&gt;" in made.svg


def test_the_features_of_several_rankers_in_a_report(contents):
    found = {"first": importances()[0], "second": importances()[1]}
    drawn, said = explanation.features(Report(**contents, importances=found)).blocks
    assert [made.description.partition(":")[0] for made in drawn.pictures] == [
        "first, ndcg@10 lost, most important first",
        "second, Gain of its splits, most important first",
    ]
    assert "loss of ndcg@10 when" in said.text and "how much the trees use a feature" in said.text
    weights = Importance("size of the weight", ("a",), np.array([1.0]))
    drawn, said = explanation.features(Report(**contents, importances={"linear": weights})).blocks
    assert said.text == "The weights are those of the features after the transforms."
    assert "linear, size of the weight, most" in drawn.pictures[0].description


def explained_item(**changes):
    features = [ItemFeature(f"<{i}>", i, i + 0.5, -0.1 * i, 0.1 * i, 6 - i if i < 5 else 9) for i in range(13)]
    features.append(ItemFeature("made", np.nan, np.nan, 0.2, np.nan, None))
    return ItemExplanation("q", "d", 6, 9, 0.5, 5, 1.25, features)._replace(**changes)


def test_the_page_of_an_item(tmp_path):
    found = explained_item()
    page = write_item_explanation(tmp_path / "a.html", found, **WORDS).read_text("utf-8")
    assert page.count("<svg") == 2 and "<0>" not in page and "Why it is ranked 6th of 9" in page
    assert "minus the mean contribution to the 5 items above it" in page and "(1.2500)" in page
    gaps, moves = gap_picture(found).description, move_picture(found).description
    assert "<12> = 12: −1.2000" in gaps and "4 others: −0.1000" in gaps
    assert moves.endswith("above. <4> → 4.5: 2nd; <3> → 3.5: 3rd; <2> → 2.5: 4th; <1> → 1.5: 5th.")


def test_an_item_in_a_sentence():
    plain = item_summary(explained_item()).translate({0x2068: None, 0x2069: None})
    assert plain == (
        "Item d is ranked 6th of the 9 items of query q, with score 0.5000. Compared with the 5 items above it, "
        "<12> (−1.2000) and <11> (−1.1000) cost it most. With <4> at 4.5 instead of 4, it would be 2nd."
    )
    first = item_summary(explained_item(rank=1, n_compared=8))
    assert "Compared with the other 8 items, \u2068made\u2069 (+0.2000) helps it most." in first
    assert "it would be 9th." in first
    still = [ItemFeature("7", 1.0, 1.0, 0.0, 0.5, 6)]
    assert item_summary(explained_item(features=still)).endswith(
        "0.5000. No single feature moves it up when set to their median."
    )
