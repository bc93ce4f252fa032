"""Steps of the label ranker on some of the labels, and as a device takes them: from rows and with kernels there."""

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import luce
from luce.objectives import label_loss
from luce.rankers.labels import learner
from luce.rankers.labels.candidates import Negatives, only_rows
from luce.rankers.labels.network import LabelNetwork
from luce.rankers.labels.rows import HostRows, ResidentRows
from luce.rankers.neural.training import OPTIMIZERS

from .tagged import parts, quick, tagged


@pytest.fixture(scope="module")
def data():
    return parts()


@pytest.mark.parametrize("sampling", ["uniform", "frequency", "hard"])
def test_sampled_negatives_look_at_some_labels_and_at_all_relevant_ones(data, sampling, monkeypatch):
    seen, sizes = [], []
    part, whole = learner.only_rows, LabelNetwork.scores

    def noted(self, hidden, labels=None):
        found = whole(self, hidden, labels)
        sizes.append(found.shape)
        return found

    def rows(layer, chosen, optimizer):
        seen.append(chosen.numpy())
        return part(layer, chosen, optimizer)

    monkeypatch.setattr(learner, "only_rows", rows)
    monkeypatch.setattr(LabelNetwork, "scores", noted)
    train = data["train"].take(np.arange(3, 8))
    quick(negatives=4, negative_sampling=sampling, epochs=1, steps_per_epoch=3, batch_size=5).fit(train)
    relevant = np.unique(train.labels.indices)
    assert sizes == [(5, len(some)) for some in seen]
    assert all(np.isin(relevant, some).all() and len(set(some)) == len(some) for some in seen)
    assert all(len(some) <= len(relevant) + 4 for some in seen)
    if sampling == "frequency":  # no others are relevant to any row
        assert all(len(some) == len(relevant) for some in seen)
        return
    assert len({tuple(some) for some in seen}) > 1  # others are drawn each step


def test_a_step_on_some_labels_leaves_the_others_as_they_are(data, monkeypatch):
    """Weights and moments of the labels that no step has seen keep their bits; those it has seen change."""
    seen, optimizers = set(), []
    part = learner.only_rows

    def rows(layer, chosen, optimizer):
        seen.update(chosen.tolist())
        optimizers.append((layer, optimizer))
        return part(layer, chosen, optimizer)

    monkeypatch.setattr(learner, "only_rows", rows)
    train = data["train"].take(np.arange(3, 8))
    ranker = quick(negatives=4, weight_decay=0.1, epochs=1, steps_per_epoch=2, batch_size=5).fit(train)
    torch.manual_seed(0)
    start = LabelNetwork(30, 40, hidden_layer_sizes=(16,)).out
    found, touched = ranker.network_.out, np.isin(np.arange(40), sorted(seen))
    assert 5 < touched.sum() < 40
    for name in ("weight", "bias"):
        before, after = getattr(start, name).detach().numpy(), getattr(found, name).detach().numpy()
        same = (before == after).reshape(40, -1).all(1)
        np.testing.assert_array_equal(same, ~touched)
    layer, optimizer = optimizers[-1]
    for moment in ("exp_avg", "exp_avg_sq"):
        entries = optimizer.state[layer.weight][moment]
        assert entries.shape == layer.weight.shape and layer.weight.grad is None
        np.testing.assert_array_equal((entries != 0).any(1).numpy(), touched)


def lazily(name, w, slope, memory, t, lr, decay):
    """One step of an optimizer on one row, as its paper has it; `memory`: two sums."""
    slope = slope + decay * w
    if name == "sgd":
        return w - lr * slope
    if name == "adagrad":
        memory[0] += slope**2
        return w - lr * slope / (np.sqrt(memory[0]) + 1e-10)
    memory[0], memory[1] = 0.9 * memory[0] + 0.1 * slope, 0.999 * memory[1] + 0.001 * slope**2
    return w - lr * memory[0] / (1 - 0.9**t) / (np.sqrt(memory[1] / (1 - 0.999**t)) + 1e-8)


