"""`luce.torch.RankingLoss`: a module like those of PyTorch, in eager mode, in a graph, and on several processes."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch

import luce
from luce.errors import DataError, OptionError
from luce.objectives import OBJECTIVES
from luce.objectives.torch_bridge import evaluate_lists, evaluate_lists_there
from luce.objectives.torch_module import list_losses
from luce.torch import RankingLoss, loss

from .made import ragged

SCORES = torch.tensor([[2.0, 0.5, 1.0], [0.0, 3.0, 99.0]])
LABELS = torch.tensor([[2.0, 0.0, 1.0], [1.0, 0.0, -1.0]])
MASK = LABELS >= 0
FLAT = SCORES[MASK], LABELS[MASK], torch.tensor([0, 3, 5])
SAMPLED = [name for name, each in OBJECTIVES.items() if each.random and each.estimate is not None]
IN_GRAPH = ["listmle", "pl-partition", "pl-rank-2", "pairties-davidson", "lambdarank"]


@pytest.fixture(autouse=True)
def no_compiled_graphs():
    torch.compiler.reset()


def padded(name):
    """Scores with a gradient, labels and the mask of the lists of `ragged` that have items."""
    scores, labels, offsets = ragged(name)
    sizes = np.diff(offsets)[np.diff(offsets) > 0]
    mask = torch.arange(int(sizes.max())) < torch.tensor(sizes)[:, None]
    wide, grades = torch.full((*mask.shape, *scores.shape[1:]), 7.7), torch.full(mask.shape, -1.0)
    wide[mask], grades[mask] = torch.tensor(scores).float(), torch.tensor(labels).float()
    return wide.requires_grad_(), grades, mask


def value_and_gradients(criterion, scores, *given, **named):
    scores = scores.detach().clone().requires_grad_()
    torch.manual_seed(3)
    value = criterion(scores, *given, **named)
    return value.detach(), *torch.autograd.grad(value, [scores, *criterion.parameters()])


@pytest.mark.parametrize("name", OBJECTIVES)
def test_padded_and_flat_lists_are_the_same_to_the_module(name):
    scores, labels, mask = padded(name)
    criterion = RankingLoss(name, reduction="sum", n_jobs=1)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), mask.sum(1).cumsum(0)])
    value, gradient, *extra = value_and_gradients(criterion, scores, labels, mask)
    flat, flat_gradient, *flat_extra = value_and_gradients(criterion, scores[mask], labels[mask], offsets=offsets)
    torch.testing.assert_close([value, gradient[mask], *extra], [flat, flat_gradient, *flat_extra], rtol=0, atol=0)
    assert not gradient[~mask].any() and torch.isfinite(value)


@pytest.mark.parametrize("name", [name for name, each in OBJECTIVES.items() if not each.random])
def test_neither_other_lists_nor_the_order_of_equal_labels_count(name):
    scores, labels, mask = padded(name)
    criterion = RankingLoss(name, reduction="none", n_jobs=1)
    value = criterion(scores, labels, mask)
    (gradient,) = torch.autograd.grad(value.sum(), scores)
    order = torch.randperm(mask.shape[1], generator=torch.Generator().manual_seed(1))
    for lists in (slice(None), slice(1, 3)):
        moved = scores.detach()[lists, order].requires_grad_()
        found = criterion(moved, labels[lists, order], mask[lists, order])
        torch.testing.assert_close(found, value[lists])
        (slope,) = torch.autograd.grad(found.sum(), moved)
        torch.testing.assert_close(slope, gradient[lists, order], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "bounds",
    [
        {"mask": MASK.long()},
        {"mask": MASK.float()},
        {"lengths": torch.tensor([3, 2])},
        {"lengths": torch.tensor([3, 2], dtype=torch.int32)},
    ],
    ids=str,
)
def test_masks_of_numbers_and_lengths(bounds):
    criterion = RankingLoss("pl-partition", n_jobs=1)
    assert torch.equal(criterion(SCORES, LABELS, **bounds), criterion(SCORES, LABELS, MASK))


@pytest.mark.parametrize("name", SAMPLED)
def test_steps_differ_and_the_seed_repeats_them(name):
    criterion = RankingLoss(name, samples=3, n_jobs=1)
    scores = torch.zeros(1, 12, requires_grad=True)
    labels = torch.arange(12.0)[None] % 3

    def steps():
        torch.manual_seed(0)
        return [torch.autograd.grad(criterion(scores, labels, lengths=torch.tensor([12])), scores)[0] for _ in "ab"]

    (one, two), again = steps(), steps()
    assert not torch.equal(one, two)
    assert torch.equal(one, again[0]) and torch.equal(two, again[1])
    draw = luce.Draw(seed=5)
    given = [loss(name, scores, labels, mask=labels >= 0, samples=3, draw=draw, n_jobs=1) for _ in "ab"]
    assert torch.equal(*given)


@pytest.mark.parametrize("name", IN_GRAPH)
def test_a_compiled_graph_has_no_break(name):
    scores, labels, mask = padded(name)
    weights = torch.linspace(0.5, 2, len(mask))
    criterion = RankingLoss(name, n_jobs=1)
    compiled = torch.compile(criterion, fullgraph=True, backend="aot_eager")
    for given in ({"mask": mask}, {"lengths": mask.sum(1), "list_weights": weights}):
        found = value_and_gradients(compiled, scores, labels, **given)
        torch.testing.assert_close(found, value_and_gradients(criterion, scores, labels, **given))
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), mask.sum(1).cumsum(0)])
    flat = scores.detach()[mask], labels[mask]
    found = value_and_gradients(compiled, *flat, offsets=offsets)
    torch.testing.assert_close(found, value_and_gradients(criterion, *flat, offsets=offsets))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_padding_is_not_observed_on_a_device(name):
    goal = OBJECTIVES[name]
    scores, labels, mask = padded(name)
    order = torch.randperm(mask.shape[1], generator=torch.Generator().manual_seed(1))
    if not goal.random:  # whose numbers belong to places of a list
        scores, labels, mask = scores[:, order], labels[:, order], mask[:, order]
    scores = scores.detach().masked_fill(~mask.reshape(*mask.shape, *[1] * (scores.ndim - 2)), torch.nan)
    labels = labels.masked_fill(~mask, 1e30)
    weights = torch.rand(mask.shape).masked_fill(~mask, torch.nan) if goal.item_weights else None
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), mask.sum(1).cumsum(0)])
    nuisance, seed = torch.tensor([*goal.nuisance.values()]), torch.tensor(5)
    found = evaluate_lists_there(scores, nuisance, mask, labels, weights, goal, seed, None)
    flat = scores[mask], nuisance, offsets, labels[mask], None if weights is None else weights[mask]
    losses, gradient, extra = evaluate_lists_there(*flat, goal, seed, None)
    assert not found[1][~mask].any()
    close = {"rtol": 1e-5, "atol": 1e-6}
    torch.testing.assert_close((found[0], found[1][mask], found[2]), (losses, gradient, extra), **close)
    if not goal.random:
        on_cpu = evaluate_lists(*flat, goal, luce.Draw(5), 1)
        torch.testing.assert_close((losses, gradient, extra), on_cpu, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("half", [torch.float32, torch.bfloat16])
def test_the_operator_is_a_well_behaved_one(half):
    for name in ("pl-partition", "pairties-davidson"):
        criterion = RankingLoss(name)
        nuisance = torch.empty(0) if criterion.nuisance is None else criterion.nuisance
        scores = SCORES.clone().to(half).requires_grad_()
        given = scores, nuisance, MASK, LABELS, None, torch.tensor(1), criterion._key, 1, None
        torch.library.opcheck(list_losses, given, rtol=1e-2, atol=1e-2)


def test_a_copy_is_compiled_too():
    criterion = RankingLoss("listmle", depth=2, n_jobs=1)
    for copied in (copy.deepcopy(criterion), pickle.loads(pickle.dumps(criterion))):
        assert copied._key != criterion._key and str(copied) == "RankingLoss(listmle(depth=2), reduction='mean')"
        compiled = torch.compile(copied, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(SCORES, LABELS, MASK), criterion(SCORES, LABELS, MASK))


def test_half_precision():
    criterion, scores = RankingLoss("pl-partition", n_jobs=1), SCORES.half().requires_grad_()
    value = criterion(scores, LABELS.half(), MASK)
    assert value.dtype == torch.float32
    (value * 2.0**-20).mul(2.0**20).backward()  # a gradient in float16 would be 0 between the two factors
    exact = SCORES.clone().requires_grad_()
    criterion(exact, LABELS, MASK).backward()
    torch.testing.assert_close(scores.grad.float(), exact.grad, rtol=1e-3, atol=1e-4)
    with torch.autocast("cpu", torch.bfloat16):
        layer = torch.nn.Linear(3, 1)
        criterion(layer(torch.ones(2, 3, 3)).squeeze(-1), LABELS, MASK).backward()
    assert layer.weight.grad.dtype == torch.float32 and torch.isfinite(layer.weight.grad).all()


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_the_gradient_is_not_differentiated_again(reduction):
    scores = SCORES.clone().requires_grad_()
    value = RankingLoss("listnet", reduction=reduction, n_jobs=1)(scores, LABELS, MASK).square().sum()
    (gradient,) = torch.autograd.grad(value, scores, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_parameters_of_the_objective_are_trained():
    criterion = RankingLoss("pairties-davidson", n_jobs=1)
    assert [*criterion.state_dict()] == ["nuisance"] and not [*RankingLoss("listmle").parameters()]
    labels = torch.tensor([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0]])
    optimizer = torch.optim.SGD(criterion.parameters(), lr=0.1)
    before = criterion(SCORES, labels, torch.ones(2, 3))
    before.backward()
    optimizer.step()
    assert criterion(SCORES, labels, torch.ones(2, 3)) < before


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (
            {"scores": SCORES[..., None]},
            DataError,
            r"have the shape of its mask, .* scores.squeeze\(-1\) has the right",
        ),
        ({"mask": None}, DataError, r"needs mask=, .* or lengths=, the number of items of each list"),
        ({"mask": None, "lengths": torch.tensor([3])}, DataError, r"one entry per list .* Got lengths of shape \(1,\)"),
        ({"lengths": torch.tensor([3, 2])}, OptionError, "a mask or lengths for a padded batch, not both"),
        ({"mask": torch.zeros(2, 3)}, DataError, "no item in row 1"),
    ],
)
def test_bad_input_to_the_module(change, error, words):
    with pytest.raises(error, match=words):
        RankingLoss("listnet", n_jobs=1)(**{"scores": SCORES, "labels": LABELS, "mask": MASK, **change})


@pytest.mark.parametrize(
    ("name", "nuisance"),
    [("pairties-davidson", torch.zeros(3)), ("listnet", torch.zeros(3)), ("listnet", torch.tensor(0))],
)
def test_parameters_that_are_none_of_the_objective(name, nuisance):
    with pytest.raises(DataError, match="nuisance must"):
        loss(name, SCORES, LABELS, mask=MASK, nuisance=nuisance)


@pytest.mark.parametrize("given", [{"reduction": "none"}, {"list_weights": torch.tensor([1.0, 2.0])}], ids=list)
def test_a_mask_may_change_before_the_backward_pass(given):
    gradients = []
    for changes in (False, True):
        scores, mask = SCORES.clone().requires_grad_(), MASK.clone() != 0
        value = loss("listnet", scores, LABELS, mask=mask, **given)
        if changes:
            mask.zero_()
        value.sum().backward()
        gradients.append(scores.grad)
    assert torch.equal(*gradients)


def test_bad_options_of_the_module():
    with pytest.raises(OptionError, match="reduction must be"):
        RankingLoss("listnet", reduction="max")
    with pytest.raises(OptionError, match="'depth' option of listmle"):
        RankingLoss("listmle", depth=0)


WORKER = """
import os, sys, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from luce.torch import RankingLoss
rank, ranks, store, out = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]
torch.set_num_threads(1)
torch.manual_seed(0)
features, labels = torch.randn(8, 5, 4), torch.randint(0, 3, (8, 5)).float()
network = torch.nn.Linear(4, 1)
if ranks > 1:
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=ranks)
    network = DistributedDataParallel(network)
criterion = RankingLoss("pl-partition", n_jobs=1)
optimizer = torch.optim.SGD(network.parameters(), lr=0.5)
for _ in range(4):
    optimizer.zero_grad()
    own, scores = labels[rank::ranks], network(features[rank::ranks]).squeeze(-1)
    criterion(scores, own, torch.ones_like(own)).backward()
    optimizer.step()
if rank == 0:
    torch.save([each.detach() for each in network.parameters()], out)
os._exit(0)  # DDP keeps the threads of gloo, destroyed group or not, which may end a normal exit by std::terminate
"""


@pytest.mark.multiprocess
def test_two_processes_train_as_one(tmp_path):
    found = []
    for ranks in (1, 2):
        words = [str(ranks), str(tmp_path / f"store{ranks}"), str(tmp_path / f"{ranks}.pt")]
        workers = [
            subprocess.Popen([sys.executable, "-c", WORKER, str(rank), *words], env=os.environ) for rank in range(ranks)
        ]
        assert [each.wait(timeout=300) for each in workers] == [0] * ranks
        found.append(torch.load(words[-1]))
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-6)
