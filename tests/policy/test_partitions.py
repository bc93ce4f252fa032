"""The most likely ordered partition and samples of one, against enumeration."""

from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import chisquare

import luce
from luce.errors import DataError, NumericalError, OptionError
from luce.kernels.enumeration import ordered_partitions, subsets
from luce.kernels.subset_choice.inference import _best_of_order
from luce.kernels.subset_choice.potentials import arithmetic_mean, geometric_mean
from luce.policy import most_likely_partition, sample_partitions


def steeper_stages(scores, stage):
    """The mean of φ_k = e^{k s / 2}: the later, the more the scores count."""
    scaled = scores * stage / 2
    total = np.logaddexp.reduce(scaled, axis=-1)
    return total - np.log(scores.shape[-1]), stage / 2 * np.exp(scaled - total[..., None])


def large_sets(scores, stage):
    """The highest score counts, and sets of two are preferred."""
    size = scores.shape[-1]
    return scores.max(axis=-1) - (size - 2) ** 2, (scores == scores.max(axis=-1, keepdims=True)).astype(float)


def alternating_sizes(scores, stage):
    """Rather few items at odd stages, and nearly certainly all at even ones."""
    size = scores.shape[-1]
    return scores.mean(axis=-1) + (-0.3 if stage % 2 else 4.0) * size, np.full(scores.shape, 1 / size)


MODELS = {
    "pmop-fd": {"model": "pmop-fd"},
    "pmop-exact": {"model": "pmop-exact"},
    "backward fd": {"model": "pmop-fd", "direction": "backward"},
    "backward": {"model": "pmop-exact", "direction": "backward"},
    "stages": {"model": "pmop-exact", "potential": steeper_stages},
    "alternating": {"model": "pmop-exact", "potential": alternating_sizes},
    "sizes": {"model": "pmop-exact", "potential": large_sets, "direction": "backward"},
}
EVERY = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def probabilities(scores, partitions, model, direction="forward", potential=None):
    """log P of each of several partitions of the same items, stage by stage from the definition."""
    potential = potential or {"pmop-fd": arithmetic_mean, "pmop-exact": geometric_mean}[model]
    sign = 1 if direction == "forward" else -1
    scores = sign * np.asarray(scores)

    @cache
    def log_worth(items, stage):
        return float(potential(scores[list(items)], stage)[0])

    @cache
    def log_sum(left, stage):
        return np.logaddexp.reduce([log_worth(tuple(left[i] for i in each), stage) for each in subsets(len(left))])

    def log_p(labels):
        total, left = 0.0, tuple(range(len(scores)))
        for stage, grade in enumerate(sorted(set(labels), reverse=sign > 0), 1):
            total += log_worth(tuple(i for i in left if labels[i] == grade), stage) - log_sum(left, stage)
            left = tuple(i for i in left if labels[i] != grade)
        return total

    return np.array([log_p(labels) for labels in np.asarray(partitions).tolist()])


@EVERY
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_the_most_likely_partition_is_that_of_enumeration(model, n):
    partitions = np.array(ordered_partitions(n))
    rng = np.random.default_rng(n)
    for spread in (0.1, 1, 3, 30):
        scores = rng.normal(0, spread, n)
        logs = probabilities(scores, partitions, **model)
        assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)
        best = most_likely_partition(scores, **model)
        assert best.tolist() in partitions.tolist()
        assert logs[partitions.tolist().index(best.tolist())] == pytest.approx(logs.max(), abs=1e-10)


@EVERY
def test_log_probabilities_are_those_of_the_definition(model):
    partitions, scores = np.array(ordered_partitions(3)), np.array([1.0, -0.7, 0.4])
    logs = luce.log_prob(np.tile(scores, 13), partitions.ravel(), np.arange(14) * 3, **model)
    np.testing.assert_allclose(logs, probabilities(scores, partitions, **model), atol=1e-12)


def test_a_mode_that_does_not_follow_the_order_of_the_scores():
    scores = np.array([5.7, 5.7, 5.7, 5.7, 2.85, 0.0, 0.1])
    assert most_likely_partition(scores)[:6].tolist() in ([2, 2, 2, 2, 1, 2], [2, 2, 2, 2, 1, 0])
    best = most_likely_partition(scores)
    assert best[4] < max(best[5:])


@pytest.mark.parametrize("spread", [0.5, 3, 20])
def test_the_best_cuts_of_an_order(spread):
    scores = np.random.default_rng(3).normal(0, spread, 9)
    order = np.argsort(-scores)
    cuts = np.array([np.cumsum((0, *cut)) for cut in product((0, 1), repeat=8)])
    logs = probabilities(scores[order], -cuts, model="pmop-exact")
    found = _best_of_order(scores, order)
    assert found.tolist() == cuts[logs.argmax()].tolist()


