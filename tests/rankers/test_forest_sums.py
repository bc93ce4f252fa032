"""Forests add up to one forest: in memory, in its text, in LightGBM and in what explains its scores."""

import numpy as np
import pytest

import luce
from luce.scoring.forest import Forest, constant_tree

from .growing import quick
from .made import parts

WEIGHTS = (0.3, 1.7, 0.01)


@pytest.fixture(scope="module")
def data():
    made = parts(n_lists=30, n_features=6, missing=0.1)
    rng = np.random.default_rng(0)
    for name, each in made.items():
        X = np.array(each.features)
        X[:, 0] = rng.integers(0, 40, len(X))
        made[name] = luce.Dataset(X, each.labels + (X[:, 0] % 3 == 0), each.offsets)
    return made


@pytest.fixture(scope="module")
def members(data):
    """Of different lists, so that the ranges and the categories of their features differ."""
    settings = {"n_estimators": 6, "num_leaves": 6, "categorical_feature": [0], "learning_rate": 0.123456789}
    return [quick("pl-partition", **settings).fit(each) for each in data.values()]


def added_up(members, weights=WEIGHTS):
    whole = members[0].truncate(1)
    whole._set_forest(Forest.weighted_sum([member.forest_ for member in members], weights))
    return whole


def test_scores_are_the_weighted_sums(data, members):
    expected = sum(weight * member.predict(data["test"]) for weight, member in zip(WEIGHTS, members, strict=True))
    np.testing.assert_allclose(added_up(members).predict(data["test"]), expected, rtol=1e-12, atol=1e-14)


def test_scores_are_the_same_in_memory_from_the_file_and_in_lightgbm(data, members, tmp_path):
    whole = added_up(members)
    scores = whole.predict(data["test"])
    whole.save(tmp_path / "sum.luce")
    assert np.array_equal(luce.load(tmp_path / "sum.luce").predict(data["test"]), scores)
    assert np.array_equal(whole.to_lightgbm().predict(data["test"].features, num_threads=1), scores)


def test_explanations_add_up(data, members):
    found = added_up(members).explain(data["test"])
    np.testing.assert_allclose(found.scores, added_up(members).predict(data["test"]), atol=1e-12)
    expected = [member.explain(data["test"]).contributions for member in members]
    np.testing.assert_allclose(found.contributions, np.tensordot(WEIGHTS, expected, axes=1), atol=1e-12)


def test_values_within_the_trees_are_scaled_too(members):
    """LightGBM reads them where a model is trained on or refitted."""
    before, after = members[1].forest_.trees[0], added_up(members).forest_.trees[6]
    np.testing.assert_allclose(after.internal_value, 1.7 * before.internal_value, rtol=1e-5)
    assert after.shrinkage == pytest.approx(1.7 * before.shrinkage, rel=1e-5)


def forest(*infos, outputs=1):
    return Forest((constant_tree(1.0, 3),) * outputs, outputs, infos)


def test_ranges_and_categories_are_united():
    first = forest("none", "none", "[-2:3.5]", "[-10:1e-05]", "3:1:20")
    second = forest("none", "[0:1]", "[-10:3]", "[-inf:-9]", "-1:20:7")
    united = ("none", "[0:1]", "[-10:3.5]", "[-inf:1e-05]", "-1:1:3:7:20")
    assert Forest.weighted_sum([first, second], [1, 1]).feature_infos == united
    assert Forest.weighted_sum([first], [1]).feature_infos == first.feature_infos


def test_several_outputs_stay_apart(data):
    members = [quick("mcrank", n_estimators=2).fit(data[name]) for name in ("train", "test")]
    first, second = (member.to_lightgbm().predict(data["test"].features, raw_score=True) for member in members)
    whole = added_up(members, (2.0, 0.5)).to_lightgbm().predict(data["test"].features, raw_score=True)
    np.testing.assert_allclose(whole, 2 * first + 0.5 * second, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (forest("none", "none"), r"1\] outputs and \[1, 2\] features"),
        (forest("none", outputs=2), r"\[1, 2\] outputs"),
        (forest("1:2"), "categories in one forest and a range in another"),
    ],
)
def test_forests_that_do_not_fit_are_refused(other, words):
    with pytest.raises(ValueError, match=words):
        Forest.weighted_sum([forest("[0:1]"), other], [1, 1])


def test_a_forest_read_again_adds_up_to_the_same_text(members):
    forests = [member.forest_ for member in members]
    again = [Forest.parse(one.text(), 6, 1) for one in forests]
    assert Forest.weighted_sum(again, WEIGHTS).text() == Forest.weighted_sum(forests, WEIGHTS).text()