@pytest.mark.parametrize("name", list(OPTIMIZERS))
@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_rows_of_a_layer_are_updated_by_hand(name, decay):
    torch.manual_seed(1)
    layer = torch.nn.Linear(3, 6)
    optimizer = OPTIMIZERS[name](layer.parameters(), lr=0.1, weight_decay=decay)
    expected = np.column_stack([layer.weight.detach(), layer.bias.detach()]).astype(float)
    memory = np.zeros((6, 2, 4))
    inputs = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    for t, chosen in enumerate(([4, 1], [1, 0, 5], [4, 1, 5]), start=1):
        with only_rows(layer, torch.tensor(chosen), optimizer):
            optimizer.zero_grad()
            layer(torch.from_numpy(inputs)).square().sum().backward()
            optimizer.step()
        with_bias = np.column_stack([inputs, np.ones(4)])
        for row in chosen:
            slope = 2 * (with_bias @ expected[row]) @ with_bias
            expected[row] = lazily(name, expected[row], slope, memory[row], t, 0.1, decay)
        np.testing.assert_allclose(layer.weight.detach(), expected[:, :3], atol=2e-5)
        np.testing.assert_allclose(layer.bias.detach(), expected[:, 3], atol=2e-5)


class Allocations(TorchDispatchMode):
    """Notes how many elements the results of operations have that lie in no known memory."""

    def __init__(self, known):
        super().__init__()
        self.known, self.sizes = {one.untyped_storage().data_ptr() for one in known}, [0]

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        found = function(*arguments, **(named or {}))
        for one in found if isinstance(found, tuple | list) else [found]:
            if isinstance(one, torch.Tensor) and one.untyped_storage().data_ptr() not in self.known:
                self.sizes.append(one.numel())
        return found


@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_a_step_on_some_rows_makes_nothing_as_large_as_the_layer(name):
    layer, inputs = torch.nn.Linear(3, 1_000), torch.ones(2, 3)
    optimizer = OPTIMIZERS[name](layer.parameters(), lr=0.1)

    def step(chosen):
        with only_rows(layer, torch.tensor(chosen), optimizer):
            optimizer.zero_grad()
            layer(inputs).sum().backward()
            optimizer.step()

    step([3, 1])
    state = [one for entries in optimizer.state.values() for one in entries.values() if isinstance(one, torch.Tensor)]
    with Allocations([*layer.parameters(), *state]) as made:
        step([1, 999])
    assert 6 <= max(made.sizes) < 1_000


def test_negatives_follow_their_frequency_or_their_scores():
    counts, drawn = np.array([0, 60, 30, 10, 0]), np.zeros(5)
    negatives = Negatives(1, "frequency", counts, seed=3)
    for step in range(2_000):
        found = negatives.draw(np.array([3]), step)
        drawn[found] += 1
    np.testing.assert_allclose(drawn / 2_000, [0, 0.6, 0.3, 0, 0], atol=0.04)  # 3 is known
    hard, layer = Negatives(2, "hard", counts, seed=3), torch.nn.Linear(1, 5)
    assert len(hard.draw(np.array([3]), 0)) > 2
    with torch.no_grad():
        layer.weight[:, 0], layer.bias[:] = torch.tensor([1.0, -3, 0, 9, 2]), 0.0
        chosen = hard.hardest(torch.tensor([0, 1, 2, 4]), torch.tensor([[1.0], [-1.0]]), layer)
    assert sorted(chosen.tolist()) == [1, 4]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"objective": "softmax"},
        {"objective": "bce", "hidden_layer_sizes": ()},
        {"objective": "ranknet"},
        {"negatives": 6},
        {"negatives": 6, "objective": "c-kl", "negative_sampling": "hard"},
        {"fused": True, "objective": "c-kl"},
        {"fused": True, "negatives": 8},
    ],
    ids=str,
)
@pytest.mark.parametrize(("is_sparse", "graded"), [(True, False), (False, False), (True, True)])
def test_the_way_of_a_device_is_that_of_the_host(settings, is_sparse, graded, monkeypatch):
    """Rows that lie there, and losses by its kernels: on a CPU here."""
    train = tagged(graded=graded)
    if not is_sparse:
        train = luce.TaggedData(train.features.toarray(), train.labels)
    settings = {"optimizer": "sgd", "learning_rate": 0.1, "epochs": 2} | settings
    fused, used = settings.pop("fused", False), []
    expected = quick(**settings).fit(train)

    def rows(device, *given):
        used.append(device)
        return ResidentRows(*given, device)

    monkeypatch.setattr(learner, "rows_on", rows)
    monkeypatch.setattr(label_loss, "one_device", lambda *tensors: "cuda")
    monkeypatch.setattr(learner, "is_fused", lambda *given: fused)
    found = quick(**settings).fit(train)
    assert used and found.history_[-1]["loss"] == pytest.approx(expected.history_[-1]["loss"], rel=1e-4)
    np.testing.assert_allclose(found.predict(train), expected.predict(train), atol=2e-4)


