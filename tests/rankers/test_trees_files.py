"""Forged trees: LightGBM trusts the text of a model, so every number in it must have been checked before."""

from dataclasses import replace

import lightgbm
import numpy as np
import pytest

import luce
from luce.data.synthetic import web_search
from luce.errors import DataError
from luce.scoring.forest import Forest, Tree

from .growing import quick

N_FEATURES = 6


@pytest.fixture(scope="module")
def data():
    made = web_search(30, n_features=N_FEATURES, mean_length=12, seed=1, missing=0.1).dataset
    X = np.array(made.features)
    X[:, 0] = np.random.default_rng(0).integers(0, 40, len(X))
    return luce.Dataset(X, made.labels + (X[:, 0] % 3 == 0), made.offsets)


@pytest.fixture(scope="module")
def text(data):
    return quick("pl-partition", n_estimators=6, num_leaves=6, categorical_feature=[0]).fit(data).forest_.text()


def test_a_text_comes_back_as_it_was(data, text):
    forest = Forest.parse(text, N_FEATURES, 1)
    assert forest.text() == text
    assert forest.rounds == 6
    assert any(len(tree.cat_threshold) for tree in forest.trees)
    again = lightgbm.Booster(model_str=text).model_to_string()
    assert again.startswith(text[: text.index("end of trees")])


@pytest.mark.parametrize("settings", [{}, {"split_hessian": "diagonal"}, {"lightgbm_objective": "lambdarank"}], ids=str)
def test_arrays_hold_all_that_lightgbm_writes(data, settings):
    """LightGBM's text of the trees that it grew, before their leaves get other values, is written again as it was."""
    grown, parse = [], Tree.parse
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tree, "parse", staticmethod(lambda text: grown.append(text) or parse(text)))
        quick("listnet", n_estimators=3, num_leaves=6, categorical_feature=[0], **settings).fit(data)
    assert len(grown) == 3
    for text in grown:
        assert parse(text).text() == text.strip("\n").partition("\n")[2] + "\n"


CHANGES = {
    "num_leaves=6": ["num_leaves=7", "num_leaves=0", "num_leaves=-1", "num_leaves=99999999999", "num_leaves=x"],
    "left_child=-1": ["left_child=0", "left_child=9", "left_child=-9", "left_child=2147483647", "left_child=-1.0"],
    "split_feature=": ["split_feature=6", "split_feature=-", "split_feature=99999999", "split_features="],
    "decision_type=": ["decision_type=1", "decision_type=-", "decision_type=9"],
    "cat_boundaries=0": ["cat_boundaries=1", "cat_boundaries=-1", "cat_boundaries=0 0", "cat_boundaries=0 99999999"],
    "leaf_value=": ["leaf_value=nan ", "leaf_value=inf ", "leaf_value=1e999 ", "leaf_value=1 "],
    "leaf_count=": ["leaf_count=-", "leaf_count=1 ", "leaf_count=99999999999999"],
    "is_linear=0": ["is_linear=1", "is_linear=", "is_linear=0\nnum_features=1"],
    "num_cat=1": ["num_cat=0", "num_cat=2", "num_cat=-1", "num_cat=999999999"],
    "max_feature_idx=5": ["max_feature_idx=4", "max_feature_idx=-1", "max_feature_idx=99999999"],
    "tree_sizes=": ["tree_sizes=1", "tree_sizes=-1 ", "tree_sizes=9 "],
    "num_class=1": ["num_class=2", "num_class=0"],
    "end of trees": ["end of tree", "end of trees\n\nparameters:\n[linear_tree: 1]\nend of parameters", ""],
    "version=v4": ["version=v3", "objective=lambdarank\nversion=v4"],
    "threshold=": ["threshold=nan ", "threshold=1 ", "threshold= "],
    "Tree=1": ["Tree=2", "Tree=1\nTree=1", "Tree=0"],
}


