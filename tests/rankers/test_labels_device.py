"""Steps of the label ranker on some of the labels, and as a device takes them: from rows and with kernels there."""

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import luce
from luce.objectives import label_loss
from luce.rankers.labels import learner, recorded_learner
from luce.rankers.labels.candidates import Negatives, hardest, only_rows
from luce.rankers.labels.network import LabelNetwork
from luce.rankers.labels.rows import HostRows, ResidentRows
from luce.rankers.neural.recorded import RecordedSteps
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


def test_negatives_follow_their_frequency():
    relevant, drawn = np.repeat([1, 2, 3], [60, 30, 10]), np.zeros(5)
    negatives = Negatives(1, "frequency", relevant, 5, seed=3)
    for step in range(2_000):
        labels, count = negatives.draw(np.array([3]), step)
        assert labels[0] == 3 and count == len(labels)
        drawn[labels[1:]] += 1
    np.testing.assert_allclose(drawn / 2_000, [0, 0.6, 0.3, 0, 0], atol=0.04)


@pytest.mark.parametrize("wrong", [None, np.nan, np.inf])
def test_the_hardest_labels_have_the_highest_scores_beside_the_known_ones(wrong):
    rng, layer = np.random.default_rng(0), torch.nn.Linear(3, 20)
    labels, hidden = rng.permutation(20)[:15], rng.normal(size=(4, 3)).astype(np.float32)
    with torch.no_grad():
        layer.weight[labels[2]] = -9 * layer.weight.abs().max()  # a known one, below others in some rows
        if wrong is not None:
            layer.bias[labels[3:]] = wrong
        found = hardest(torch.from_numpy(labels), torch.tensor(3), 7, torch.from_numpy(hidden), layer).numpy()
    scores = (hidden @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()).max(0)
    expected = labels[3:][np.argsort(-scores[labels[3:]])[:4]]
    assert len(set(found)) == 7 and set(labels[:3]) < set(found) <= set(labels)
    assert wrong is not None or set(found) == {*labels[:3], *expected}


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


@pytest.mark.parametrize(("sampling", "pool"), [("uniform", 100), ("hard", 800)])
@pytest.mark.parametrize(("n_known", "n_labels"), [(300, 420), (10, 100), (250, 50_000), (512, 50_000)])
def test_drawn_labels_are_a_multiple_where_there_are_enough(n_known, n_labels, sampling, pool):
    negatives = Negatives(100, sampling, np.zeros(0, int), n_labels, seed=0)
    for step in range(20):
        known = np.sort(np.random.default_rng(step).choice(n_labels, n_known, replace=False))
        labels, count = negatives.draw(known, step, 256)
        assert len(set(labels)) == len(labels) and (labels[:n_known] == known).all()
        if n_labels == 50_000:
            for number, found in ((pool, len(labels)), (100, count)):
                assert found % 256 == 0 and number <= found - n_known < number + 256


class AtOnce:
    """In place of recorded steps: what the inbox says is done, with other numbers where a graph has more room."""

    def __init__(self, work, device):
        self.work = work

    def run(self, numbers, capacity):
        self.capacities.append(capacity)
        self.work(torch.from_numpy(np.append(numbers, [-1] * 7)), capacity)
        return True


class Recorded(recorded_learner.RecordedLabelLearner):
    """On a CPU."""

    def update_candidates(self, work, candidates):
        return torch.as_tensor(super().update_candidates(work, candidates))


@pytest.fixture
def capacities(monkeypatch):
    """Those of the steps, which are those that a GPU records; here with no more labels or room than on the host."""
    found = []
    monkeypatch.setattr(learner, "rows_on", lambda device, *given: ResidentRows(*given, device))
    monkeypatch.setattr(label_loss, "one_device", lambda *tensors: "cuda")
    monkeypatch.setattr(recorded_learner, "has_triton", lambda: True)
    monkeypatch.setattr(recorded_learner, "RecordedSteps", AtOnce)
    monkeypatch.setattr(recorded_learner, "TOGETHER", 1)
    monkeypatch.setattr(recorded_learner, "capacity_for", lambda size, parts: size)  # plain kernels take no more
    monkeypatch.setattr(learner, "LabelLearner", Recorded)
    monkeypatch.setattr(AtOnce, "capacities", found, raising=False)
    return found


