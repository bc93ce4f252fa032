"""The objectives in other people's PyTorch, LightGBM and XGBoost code."""

import lightgbm as lgb
import numpy as np
import pytest
import torch
import xgboost as xgb

import luce
import luce.torch
from luce.data.synthetic import web_search
from luce.errors import LuceError
from luce.objectives import OBJECTIVES, Draw, objective

from .made import DRAW, evaluate, ragged, suitable

EVERY = pytest.mark.parametrize("name", OBJECTIVES)
SINGLE = [name for name, entry in OBJECTIVES.items() if not entry.one_output_per_grade and not entry.nuisance]


@EVERY
def test_torch_gives_the_same_loss_and_gradient(name):
    scores, labels, offsets = ragged(name)
    expected = evaluate(name, scores, labels, offsets)
    tensor = torch.tensor(scores, requires_grad=True)
    extra = torch.tensor(list(OBJECTIVES[name].nuisance.values()), dtype=torch.float64, requires_grad=True)
    given = {"nuisance": extra} if len(extra) else {}
    given |= {"reduction": "none", "draw": DRAW}
    losses = luce.torch.loss(name, tensor, torch.tensor(labels), torch.tensor(offsets), **given)
    np.testing.assert_allclose(losses.detach(), expected.loss)
    upstream = torch.arange(1.0, len(losses) + 1, dtype=torch.float64)
    losses.backward(upstream)
    by_row = np.repeat(upstream.numpy(), np.diff(offsets))
    by_row = by_row[:, None] if scores.ndim == 2 else by_row
    np.testing.assert_allclose(tensor.grad, expected.gradient * by_row, atol=1e-12)
    if len(extra):
        np.testing.assert_allclose(extra.grad, upstream.numpy() @ expected.nuisance_gradient, atol=1e-12)


@EVERY
def test_padding_changes_no_bit(name):
    scores, labels, offsets = ragged(name)
    kept = np.flatnonzero(np.diff(offsets) > 0)
    mask = np.arange(15) < np.diff(offsets)[kept][:, None]
    padded = np.full((*mask.shape, *scores.shape[1:]), 7.7)
    padded[mask] = scores
    padded_labels = np.where(mask, 0.0, 3.3)
    padded_labels[mask] = labels
    settings = {"reduction": "none", "draw": DRAW._replace(lists=kept)}
    tensor = torch.tensor(padded, requires_grad=True)
    losses = luce.torch.loss(name, tensor, torch.tensor(padded_labels), mask=torch.tensor(mask), **settings)
    flat = evaluate(name, scores, labels, offsets)
    np.testing.assert_array_equal(losses.detach(), flat.loss[kept])
    losses.sum().backward()
    np.testing.assert_array_equal(tensor.grad.numpy()[mask], flat.gradient)
    assert not tensor.grad.numpy()[~mask].any()


def test_reductions_and_weights():
    scores, labels = torch.tensor([0.0, 1.0, 2.0, 0.5]), torch.tensor([1.0, 0.0, 0.0, 1.0])
    offsets, weights = torch.tensor([0, 2, 4]), torch.tensor([2.0, 1.0])
    each = luce.torch.loss("listnet", scores, labels, offsets, reduction="none")
    assert luce.torch.loss("listnet", scores, labels, offsets).item() == pytest.approx(each.mean().item())
    weighted = luce.torch.loss("listnet", scores, labels, offsets, list_weights=weights)
    assert weighted.item() == pytest.approx(((2 * each[0] + each[1]) / 3).item())
    assert luce.torch.loss("listmle", scores, labels, offsets, depth=1).dtype == torch.float32


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mask": torch.zeros(2, 2, dtype=torch.bool)}, "no item in row 1"),
        ({"mask": torch.ones(2, 3, dtype=torch.bool)}, "have the shape of its mask"),
        ({"mask": torch.ones(2, 2, dtype=torch.bool), "scores": torch.ones(2, 2, 1)}, r"scores \(2, 2, 1\)"),
        ({}, "a padded batch, which needs mask="),
        ({"offsets": torch.ones(2, 2, dtype=torch.bool)}, "a padded batch, which needs mask="),
        ({"labels": np.ones((2, 2))}, r"labels must be a tensor. Got ndarray: use torch.as_tensor\(labels\)"),
        ({"offsets": [0, 2]}, "offsets must be a tensor. Got list"),
        ({"mask": torch.ones(2, 2, dtype=torch.bool), "offsets": torch.tensor([0, 2])}, "not both"),
        ({"mask": torch.ones(2, 2, dtype=torch.bool), "reduction": "max"}, "reduction must be"),
        ({"mask": torch.ones(2, 2, dtype=torch.bool), "list_weights": torch.tensor([-1.0, 1.0])}, "list_weights"),
        ({"mask": torch.ones(2, 2, dtype=torch.bool), "scores": torch.ones(2, 2, device="meta")}, "on cpu and meta"),
        ({"mask": torch.ones(2, 2, dtype=torch.bool), "scores": torch.full((2, 2), torch.nan)}, "must be finite"),
    ],
)
def test_bad_input_to_torch(change, words):
    given = {"scores": torch.zeros(2, 2), "labels": torch.ones(2, 2), **change}
    with pytest.raises(LuceError, match=words):
        luce.torch.loss("listnet", **given)


@pytest.fixture(scope="module")
def data():
    return web_search(40, n_features=10, mean_length=12, seed=3).dataset


