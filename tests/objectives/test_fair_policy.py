"""The mix of relevance and fairness: its gradient is that of exact exposures, and following it makes rankers fair."""

import numpy as np
import pytest

import luce
import luce.metrics
from luce.errors import DataError, LuceError, OptionError
from luce.kernels.expected_gain import ESTIMATORS, expected_gain
from luce.kernels.exposure import exposure, reference
from luce.metrics import METRICS
from luce.metrics.exposure import merits_of
from luce.metrics.gains import discounts
from luce.objectives import Draw, objective

SCORES, LABELS = np.array([1.0, 0, 0.5, -1, 2]), np.array([2.0, 0, 1, 1, 0])
GROUPS, ALL = np.array([0, 1, 1, 0, 2]), np.array([0, 5])
COPIES = 20_000


def entropy_like(exposures, merits, groups):
    """A function that is not quadratic."""
    return float(np.sum(np.exp(exposures))), np.exp(exposures)


def exact_goal(scores, terms, discount=None):
    """Σ w F of exact exposures; terms are (weight, name, cutoff)."""
    total = 0.0
    for weight, name, cutoff in terms:
        theta = discounts(5)[:cutoff] if discount is None else np.asarray(discount)
        exposures, merits = reference.exact(scores, theta), merits_of(LABELS)
        if name == "dcg":
            total += weight * exposures @ merits
        elif name == "ndcg":
            ideal = np.sort(merits)[::-1][: len(theta)] @ theta
            total += weight * exposures @ merits / ideal
        elif callable(name):
            total += weight * name(exposures, merits, GROUPS)[0]
        else:
            total += weight * METRICS[name].exposure_function(exposures, merits, GROUPS, ALL)[0][0]
    return total


def finite_differences(function, point):
    steps = 1e-5 * np.eye(len(point))
    return np.array([(function(point + step) - function(point - step)) / 2e-5 for step in steps])


def estimates(goal, **options):
    """Loss and gradient of the same list, drawn many times."""
    scores, labels, groups = (np.tile(each, COPIES) for each in (SCORES, LABELS, GROUPS))
    chosen = objective("fair-policy", utility=goal, **{"samples": 2, "exposure_samples": 4, **options})
    found = chosen.value_and_gradient(scores, labels, np.arange(COPIES + 1) * 5, draw=Draw(1), item_groups=groups)
    return found.loss, found.gradient.reshape(COPIES, 5)


def errors(values, expected):
    """How many standard errors the mean is off."""
    return np.abs(values.mean(axis=0) - expected) / (values.std(axis=0) / np.sqrt(len(values)) + 1e-12)


CASES = {
    "-disparity@2": [(-1, "disparity", 2)],
    "-disparity": [(-1, "disparity", None)],
    "0.7*dcg@2 - 0.3*disparity@2": [(0.7, "dcg", 2), (-0.3, "disparity", 2)],
    "ndcg@3 - 2*disparity@2": [(1, "ndcg", 3), (-2, "disparity", 2)],
    "-parity-gap@2": [(-1, "parity-gap", 2)],
    "dcg@1 - 3*merit-gap@3 + parity-gap": [(1, "dcg", 1), (-3, "merit-gap", 3), (1, "parity-gap", None)],
}


@pytest.mark.parametrize("goal", CASES)
def test_the_gradient_is_that_of_exact_exposures(goal):
    loss, gradient = estimates(goal)
    exact = finite_differences(lambda scores: exact_goal(scores, CASES[goal]), SCORES)
    assert errors(gradient, -exact).max() < 4.5
    assert errors(loss, -exact_goal(SCORES, CASES[goal])).max() < 4.5


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_estimator_does(estimator):
    exact = finite_differences(lambda scores: exact_goal(scores, CASES["-disparity@2"]), SCORES)
    assert errors(estimates("-disparity@2", estimator=estimator)[1], -exact).max() < 4.5


def test_a_function_of_exposures():
    terms = [(0.5, "dcg", None), (-1, entropy_like, None)]
    loss, gradient = estimates({"dcg": 0.5, entropy_like: -1.0}, exposure_samples=400)
    exact = finite_differences(lambda scores: exact_goal(scores, terms), SCORES)
    assert errors(gradient, -exact).max() < 4.5
    assert errors(loss, -exact_goal(SCORES, terms)).max() < 4.5


def test_a_function_gets_the_items_in_the_order_of_their_rows():
    worth = np.array([0.7, -0.4, 1.3, 0.0, -1.1])

    def by_row(exposures, merits, groups):
        assert np.allclose(merits, merits_of(LABELS)) and groups.tolist() == GROUPS.tolist()
        return float(worth @ exposures), worth

    exact = finite_differences(lambda scores: exact_goal(scores, [(1, by_row, None)]), SCORES)
    loss, gradient = estimates({by_row: 1.0})
    assert errors(gradient, -exact).max() < 4.5
    assert errors(loss, -exact_goal(SCORES, [(1, by_row, None)])).max() < 4.5
    seen = []
    goal = objective("fair-policy", utility={lambda e, m, g: (seen.append(m.round(9).tolist()), (0.0, 0 * e))[1]: 1.0})
    goal.value_and_gradient(np.zeros(6), [1.0, np.nan, 3, 0, 0, 2], [0, 4, 6])
    assert seen[:2] == [[1, 7, 0], [0, 3]]


