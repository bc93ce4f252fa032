"""`luce.torch.PlackettLuceDistribution`: the distribution over rankings, and a well-behaved one of PyTorch."""

from itertools import permutations

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch.distributions import Distribution

from luce.errors import DataError
from luce.kernels.placements import log_probabilities
from luce.kernels.sampled_rankings import reference
from luce.torch import PlackettLuceDistribution

MIXED = torch.tensor([1.0, 0, 0.5, -1, 2], dtype=torch.float64)
CASES = {
    "mixed": MIXED.tolist(),
    "equal": [0.0] * 5,
    "gaps of 1,000": [3_000.0, 1_000, 4_000, 0, 2_000],
    "far and near": [1e4, 1e4 + 1, -1e4, -1e4 + 0.5, 0],
}


@pytest.fixture(autouse=True)
def validated(monkeypatch):
    """Arguments are validated by default: `torch.compile`, in another test, turns that off for the whole process."""
    monkeypatch.setattr(Distribution, "_validate_args", True)


def every(n, depth):
    return torch.tensor(list(permutations(range(n), depth)))


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("scores", [MIXED, torch.zeros(5), 20 * MIXED / 3], ids=["mixed", "equal", "spread by 20"])
def test_samples_have_the_exact_distribution(scores, depth):
    torch.manual_seed(0)
    found = PlackettLuceDistribution(scores).sample((60_000,))[:, :depth]
    probabilities = reference.prefix_probabilities(scores.numpy(), depth)
    place = {prefix: cell for cell, prefix in enumerate(probabilities)}
    counts = np.bincount([place[tuple(prefix)] for prefix in found.tolist()], minlength=len(place))
    expected = np.array(list(probabilities.values())) * 60_000
    few = expected < 5
    counts, expected = (np.append(part[~few], part[few].sum() + 1e-9) for part in (counts, expected))
    assert chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > 1e-3


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("depth", [1, 3, 5])
def test_log_prob_is_that_of_the_kernel(name, depth):
    scores, rankings = torch.tensor(CASES[name], dtype=torch.float64), every(5, depth)
    found = PlackettLuceDistribution(scores).log_prob(rankings)
    wanted = log_probabilities(scores.numpy(), np.array([0, 5]), rankings.numpy()[None])[0]
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12, atol=1e-11)
    assert found.exp().sum().item() == pytest.approx(1)


def test_gradients_are_finite_differences():
    scores = torch.tensor([[1.0, 0, 0.5, -1], [2, -torch.inf, 1, 0]], dtype=torch.float64)
    rankings = torch.tensor([[2, 0, 1, 3], [0, 3, -1, -1]])

    def total(free):
        whole = scores.masked_scatter(scores > -torch.inf, free)
        return PlackettLuceDistribution(whole).log_prob(rankings)

    free = scores[scores > -torch.inf].clone().requires_grad_()
    assert torch.autograd.gradcheck(total, free)
    prefixes = rankings[:, :2]
    assert torch.autograd.gradcheck(
        lambda s: PlackettLuceDistribution(s).log_prob(prefixes), scores[:1].clone().requires_grad_()
    )
    slope = torch.autograd.functional.hessian(lambda s: PlackettLuceDistribution(s).log_prob(rankings[0]), scores[0])
    np.testing.assert_allclose(slope.sum(0).numpy(), 0, atol=1e-12)
    assert torch.linalg.eigvalsh(slope)[-1] < 1e-12  # log-concave


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_right_however_far_apart(name):
    # ∂ log P / ∂ s is 1 for each item placed, less its share of what was left at each place up to its own.
    scores = torch.tensor(CASES[name], dtype=torch.float64, requires_grad=True)
    for ranking in ([2, 0, 4, 1, 3], [3, 1, 0, 2, 4], [4, 2]):
        (slope,) = torch.autograd.grad(PlackettLuceDistribution(scores).log_prob(torch.tensor(ranking)), scores)
        wanted = np.zeros(5)
        for k, item in enumerate(ranking):
            left = [j for j in range(5) if j not in ranking[:k]]
            wanted[item] += 1
            wanted[left] -= torch.softmax(scores.detach()[left], 0).numpy()
        np.testing.assert_allclose(slope.numpy(), wanted, atol=1e-11)


