"""The 2014 paper: the theorem by enumeration, the worked example, and one small run of everything."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.optimize import minimize

from luce.data.letor import write_letor
from luce.data.synthetic import web_search
from luce.errors import DataError
from luce.kernels.enumeration import log_probability, orders
from luce.metrics import measure
from luce.objectives import objective
from papers import position_aware_2014
from papers.datasets import DatasetSpec, SyntheticShape
from papers.position_aware_2014 import PUBLISHED, SETS, consistency, results, sequential
from papers.position_aware_2014.learning import (
    FAMILY,
    GAINS,
    LEARNED,
    METHODS,
    OURS,
    RATES,
    TOLERANCES,
    Learned,
    _checked,
    descend,
    gains_of,
    in_order,
    learn,
    load_fold,
    ndcg,
    train,
)
from papers.position_aware_2014.results import Plan
from papers.position_aware_2014.worked_example import preferences
from papers.runner import Run

TINY = DatasetSpec("mq2008-list", None, SyntheticShape(0, 46, documents=12))


def test_published_values_are_of_every_other_method_on_each_set():
    assert PUBLISHED.keys() == SETS.keys()
    for values in PUBLISHED.values():
        assert [*values] == [*METHODS][1:4]


def test_random_spaces_are_probabilities_that_meet_the_definition():
    random = np.random.default_rng(1)
    for make in (consistency.rank_differentiable, consistency.plackett_luce):
        for n_items in (2, 3, 4):
            space = make(n_items, random)
            assert space.sum() == pytest.approx(1)
            assert consistency.is_rank_differentiable(space, n_items)
    assert not consistency.is_rank_differentiable(np.full(6, 1 / 6), 3)
    # Likelier in the right order as a whole, but one swap makes an order likelier.
    assert not consistency.is_rank_differentiable(np.array([0.5, 0.1, 0.1, 0.2, 0.05, 0.05]), 3)


def test_the_optimum_is_that_of_the_formula():
    space, alpha = consistency.any_space(3, np.random.default_rng(3)), np.array([3.0, 1, 0.5])

    def expected(scores):
        total = 0.0
        for probability, order in zip(space, permutations(range(3)), strict=True):
            steps = [log_probability(np.array(scores)[list(order[j:])], range(3 - j), 1) for j in range(3)]
            total -= probability * float(alpha @ steps)
        return total

    found = consistency.optimum(space, alpha)
    peer = minimize(expected, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-14}).x
    assert found == pytest.approx(peer - peer.mean(), abs=1e-4)


def test_expected_gains_sort_by_the_least_expected_disagreement():
    space, alpha = consistency.any_space(4, np.random.default_rng(5)), np.array([7.0, 3, 1, 0])

    def disagreement(ranking):
        total = 0.0
        for probability, order in zip(space, orders(4), strict=True):
            place = {item: j for j, item in enumerate(order)}
            wrong = ((a, b) for i, a in enumerate(ranking) for b in ranking[i + 1 :] if place[b] < place[a])
            total += probability * sum(alpha[place[b]] - alpha[place[a]] for a, b in wrong)
        return total

    best = min(orders(4), key=disagreement)
    assert tuple(np.argsort(-consistency.expected_gains(space, alpha)).tolist()) == best


def test_the_theorem_holds_with_its_condition_and_not_without():
    for kind in ("rank-differentiable", "Plackett-Luce"):
        for weights, gaps in consistency.gaps(kind=kind, items=3, spaces=10, seed=2).items():
            assert min(gaps) > 0, weights
    outside = consistency.gaps(kind="any", items=4, spaces=20, seed=2)
    assert min(outside[consistency.PAPER]) < 0
    assert consistency.counterexample().endswith("the optimum is ABC, while BAC has the least expected disagreement")


def test_the_worked_example_has_the_values_of_the_formula():
    found = {one.measure: one for one in preferences()}
    own = found[f"p-ListMLE, α = {consistency.PAPER}"]
    assert (round(own.first, 2), round(own.second, 2), own.prefers_second) == (27.83, 29.18, False)
    assert found["p-ListMLE, α = 4^(n−j) − 1"].prefers_second
    assert not found["ListMLE"].prefers_second
    assert (round(found["NDCG@5"].first, 3), round(found["NDCG@5"].second, 3)) == (0.871, 0.985)


def test_full_orders_have_the_labels_and_the_ndcg_of_the_paper():
    synthetic = web_search(5, 4, 9, seed=3)
    lists = in_order(synthetic.dataset, synthetic.truth)
    for q in range(5):
        rows = lists.rows(q)
        labels = lists.labels[rows]
        assert sorted(labels) == list(range(len(labels)))
        assert np.argmax(labels) == np.argmax(synthetic.truth[rows])
    weights = np.array([1.0, 0, -1, 0.5])
    scores = lists.features @ weights
    assert ndcg(weights, lists)["ndcg@3"] == pytest.approx(
        measure(scores, lists.labels, lists.offsets, "ndcg@3")["ndcg@3"]
    )
    assert gains_of(lists).max() <= 1


def test_a_training_keeps_the_weights_of_each_stopping_criterion_and_length():
    fold, chosen = load_fold(TINY, 12, 1), objective("listmle")
    found = train(chosen, 0.01, fold, (6, 30), 0)
    assert [one.tolerance for one in found[30]] == list(TOLERANCES)
    when = [one.epochs for one in found[30]]
    assert when == sorted(when) and len(set(when)) > 1
    assert [one.epochs for one in found[6]] == np.minimum(when, 6).tolist()
    steps = [_checked(chosen, fold.train, q) for q in range(fold.train.n_lists)]
    weights, losses = [np.zeros(46)], []
    for epoch in range(30):
        new, loss = descend(weights[-1], fold.train.features, steps, chosen, 0.01, 0, epoch)
        weights.append(new)
        losses.append(loss)
    for one in [*found[6], *found[30]]:
        np.testing.assert_array_equal(one.weights, weights[one.epochs])
    changes = np.abs(np.diff(losses)) / losses[1:]
    assert changes[when[1] - 2] < TOLERANCES[1] and (changes[: when[1] - 2] >= TOLERANCES[1]).all()


def test_a_training_that_diverges_ends_with_finite_weights():
    found = train(objective("listmle"), 1e308, load_fold(TINY, 12, 0), (5,), 0)
    assert np.isfinite([one.weights for one in found[5]]).all()


def test_rate_and_criterion_are_chosen_by_the_validation_lists():
    settings = {"dataset": TINY, "size": 12, "fold": 1, "train_seed": 0}
    short, best = (Learned(*one) for one in learn(method="ListMLE", lengths=(2, 6), **settings))
    fold = load_fold(TINY, 12, 1)
    every = [one for rate in RATES for one in train(objective("listmle"), rate, fold, (6,), 0)[6]]
    chosen = max(every, key=lambda one: one.validation)
    assert (best.rate, best.epochs, best.validation) == (chosen.rate, chosen.epochs, chosen.validation)
    assert short.epochs <= 2 and best.n_lists == fold.train.n_lists == 12
    assert ndcg(chosen.weights, fold.validation)["ndcg@10"].mean() == pytest.approx(best.validation)
    assert best.test[GAINS[1]] == ndcg(chosen.weights, fold.test, GAINS[1])["ndcg@10"].tolist()
    assert best.curve[9] == pytest.approx(np.mean(best.test[GAINS[0]]))


def test_the_sequential_process_is_the_lexicographic_optimum():
    """By brute force over a grid of weights: the first place first, among its optima the second, and so on."""
    lists = sequential.example(3)
    lists = lists.with_features(lists.features[:, :2])
    *_, last = sequential.steps(lists, 3)
    assert last.free.shape == (2, 0)
    grid = np.stack(np.meshgrid(*2 * [np.linspace(-0.2, 0.2, 41)]), axis=-1).reshape(-1, 2) + last.weights.round(2)
    for place in range(3):
        chosen = objective("p-listmle", alpha=np.eye(3)[place])
        losses = np.array(
            [chosen.value_and_gradient(lists.features @ w, lists.labels, lists.offsets).loss.sum() for w in grid]
        )
        grid = grid[losses <= losses.min() + 1e-12]
    assert len(grid) == 1
    assert grid[0] == pytest.approx(last.weights, abs=0.015)


def test_the_sequential_process_is_the_limit_of_steep_weights():
    lists = sequential.example(1)
    first, *rest = sequential.steps(lists, 4)
    assert first.free.shape == (4, 1) and first.changing == 0  # the weight of the doubled feature may be split at will
    for step in rest:
        np.testing.assert_allclose(sequential.differences(lists) @ (step.weights - first.weights), 0, atol=1e-5)
    top = sequential.minimizer(lists, np.ones(1), np.zeros(4), np.eye(4))  # ListMLE of depth 1
    away = sequential.distances(lists, top)
    assert away[0] > 0.1
    assert [a / b for a, b in pairwise(away[2:])] == pytest.approx([10, 10], rel=0.05)


def small(monkeypatch):
    plan = Plan((8, 12), (2, 4), 2)
    monkeypatch.setattr(results, "SYNTHETIC", {True: plan, False: plan})
    monkeypatch.setattr(position_aware_2014, "SHORTER", 60)
    monkeypatch.setattr(position_aware_2014, "SPACES", {True: {3: 2}, False: {3: 2}})
    monkeypatch.setattr("papers.position_aware_2014.learning.HELD_OUT", 10)


def test_a_small_run_has_every_table_claim_and_picture(monkeypatch, tmp_path):
    small(monkeypatch)
    outcome = position_aware_2014.run(Run("position-aware", quick=True, n_jobs=1, cache_path=tmp_path / "cache.json"))
    assert "synthetic data in the shape of mq2007-list" in outcome.data
    titles = ["Figure 1", "Figure 1", "Sections", "Section ", "Theorem "]
    assert [table.title[:8] for table in outcome.tables] == titles
    assert [row[0] for row in outcome.tables[0].rows] == [*METHODS, LEARNED]
    assert sum(claim.verdict == "needs data not available here" for claim in outcome.claims) == 1
    assert sum("of 16 trials" in claim.evidence for claim in outcome.claims) == 4
    assert [claim.verdict for claim in outcome.claims if "sequential" in claim.text] == ["held"]
    assert len(outcome.pictures()) == 2
    again = position_aware_2014.run(Run("position-aware", quick=True, n_jobs=1, cache_path=tmp_path / "cache.json"))
    assert again.to_dict() == outcome.to_dict()


def test_learned_weights_are_those_of_the_best_validation_score(monkeypatch):
    small(monkeypatch)
    found = results.train_all(Run("position-aware", quick=True, n_jobs=1), [TINY], (0, 1))
    assert len(found) == 8
    for methods in found.values():
        assert methods[LEARNED].validation == max(methods[name].validation for name in FAMILY)
    assert OURS in FAMILY and "ListNet" not in FAMILY


def test_the_public_files_are_read_as_distributed(tmp_path):
    for fold in range(1, 6):
        folder = tmp_path / "MQ2008-list" / f"Fold{fold}"
        folder.mkdir(parents=True)
        for number, name in enumerate(("train", "vali", "test")):
            synthetic = web_search(4, 46, 6, seed=3 * fold + number)
            write_letor(in_order(synthetic.dataset, synthetic.truth), folder / f"{name}.txt")
    dataset = position_aware_2014._locate("mq2008-list", Run("position-aware", tmp_path, quick=True))
    assert dataset == DatasetSpec("mq2008-list", str(tmp_path), None)
    assert results.plan_of(dataset, quick=True) == Plan((None,), (500,), 5)
    assert [part.n_lists for part in load_fold(dataset, None, 4)] == [4, 4, 4]
    settings = {"dataset": dataset, "size": None, "fold": 4, "train_seed": 0}
    (best,) = learn(method=OURS, lengths=(2,), **settings)
    assert Learned(*best).n_lists == len(Learned(*best).test[GAINS[0]]) == 4
    (tmp_path / "MQ2008-list" / "Fold3").rename(tmp_path / "gone")
    with pytest.raises(DataError, match="missing: 3"):
        position_aware_2014._locate("mq2008-list", Run("position-aware", tmp_path, quick=True))