def test_a_row_of_discounts_is_for_terms_without_a_cutoff():
    row = [0.2, 1.0, 0.5]
    exact = finite_differences(lambda scores: exact_goal(scores, [(-1, "disparity", None)], row), SCORES)
    assert errors(estimates("-disparity", discounts=row)[1], -exact).max() < 4.5
    np.testing.assert_array_equal(estimates("-disparity@2", discounts=row)[1], estimates("-disparity@2")[1])


def test_the_same_rankings_for_exposure_and_gradient_would_be_biased():
    """As printed, one might draw once for Eq. 26 and Eq. 28; the product of two estimates that share noise is off."""
    scores, merits, offsets = np.tile(SCORES, COPIES), np.tile(merits_of(LABELS), COPIES), np.arange(COPIES + 1) * 5
    exact = finite_differences(lambda s: exact_goal(s, [(1, "disparity", 3)]), SCORES)
    seen = exposure(scores, offsets, discounts(3), samples=2).value
    slopes = METRICS["disparity"].exposure_function(seen, merits, None, offsets)[1]
    for first_sample, biased in ((0, True), (2, False)):
        found = expected_gain(scores, slopes, offsets, discounts(3), samples=2, first_sample=first_sample)
        off = errors(found.gradient.reshape(COPIES, 5), exact).max()
        assert off > 10 if biased else off < 4.5


def test_terms_add_up():
    settings = {"samples": 30, "exposure_samples": 60}
    parts = {"dcg@2": 0.7, "disparity@2": -0.3, "merit-gap@2": -2.0}
    rng = np.random.default_rng(0)
    scores, labels, offsets = rng.normal(size=30), rng.integers(0, 4, 30).astype(float), np.array([0, 12, 12, 13, 30])
    groups, weights = rng.integers(0, 3, 30), rng.uniform(0, 2, 30)

    def found(goal):
        chosen = objective("fair-policy", utility=goal, **settings)
        return chosen.value_and_gradient(scores, labels, offsets, item_groups=groups, item_weights=weights)

    whole, alone = found(parts), {name: found({name: 1}) for name in parts}
    np.testing.assert_allclose(whole.gradient, sum(w * alone[name].gradient for name, w in parts.items()), atol=1e-12)
    assert whole.loss[1] == whole.loss[2] == 0 and not whole.gradient[12:13].any()


def test_relevance_has_the_sign_of_its_metric():
    scores, labels, offsets = 1e4 * np.array([0.0, 2, 1, 3, 5, 4]), np.array([2.0, 0, 1, 3, 0, 1]), np.array([0, 4, 6])
    terms = {"dcg@2": 0.5, "ndcg@3": 1.0, "precision@2": 2.0, "recall@1": -1.0, "arp": -0.1}
    found = objective("fair-policy", utility=terms, samples=2).value_and_gradient(scores, labels, offsets)
    values = luce.metrics.measure(scores, labels, offsets, list(terms))
    np.testing.assert_allclose(found.loss, -sum(w * values[name] for name, w in terms.items()), atol=1e-12)


def test_zero_merit_is_defined():
    for goal in ("-disparity", "ndcg - merit-gap"):
        found = objective("fair-policy", utility=goal).value_and_gradient(
            [1.0, 0, 2], [0, 0, -1], item_groups=[0, 1, 1]
        )
        assert found.loss[0] == 0 and not found.gradient.any()
    parity = objective("fair-policy", utility="-parity-gap").value_and_gradient(
        [1.0, 0, 2], [0, 0, 0], item_groups=[0, 1, 1]
    )
    assert parity.loss[0] > 0 and parity.gradient.any()