def test_long_lists_of_the_full_decomposition_leave_the_lowest():
    rng = np.random.default_rng(0)
    for n in (6, 7, 15, 16, 30):
        scores = rng.normal(0, 5, n)
        assert most_likely_partition(scores, model="pmop-fd").tolist() == (scores > scores.min()).astype(int).tolist()


def test_several_lists_are_independent():
    scores, offsets = np.random.default_rng(1).normal(0, 9, 40), [0, 5, 5, 6, 24, 40]
    for model in ({"model": "pmop-fd"}, {"model": "pmop-exact"}, {"model": "pmop-exact", "direction": "backward"}):
        whole = most_likely_partition(scores, offsets, **model)
        parts = [most_likely_partition(scores[a:b], **model) for a, b in pairwise(offsets)]
        assert whole.tolist() == np.concatenate(parts).tolist()
        assert np.isfinite(luce.log_prob(scores, whole, offsets, **model)).all()


CHAINS = {
    "gibbs": {"model": "pmop-gibbs", "steps": 8},
    "mh": {"model": "pmop-mh", "steps": 30},
    "gibbs, stages": {"model": "pmop-gibbs", "steps": 8, "potential": steeper_stages},
    "mh, backward": {"model": "pmop-mh", "steps": 30, "potential": large_sets, "direction": "backward"},
}


@pytest.mark.parametrize("model", [*MODELS.values(), *CHAINS.values()], ids=[*MODELS, *CHAINS])
def test_samples_have_the_probabilities_of_enumeration(model):
    scores, partitions = np.array([1.0, -0.7, 0.4]), np.array(ordered_partitions(3))
    law = {name: value for name, value in model.items() if name != "steps"}
    law["model"] = "pmop-fd" if model["model"] == "pmop-fd" else "pmop-exact"
    expected = np.exp(probabilities(scores, partitions, **law))
    samples = 1_000 if "steps" in model or "potential" in model else 20_000
    drawn = sample_partitions(scores, samples=samples, seed=5, **model)
    counts = [(drawn == each).all(axis=1).sum() for each in partitions]
    assert sum(counts) == samples
    assert chisquare(counts, expected * samples).pvalue > 1e-3


@pytest.mark.parametrize("model", ["pmop-fd", "pmop-exact"])
def test_samples_of_longer_lists(model):
    scores, partitions = np.array([2.0, -1.0, 0.5, 0.0, 1.5]), np.array(ordered_partitions(5))
    expected = 50_000 * np.exp(probabilities(scores, partitions, model=model))
    drawn = sample_partitions(np.tile(scores, 2), [0, 5, 10], model, samples=50_000)
    for part in (drawn[:, :5], drawn[:, 5:]):
        codes, which = (each @ 5 ** np.arange(5) for each in (part, partitions))
        counts = np.array([(codes == one).sum() for one in which])
        common = expected > 5
        counts = np.append(counts[common], counts[~common].sum())
        assert chisquare(counts, np.append(expected[common], expected[~common].sum())).pvalue > 1e-3
    assert not np.array_equal(drawn[:, :5], drawn[:, 5:])


def test_extreme_scores_are_sampled_in_their_order():
    scores = np.random.default_rng(2).permutation(300) * 1e4
    for model in ("pmop-exact", "pmop-fd"):
        drawn = sample_partitions(scores, model=model, samples=2)
        assert drawn.shape == (2, 300) and (drawn.min(axis=1) == 0).all()
    assert sample_partitions(scores)[0].argmax() == scores.argmax()
    assert sample_partitions(np.zeros(0), samples=2).shape == (2, 0)


def test_mistakes_are_named():
    with pytest.raises(OptionError, match=r"model must be one of pmop-fd, pmop-exact\. Got 'pmop-gibbs'"):
        most_likely_partition([1.0, 0.0], model="pmop-gibbs")
    with pytest.raises(OptionError, match=r"one of pmop-fd, .*, pmop-mh\. Got 'listmle'"):
        sample_partitions([1.0, 0.0], model="listmle")
    with pytest.raises(DataError, match=r"at most 15 items here\. List 2 has 16\."):
        most_likely_partition(np.zeros(18), [0, 2, 18], potential=large_sets)
    with pytest.raises(DataError, match=r"at most 500 items here\. List 1 has 501\."):
        sample_partitions(np.zeros(501))
    with pytest.raises(OptionError, match="samples must be an integer ≥ 1"):
        sample_partitions([1.0], samples=0)
    with pytest.raises(NumericalError, match="scores must be finite"):
        most_likely_partition([1.0, np.nan])
