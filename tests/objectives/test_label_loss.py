"""The loss on [rows, labels] is that of the objective on lists of all labels, and rows without labels give nothing."""

import numpy as np
import pytest
import torch

from luce.errors import DataError, LuceError, OptionError
from luce.objectives import OBJECTIVES, Draw, objective
from luce.torch import Relevant, label_loss

NAMES = ("pl-partition", "pl-lb", "attrank", "ranknet", "ranksvm", "softmax", "bce", "squared-label", "listmle")
N = 17


def made(graded, dtype=torch.float64):
    rng = np.random.default_rng(0)
    sizes = [3, 0, 1, N, 6]  # one row has no label, one has all
    labels = np.concatenate([np.sort(rng.choice(N, size, replace=False)) for size in sizes])
    grades = torch.from_numpy(rng.integers(1, 4, len(labels)).astype(float)) if graded else None
    offsets = torch.from_numpy(np.cumsum([0, *sizes]))
    scores = torch.from_numpy(rng.normal(0, 2, (len(sizes), N))).to(dtype).requires_grad_()
    return scores, Relevant(torch.from_numpy(labels), offsets, grades)


def as_lists(scores, relevant):
    table = np.zeros(scores.shape)
    for row in range(len(table)):
        some = slice(relevant.offsets[row], relevant.offsets[row + 1])
        table[row, relevant.labels[some]] = 1 if relevant.grades is None else relevant.grades[some]
    return scores.detach().double().numpy().ravel(), table.ravel(), np.arange(len(table) + 1) * N


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("graded", [False, True])
def test_equals_the_objective_on_lists_of_all_labels(name, graded):
    scores, relevant = made(graded)
    draw = Draw(seed=3, step=1)
    upstream = torch.tensor([1.0, 5.0, -2.0, 0.5, 3.0], dtype=torch.float64)
    losses = label_loss(name, scores, relevant, reduction="none", draw=draw)
    (losses * upstream).sum().backward()
    expected = objective(name).value_and_gradient(*as_lists(scores, relevant), draw=draw)
    with_labels = np.array([1, 0, 1, 1, 1])
    np.testing.assert_allclose(losses.detach().numpy(), expected.loss * with_labels, rtol=1e-12, atol=1e-12)
    slope = expected.gradient.reshape(5, N) * (upstream.numpy() * with_labels)[:, None]
    np.testing.assert_allclose(scores.grad.numpy(), slope, rtol=1e-12, atol=1e-12)
    assert (scores.grad[1] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_have_the_type_of_the_scores(dtype):
    scores, relevant = made(False, dtype)
    label_loss("pl-partition", scores, relevant).backward()
    expected = objective("pl-partition").value_and_gradient(*as_lists(scores, relevant)).gradient.reshape(5, N) / 5
    assert scores.grad.dtype == dtype
    np.testing.assert_allclose(scores.grad.double().numpy(), expected, atol=1e-7 if dtype == torch.float32 else 2e-3)


def test_means_and_sums_are_over_rows():
    scores, relevant = made(False)
    each = label_loss("bce", scores, relevant, reduction="none")
    assert label_loss("bce", scores, relevant).item() == pytest.approx(each.mean().item())
    assert label_loss("bce", scores, relevant, reduction="sum").item() == pytest.approx(each.sum().item())


def test_the_softmax_losses_differ_by_known_factors():
    """With two partitions of n relevant labels: softmax = n · attrank = pl-lb + log n!."""
    scores, relevant = made(False)
    sizes = relevant.offsets.diff().double()
    softmax, attrank, bound = (
        label_loss(name, scores, relevant, reduction="none").detach() for name in ("softmax", "attrank", "pl-lb")
    )
    torch.testing.assert_close(softmax, sizes * attrank)
    some = sizes < N  # where all labels are relevant there is one partition
    torch.testing.assert_close(softmax[some], (bound + torch.lgamma(sizes + 1))[some])


def test_softmax_of_graded_labels_weights_by_grade():
    """The losses of the grades add up: that of grade 3 counts three times."""
    scores, relevant = made(True)
    found = label_loss("softmax", scores, relevant, reduction="none")
    rows = torch.repeat_interleave(torch.arange(5), relevant.offsets.diff())
    each = -scores.log_softmax(1)[rows, relevant.labels]
    torch.testing.assert_close(found, torch.zeros(5, dtype=torch.float64).index_add(0, rows, relevant.grades * each))
    binary = label_loss("softmax", scores, relevant, reduction="none", gain="binary")
    torch.testing.assert_close(binary, label_loss("softmax", scores, relevant._replace(grades=None), reduction="none"))


def test_options_of_the_objective():
    scores, relevant = made(False)
    coarse, fine = (label_loss("pl-partition", scores, relevant, tol=t).item() for t in (1e-3, 1e-13))
    assert coarse == pytest.approx(fine, abs=1e-2) and coarse != fine


def test_what_is_refused():
    scores, relevant = made(False)
    with pytest.raises(DataError, match="two-dimensional"):
        label_loss("bce", scores[0], relevant)
    with pytest.raises(DataError, match="must have 5 rows"):
        label_loss("bce", scores, Relevant(relevant.labels, torch.tensor([0, len(relevant.labels)])))
    with pytest.raises(DataError, match="from 0 to 16"):
        label_loss("bce", scores, relevant._replace(labels=relevant.labels + 1))
    with pytest.raises(DataError, match="scores must be finite"):
        label_loss("bce", scores * torch.inf, relevant)
    with pytest.raises(OptionError, match="reduction must be"):
        label_loss("bce", scores, relevant, reduction="median")
    for name in ("mcrank", "pairties-davidson"):
        assert OBJECTIVES[name]
        with pytest.raises(OptionError, match="cannot train one score per label"):
            label_loss(name, scores, relevant)
    with pytest.raises(LuceError):
        label_loss("bce", scores.to("meta"), relevant)