def test_equal_merits_must_be_seen_equally():
    found = objective("fair-policy", utility="-disparity").value_and_gradient([2.0, 0, 0], [1, 1, 1])
    assert found.loss[0] > 0 and found.gradient[0] > 0 > found.gradient[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"discounts": [1, -0.5]}, "'discounts' option of fair-policy must be None or a row of numbers ≥ 0"),
        ({"discounts": [0, 0]}, "'discounts' option"),
        ({"discounts": "many"}, "'discounts' option"),
        ({"exposure_samples": 1}, "'exposure_samples' option of fair-policy must be an integer ≥ 2"),
        ({"estimator": "pl-rank-9"}, "'estimator' option"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(OptionError, match=words):
        objective("fair-policy", **options)


def test_bad_data_are_named():
    goal = objective("fair-policy", utility="ndcg - merit-gap")
    with pytest.raises(DataError, match=r"merit-gap needs the group of each item.*item_groups= to Dataset"):
        goal.value_and_gradient([1.0, 0], [1, 0])
    with pytest.raises(DataError, match="item_groups must have 2 entries"):
        goal.value_and_gradient([1.0, 0], [1, 0], item_groups=[1])
    broken = objective("fair-policy", utility={lambda e, m, g: (np.nan, e): 1.0})
    with pytest.raises(OptionError, match=r"function .* must return a finite value"):
        broken.value_and_gradient([1.0, 0], [1, 0])


def made(seed, n_lists=200, size=8):
    """Lists whose grades, 0 to 2, can be told from two features but for some noise, of three sellers."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_lists * size, 4))
    truth = features[:, 0] + 0.5 * features[:, 1] + 0.3 * rng.normal(size=len(features))
    labels, sellers = np.digitize(truth, [0.5, 1.5]), np.where(features[:, 2] > 0, "north", "south")
    return luce.Dataset(features, labels, np.arange(n_lists + 1) * size, item_groups=sellers)


@pytest.mark.parametrize("kind", ["linear", "neural"])
@pytest.mark.parametrize("metric", ["disparity@4", "merit-gap@4", "parity-gap@4"])
def test_training_lowers_unfairness_on_held_out_lists(kind, metric):
    train, test = made(1), made(2)
    settings = {
        "linear": {"optimizer": "gradient-descent", "learning_rate": 2.0, "max_iter": 30, "reg_lambda": 0.0},
        "neural": {"hidden_layer_sizes": (8,), "learning_rate": 0.03, "epochs": 1, "steps_per_epoch": 100},
    }[kind] | {"transforms": ("fill", "standardize")}
    ranker = {"linear": luce.LinearRanker, "neural": luce.NeuralRanker}[kind]
    goal = objective("fair-policy", utility=f"0.01*dcg@4 - {metric}", samples=20, exposure_samples=20)
    greedy, fair = (ranker(goal, **settings).fit(train).predict(test) for goal in ("pl-rank-2", goal))
    untrained = np.random.default_rng(0).normal(size=test.n_rows)
    values = [luce.evaluate(scores, test, metric, n_bootstrap=0).values[metric] for scores in (greedy, untrained, fair)]
    for before in values[1 if metric == "merit-gap@4" else 0 : 2]:  # a relevant ranking is fair to merit as it is
        difference = (before - values[2])[~np.isnan(before)]
        assert difference.mean() > 4 * difference.std() / np.sqrt(len(difference))


def test_validation_by_fairness():
    ranker = luce.LinearRanker("listnet", metric="merit-gap@5", max_iter=5).fit(made(1), validation=made(2))
    assert ranker.score(made(2)) == pytest.approx(-ranker.best_score_)


def test_a_ranker_with_a_formula_is_stored_and_one_with_a_function_says_why_not(tmp_path):
    train = made(1)
    formula = luce.NeuralRanker(
        objective("fair-policy", utility="ndcg@5 - disparity@5"), hidden_layer_sizes=(4,), epochs=1
    ).fit(train)
    formula.save(tmp_path / "model.luce")
    assert luce.load(tmp_path / "model.luce").objective.options["utility"] == "ndcg@5 - disparity@5"
    own = objective("fair-policy", utility={"ndcg@5": 1.0, entropy_like: -1.0}, samples=2, exposure_samples=2)
    ranker = luce.NeuralRanker(own, hidden_layer_sizes=(4,), epochs=1).fit(train)
    with pytest.raises(LuceError, match="function"):
        ranker.save(tmp_path / "own.luce")
    assert not (tmp_path / "own.luce").exists()


def test_lambdaloss_takes_the_derivatives_of_the_utility_for_gains():
    scores, labels, offsets = np.array([0.5, 0, -1, 2, 1, 0]), np.array([1.0, 0, 3, 2, 0, 1]), np.array([0, 4, 6])
    plain = objective("stochastic", loss=objective("lambdaloss", metric="dcg@3", truncation_level=None), samples=5)
    fair = objective("fair-policy", utility="dcg@3", estimator="lambdaloss", samples=5)
    wanted = plain.value_and_gradient(scores, labels, offsets)
    np.testing.assert_allclose(fair.value_and_gradient(scores, labels, offsets).gradient, wanted.gradient)
    # Of equal scores the item with the largest derivative of minus the disparity rises most.
    goal = objective("fair-policy", utility="-disparity@3", estimator="lambdaloss", samples=2_000)
    found = goal.value_and_gradient(np.zeros(4), [0.0, 1, 2, 3])
    assert (np.diff(found.gradient) < 0).all()
    exact = objective("fair-policy", utility="-disparity@3").value_and_gradient(np.zeros(4), [0.0, 1, 2, 3])
    assert found.loss == exact.loss


def test_lambdaloss_needs_falling_discounts_and_a_number_of_samples():
    for options, words in (({"discounts": [0.5, 1.0]}, "do not rise"), ({"samples": "auto"}, "Got 'auto'")):
        goal = objective("fair-policy", utility="-disparity", estimator="lambdaloss", **options)
        with pytest.raises(OptionError, match=words):
            goal.value_and_gradient(np.zeros(4), [0.0, 1, 2, 3])