@pytest.mark.parametrize("sampling", ["uniform", "frequency", "hard", None])
def test_recorded_steps_are_those_of_the_host(sampling, data, capacities, monkeypatch):
    settings = {"learning_rate": 0.1, "epochs": 2, "dropout": 0.3, "batch_size": 4, "optimizer": "sgd"}
    if sampling is not None:
        settings |= {"negatives": 2, "negative_sampling": sampling}
    found = quick(**settings).fit(data["train"])
    monkeypatch.undo()
    expected = quick(**settings).fit(data["train"])
    assert 15 < len(capacities) <= 20  # a step that draws none beside the known labels is not recorded
    assert any(labels > count for *_, labels, count in capacities) == (sampling == "hard")
    assert found.history_[-1]["loss"] == pytest.approx(expected.history_[-1]["loss"], rel=1e-4)
    np.testing.assert_allclose(found.predict(data["test"]), expected.predict(data["test"]), atol=1e-4)


def test_recorded_steps_have_few_numbers_of_labels(data, capacities, monkeypatch):
    """One relevant label more or less needs no other graph; with too few labels a step is not recorded."""
    monkeypatch.setattr(recorded_learner, "TOGETHER", 8)
    settings = {"negatives": 1, "negative_sampling": "hard", "batch_size": 3, "epochs": 3}
    quick(**settings).fit(data["train"])
    assert all(labels % 8 == count % 8 == 0 and count <= labels for *_, labels, count in capacities)
    assert 20 < len(capacities) <= 30 and len({one[3:] for one in capacities}) <= 4


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("sampling", ["uniform", "frequency", "hard"])
def test_recorded_steps_on_a_gpu_repeat_their_bits(sampling, data, monkeypatch):
    record, graphs = RecordedSteps._record, []
    monkeypatch.setattr(recorded_learner, "TOGETHER", 4)
    monkeypatch.setattr(RecordedSteps, "_record", lambda *given: graphs.append(given) or record(*given))
    settings = {"negatives": 2, "negative_sampling": sampling, "dropout": 0.3, "batch_size": 4, "device": "cuda"}
    one, two = (quick(**settings).fit(data["train"]).predict(data["test"]) for _ in range(2))
    assert graphs and np.isfinite(one).all()
    np.testing.assert_array_equal(one, two)


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
    """Of the network without dropout, which the step itself has."""
    seen, update = [], learner.LabelLearner.update_candidates

    def noted(labels, n_known, count, hidden, layer):
        seen.append(hidden)
        return hardest(labels, n_known, count, hidden, layer)

    def updated(self, work, candidates):
        seen.append(self.network.training)
        return update(self, work, candidates)

    monkeypatch.setattr(learner, "hardest", noted)
    monkeypatch.setattr(learner.LabelLearner, "update_candidates", updated)
    train, given = data["train"].take(np.arange(3, 8)), {"epochs": 1, "steps_per_epoch": 1, "batch_size": 5}
    quick(negatives=4, negative_sampling="hard", dropout=0.5, **given).fit(train)
    torch.manual_seed(0)
    network = LabelNetwork(30, 40, hidden_layer_sizes=(16,)).eval()
    expected = network.hidden(HostRows(train.features, train, torch.device("cpu")).features(np.arange(5))).detach()
    order = expected.sum(1).argsort(), seen[0].sum(1).argsort()  # the rows of a batch are shuffled
    torch.testing.assert_close(seen[0][order[1]], expected[order[0]])
    assert seen[1] is True