def test_items_that_are_never_placed():
    scores = torch.tensor([[0.0, 1, 2, 3], [1, 1, 1, 1], [0, 0, 0, 0]], requires_grad=True)
    mask = torch.tensor([[True, False, True, True], [True, True, True, True], [False] * 4])
    policy = PlackettLuceDistribution(scores, mask)
    rankings = policy.sample((200,))
    assert rankings.shape == (200, 3, 4) and rankings.dtype == torch.int64
    assert (rankings[:, 0, :3].sort(-1).values == torch.tensor([0, 2, 3])).all() and (rankings[:, 0, 3] == -1).all()
    assert (rankings[:, 1].sort(-1).values == torch.arange(4)).all() and (rankings[:, 2] == -1).all()
    found = policy.log_prob(rankings)
    assert found.shape == (200, 3) and (found[:, 2] == 0).all()
    alone = PlackettLuceDistribution(scores[0, [0, 2, 3]]).log_prob(torch.tensor([2, 0, 1]))
    torch.testing.assert_close(policy.log_prob(torch.tensor([3, 0, 2, -1]))[0], alone)
    assert policy.log_prob(torch.tensor([1, -1]))[0] == -torch.inf
    found.sum().backward()
    assert torch.isfinite(scores.grad).all() and scores.grad[0, 1] == 0 and not scores.grad[2].any()
    assert policy.mode.tolist() == [[3, 2, 0, -1], [0, 1, 2, 3], [-1] * 4]


def test_scores_of_padding_do_not_matter():
    mask = torch.tensor([True, True, False])
    one, other = (PlackettLuceDistribution(torch.tensor([0.0, 1.0, pad]), mask) for pad in (torch.nan, 1e30))
    ranking = torch.tensor([1, 0])
    assert one.log_prob(ranking) == other.log_prob(ranking)


def test_lists_by_their_offsets():
    scores, offsets = torch.arange(5.0), torch.tensor([0, 2, 2, 5])
    policy = PlackettLuceDistribution.of_lists(scores.clone().requires_grad_(), offsets)
    assert policy.batch_shape == (3,) and policy.event_shape == (3,)
    assert policy.mode.tolist() == [[1, 0, -1], [-1, -1, -1], [2, 1, 0]]
    wanted = log_probabilities(scores.numpy().astype(float), offsets.numpy(), policy.mode.numpy()[:, None])[:, 0]
    np.testing.assert_allclose(policy.log_prob(policy.mode).detach().numpy(), wanted, rtol=1e-6)
    with pytest.raises(DataError, match=r"from 0 to the number of scores, 5. Got \[0, 4\]"):
        PlackettLuceDistribution.of_lists(scores, torch.tensor([0, 4]))


def test_shapes_and_expand():
    policy = PlackettLuceDistribution(torch.zeros(2, 1, 4))
    assert (policy.batch_shape, policy.event_shape) == ((2, 1), (4,))
    assert policy.sample().shape == (2, 1, 4) and policy.sample((5, 3)).shape == (5, 3, 2, 1, 4)
    wide = policy.expand((7, 2, 6))
    assert (
        isinstance(wide, PlackettLuceDistribution)
        and wide.batch_shape == (7, 2, 6)
        and wide.sample((2,)).shape == (2, 7, 2, 6, 4)
    )
    assert wide.log_prob(wide.sample()).shape == (7, 2, 6)
    assert policy.log_prob(torch.tensor([1, 0])).shape == (2, 1)
    assert policy.log_prob(torch.zeros(3, 1, 1, 0, dtype=torch.int64)).shape == (3, 2, 1)
    assert torch.distributions.Independent(policy, 1).log_prob(policy.sample()).shape == (2,)
    assert "PlackettLuceDistribution(scores: torch.Size([2, 1, 4]))" in repr(policy)
    assert not policy.has_rsample and policy.support.is_discrete and policy.support.event_dim == 1
    assert policy.support.check(policy.sample()).all()


def test_expand_keeps_the_scores_and_the_checks():
    policy = PlackettLuceDistribution(MIXED, validate_args=False).expand((3,))
    torch.testing.assert_close(policy.scores, MIXED.expand(3, 5))
    policy.log_prob(torch.tensor([0, 0]))  # not looked at
    with pytest.raises(DataError, match="different items"):
        PlackettLuceDistribution(MIXED, validate_args=True).expand((3,)).log_prob(torch.tensor([0, 0]))