@pytest.mark.parametrize("name", SINGLE)
def test_lightgbm_gets_slopes_it_can_use(name, data):
    scores, labels = np.random.default_rng(0).normal(size=data.n_rows), suitable(name, data.labels, data.offsets)
    gradient, second = luce.lightgbm_objective(name, seed=5)(labels, scores, None, data.sizes)
    expected = objective(name).value_and_gradient(scores, labels, data.offsets, draw=Draw(5, 0))
    np.testing.assert_allclose(gradient, expected.gradient)
    assert second.min() > 0


def test_lightgbm_trains_by_both_doors(data):
    settings = {"verbose": -1, "num_threads": 1, "num_leaves": 7, "min_data_in_leaf": 3, "deterministic": True}
    packed = lgb.Dataset(data.features, data.labels, group=data.sizes)
    booster = lgb.train({**settings, "objective": luce.lightgbm_objective("listmle")}, packed, 20)
    ranker = lgb.LGBMRanker(
        objective=luce.lightgbm_objective("listmle"), n_estimators=20, num_leaves=7, min_child_samples=3,
        learning_rate=0.1, verbose=-1, n_jobs=1, deterministic=True,
    )  # fmt: skip
    ranker.fit(data.features, data.labels.astype(int), group=data.sizes)
    np.testing.assert_allclose(booster.predict(data.features), ranker.booster_.predict(data.features), atol=1e-6)
    assert luce.evaluate(booster.predict(data.features), data, "ndcg@10").means["ndcg@10"] > 0.85


def test_xgboost_trains(data):
    matrix = xgb.DMatrix(np.asarray(data.features), data.labels)
    matrix.set_group(data.sizes)
    settings = {"max_depth": 4, "nthread": 1, "base_score": 0.0, "disable_default_eval_metric": 1}
    booster = xgb.train(settings, matrix, 20, obj=luce.xgboost_objective("pl-partition"))
    assert luce.evaluate(booster.predict(matrix), data, "ndcg@10").means["ndcg@10"] > 0.85
    with pytest.raises(LuceError, match="needs the lists"):
        luce.xgboost_objective("listnet")(np.zeros(2), xgb.DMatrix(np.ones((2, 1)), [0, 1]))


def test_weights_of_trees(data):
    lists = np.random.default_rng(0).uniform(0.5, 2, data.n_lists)
    rows = np.repeat(lists, data.sizes)
    scores = np.random.default_rng(1).normal(size=data.n_rows)
    plain = luce.lightgbm_objective("pl-partition")(data.labels, scores, None, data.sizes)
    weighted = luce.lightgbm_objective("pl-partition")(data.labels, scores, rows, data.sizes)
    np.testing.assert_allclose(weighted[0], rows * plain[0])
    np.testing.assert_allclose(weighted[1], np.maximum(rows * plain[1], 1e-12))
    items = np.random.default_rng(2).uniform(0, 1, data.n_rows)
    with pytest.raises(LuceError, match="does not support item weights"):
        luce.lightgbm_objective("pl-partition")(data.labels, scores, items, data.sizes)
    given = luce.lightgbm_objective("listnet")(data.labels, scores, items, data.sizes)
    expected = objective("listnet").value_and_gradient(scores, data.labels, data.offsets, item_weights=items)
    np.testing.assert_allclose(given[0], expected.gradient)
    matrix = xgb.DMatrix(np.asarray(data.features), data.labels)
    matrix.set_group(data.sizes)
    matrix.set_weight(lists)
    by_list = luce.xgboost_objective("pl-partition")(scores, matrix)
    np.testing.assert_allclose(by_list[0], weighted[0], rtol=1e-6)


def test_trees_redraw_each_round_and_need_groups(data):
    goal = luce.lightgbm_objective("listmle")
    first, second = (goal(data.labels, np.zeros(data.n_rows), None, data.sizes)[0] for _ in range(2))
    assert not np.allclose(first, second)
    with pytest.raises(LuceError, match="sizes of the lists"):
        goal(np.zeros(2), lgb.Dataset(np.ones((2, 1)), [0, 1]).construct())
    with pytest.raises(LuceError, match="has one output per grade or nuisance parameters"):
        luce.lightgbm_objective("mcrank")


def test_log_probabilities():
    from itertools import permutations

    scores = np.array([0.3, -1.0, 2.0, 0.1])
    for model, options in (("listmle", {}), ("pl-partition", {}), ("pl-topk", {})):
        total = sum(np.exp(luce.log_prob(scores, order, model=model, **options)) for order in permutations(range(4)))
        assert total == pytest.approx([1.0], abs=1e-9)
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    top = [[3 if i == a else 2 if i == b else 0 for i in range(4)] for a, b in pairs]
    assert sum(np.exp(luce.log_prob(scores, y, model="pl-topk")) for y in top) == pytest.approx([1.0], abs=1e-12)
    assert sum(np.exp(luce.log_prob(scores, y, model="listmle", depth=2)) for y in top) == pytest.approx(
        [1.0], abs=1e-12
    )
    with pytest.raises(LuceError, match="List 1 has equal labels"):
        luce.log_prob(scores, [1, 1, 0, 2], model="listmle")
    with pytest.raises(LuceError, match="ranknet does not define a probability"):
        luce.log_prob(scores, [1, 1, 0, 2], model="ranknet")


@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("model", ["pmop-fd", "pmop-exact"])
def test_probabilities_of_all_ordered_partitions_sum_to_one(model, n):
    from itertools import product

    scores = np.random.default_rng(n).normal(0, 1.5, n)
    partitions = [labels for labels in product(range(n), repeat=n) if set(labels) == set(range(max(labels) + 1))]
    assert len(partitions) == {3: 13, 4: 75, 5: 541}[n]
    assert sum(np.exp(luce.log_prob(scores, y, model=model)[0]) for y in partitions) == pytest.approx(1, abs=1e-12)