@pytest.mark.parametrize("graded", [False, True])
def test_rows_on_a_device_are_those_of_the_host(graded):
    data, some = tagged(graded=graded), np.array([7, 0, 149, 7, 30])
    host, there = (each(data.features, data, torch.device("cpu")) for each in (HostRows, ResidentRows))
    for found, expected in zip(there.features(some)[:3], host.features(some)[:3], strict=True):
        assert found.dtype == expected.dtype and torch.equal(found, expected)
    found, expected = there.relevant(some), host.relevant(some)
    assert found.longest == expected.longest and (found.grades is not None) == graded
    for ours, theirs in zip(found[:3], expected[:3], strict=True):
        assert ours is theirs is None or torch.equal(ours.double(), theirs.double())


@pytest.mark.parametrize(("n_known", "n_labels"), [(300, 420), (10, 100), (250, 5_000), (512, 5_000)])
def test_drawn_labels_are_a_multiple_where_there_are_enough(n_known, n_labels):
    negatives = Negatives(100, "uniform", np.ones(n_labels, int), seed=0)
    for step in range(20):
        known = np.sort(np.random.default_rng(step).choice(n_labels, n_known, replace=False))
        others = negatives.draw(known, step, 256)
        assert len(np.union1d(known, others)) == n_known + len(others)
        if n_labels == 5_000:
            assert (n_known + len(others)) % 256 == 0 and 100 <= len(others) < 100 + 256


def test_room_for_more_entries_and_labels_changes_nothing(data):
    train, device = data["train"], torch.device("cpu")
    resident, rows = ResidentRows(train.features, train, device), torch.tensor([7, 2, 30])
    torch.manual_seed(0)
    network = LabelNetwork(train.n_features, train.n_labels, hidden_layer_sizes=(4,))
    entries, n_relevant = resident.counts(rows.numpy())
    found = []
    for more in (0, 23):
        network.zero_grad()
        features = resident.features_there(rows, entries + more)
        assert features.offsets[-1] == len(features.indices)  # EmbeddingBag needs a row for each entry
        hidden = network.hidden(features)
        hidden.square().sum().backward()
        relevant = resident.relevant_there(rows, n_relevant + more)
        found.append((hidden.detach(), network.first.weight.grad, relevant.offsets, relevant.labels[:n_relevant]))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_hard_negatives_are_those_of_the_hidden_values_of_the_batch(data, monkeypatch):
    seen, hardest = [], Negatives.hardest

    def noted(self, pool, hidden, layer):
        seen.append(hidden)
        return hardest(self, pool, hidden, layer)

    monkeypatch.setattr(Negatives, "hardest", noted)
    train = data["train"].take(np.arange(3, 8))
    quick(negatives=4, negative_sampling="hard", epochs=1, steps_per_epoch=1, batch_size=5).fit(train)
    torch.manual_seed(0)
    network = LabelNetwork(30, 40, hidden_layer_sizes=(16,)).eval()
    expected = network.hidden(HostRows(train.features, train, torch.device("cpu")).features(np.arange(5))).detach()
    order = expected.sum(1).argsort(), seen[0].sum(1).argsort()  # the rows of a batch are shuffled
    torch.testing.assert_close(seen[0][order[1]], expected[order[0]])