def test_randomness_is_that_of_torch():
    policy = PlackettLuceDistribution(torch.zeros(30))
    torch.manual_seed(3)
    first = policy.sample((4,))
    torch.manual_seed(3)
    assert (policy.sample((4,)) == first).all() and (policy.sample((4,)) != first).any()
    generators = [torch.Generator().manual_seed(seed) for seed in (1, 1, 2)]
    one, same, other = (policy.sample((4,), generator=generator) for generator in generators)
    assert (one == same).all() and (one != other).any()


def test_nothing_leaves_the_device():
    # Tensors of the meta device have no numbers, and refuse to be mixed with those of another.
    scores = torch.zeros(2, 3, device="meta", requires_grad=True)
    policy = PlackettLuceDistribution(scores, torch.ones(2, 3, dtype=torch.bool, device="meta"), validate_args=False)
    rankings = policy.expand((5, 2)).sample((4,))
    assert rankings.shape == (4, 5, 2, 3)
    found = policy.log_prob(rankings)
    found.sum().backward()
    assert {each.device.type for each in (rankings, found, policy.mode, scores.grad)} == {"meta"}


def test_numbers_keep_their_kind():
    policy = PlackettLuceDistribution(torch.zeros(3, dtype=torch.float32))
    assert policy.log_prob(torch.tensor([0, 1, 2], dtype=torch.int32)).dtype == torch.float32


def test_maximum_likelihood_finds_the_scores():
    truth = torch.tensor([1.5, 0.5, 0.0, -2.0])
    torch.manual_seed(0)
    rankings = PlackettLuceDistribution(truth).sample((4_000,))
    scores = torch.zeros(4, requires_grad=True)
    optimizer = torch.optim.LBFGS([scores], max_iter=50)

    def loss():
        optimizer.zero_grad()
        value = -PlackettLuceDistribution(scores).log_prob(rankings).mean()
        value.backward()
        return value

    optimizer.step(loss)
    np.testing.assert_allclose((scores - scores.mean()).detach().numpy(), truth.numpy(), atol=0.12)


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (lambda: PlackettLuceDistribution(torch.tensor([0.0, torch.nan])), "scores must be numbers, or −inf.* Got nan"),
        (lambda: PlackettLuceDistribution(torch.tensor([0.0, torch.inf])), "Got inf"),
        (lambda: PlackettLuceDistribution(torch.tensor(1.0)), r"tensor \[..., items\]. Got torch.float32 \(\)"),
        (lambda: PlackettLuceDistribution(torch.zeros(2, 0)), r"Got torch.float32 \(2, 0\)"),
        (lambda: PlackettLuceDistribution(torch.tensor([1, 2])), "Got torch.int64"),
        (lambda: PlackettLuceDistribution([1.0, 2.0]), "Got list"),
        (lambda: PlackettLuceDistribution(torch.zeros(3), torch.ones(3)), "mask must be boolean"),
        (
            lambda: PlackettLuceDistribution(torch.zeros(3), torch.ones(2, dtype=torch.bool)),
            r"mask must be .* \[..., 3\]",
        ),
        (
            lambda: PlackettLuceDistribution(MIXED).log_prob(torch.tensor([0, 1, 0])),
            r"different items.*Got \[0, 1, 0\]",
        ),
        (lambda: PlackettLuceDistribution(MIXED).log_prob(torch.tensor([[0, 1], [5, 0]])), r"0 to 4.*Got \[5, 0\]"),
        (lambda: PlackettLuceDistribution(MIXED).log_prob(torch.tensor([0, -1, 2])), r"Got \[0, -1, 2\]"),
        (lambda: PlackettLuceDistribution(MIXED).log_prob(torch.tensor([0, -2])), r"Got \[0, -2\]"),
        (lambda: PlackettLuceDistribution(MIXED).log_prob(torch.arange(6)), "at most 5 ranks. Got 6"),
        (lambda: PlackettLuceDistribution(MIXED).log_prob(torch.zeros(2)), "tensor of integers"),
        (
            lambda: PlackettLuceDistribution(torch.zeros(2, 3)).log_prob(torch.zeros(4, 1, dtype=int)),
            r"Got \(4,\) for .* \(2,\)",
        ),
    ],
)
def test_bad_input_is_named(work, words):
    with pytest.raises(DataError, match=words):
        work()


def test_checks_can_be_switched_off():
    assert PlackettLuceDistribution(torch.tensor([0.0, torch.nan]), validate_args=False).event_shape == (2,)
    assert isinstance(PlackettLuceDistribution(MIXED), Distribution)