@pytest.mark.parametrize("before", CHANGES)
def test_forged_fields_are_refused(text, before):
    assert before in text
    for after in CHANGES[before]:
        with pytest.raises(ValueError, match=r"tree|feature"):
            Forest.parse(text.replace(before, after, 1), N_FEATURES, 1)


def with_sizes(text):
    """The text with sizes of its trees that are right again, so that nothing else gives it away."""
    header, rest = text.split("\n\n", 1)
    blocks = rest.partition("end of trees")[0].split("Tree=")[1:]
    lines = [line for line in header.split("\n") if not line.startswith("tree_sizes=")]
    sizes = " ".join(str(len(block) + 5) for block in blocks)
    return "\n".join([*lines, f"tree_sizes={sizes}"]) + f"\n\n{rest}"


def test_numbers_changed_at_random_are_refused_or_harmless(data, text):
    """What passes the checks is predicted with: LightGBM must neither crash nor read beyond its arrays."""
    rng, lines, outcomes = np.random.default_rng(0), text.split("\n"), {"refused": 0, "harmless": 0}
    fields = [i for i, line in enumerate(lines) if "=" in line and not line.startswith(("Tree=", "tree_sizes"))]
    wrong = ["-1", "0", "1", "5", "6", "-6", "-7", "255", "2147483648", "-2147483649", "1e308", "nan", "x", ""]
    for _ in range(1500):
        at = rng.choice(fields)
        name, _, values = lines[at].partition("=")
        parts = values.split(" ")
        parts[rng.integers(len(parts))] = wrong[rng.integers(len(wrong))]
        forged = with_sizes("\n".join([*lines[:at], f"{name}={' '.join(parts)}", *lines[at + 1 :]]))
        try:
            forest = Forest.parse(forged, N_FEATURES, 1)
        except ValueError:
            outcomes["refused"] += 1
            continue
        scores = lightgbm.Booster(model_str=forest.text()).predict(data.features, num_threads=1)
        assert np.isfinite(scores).all()
        outcomes["harmless"] += 1
    assert outcomes["refused"] > 500
    assert outcomes["harmless"] > 100


def test_files_of_trees_that_do_not_fit_are_refused(data, text, tmp_path):
    ranker = quick("pl-partition", n_estimators=2, num_leaves=3).fit(data)
    for change, words in (
        ({"model": np.frombuffer(text.encode(), dtype=np.int8)}, "does not contain trees"),
        ({"model": np.frombuffer(text[:-40].encode(), dtype=np.uint8)}, "not whole|trees of|not written"),
        ({"model": np.frombuffer("ß".encode(), dtype=np.uint8)}, "ascii"),
        ({"nuisance": np.ones(1)}, "finite numbers of the right shape"),
    ):
        arrays = {**ranker.state_dict(), **change}
        whole = type(ranker).state_dict
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(ranker), "state_dict", lambda self, arrays=arrays: arrays)
            ranker.save(tmp_path / "a.luce")
        assert type(ranker).state_dict is whole
        with pytest.raises(DataError, match=words):
            luce.load(tmp_path / "a.luce")


def test_nodes_in_a_circle_are_refused(data):
    """Each node has one parent, but two of them are each other's."""
    tree = quick(n_estimators=1, num_leaves=6).fit(data).forest_.trees[0]
    tree.check(N_FEATURES)
    assert len(tree.leaf_value) == 6
    forged = {"left_child": np.array([-1, 2, 1, -5, -6]), "right_child": np.array([-2, -3, -4, 3, 4])}
    with pytest.raises(ValueError, match="are not connected"):
        replace(tree, **forged).check(N_FEATURES)


def test_a_node_that_is_its_own_child_is_refused(data):
    tree = quick(n_estimators=1, num_leaves=6).fit(data).forest_.trees[0]
    forged = {"left_child": np.array([-1, 1, 3, 4, -5]), "right_child": np.array([-2, 2, -3, -4, -6])}
    with pytest.raises(ValueError, match="are not connected"):
        replace(tree, **forged).check(N_FEATURES)
