"""Networks on sparse features: the same scores as on dense ones, and no batch is made dense."""

import numpy as np
import pytest
import torch
from scipy import sparse

import luce
from luce.optimizers.gradient_descent import as_arrays
from luce.rankers import NeuralRanker
from luce.rankers.neural.entries import Ragged, as_rows, dense
from luce.rankers.neural.network import InputLayer, Network
from luce.rankers.neural.resident_learner import ResidentLearner

CPU = torch.device("cpu")
on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
SIZES = np.random.default_rng(1).integers(2, 12, 40)
N = int(SIZES.sum())


def made(n_features=30, density=0.2, seed=0):
    """The same lists with sparse and with dense features; the first row is the longest, and others are empty."""
    rng = np.random.default_rng(seed)
    kept = rng.random((N, n_features)) < density
    kept[0], kept[5:8] = True, False
    X = np.where(kept, rng.normal(size=(N, n_features)), 0)
    labels = np.digitize(X[:, :3].sum(1) + 0.3 * rng.normal(size=N), [0, 0.5, 1]).astype(float)
    offsets = np.concatenate([[0], np.cumsum(SIZES)])
    return luce.Dataset(sparse.csr_array(X), labels, offsets), luce.Dataset(X, labels, offsets)


def ranker(objective="listnet", **settings):
    base = {"hidden_layer_sizes": (8, 4), "transforms": (), "optimizer": "sgd", "learning_rate": 0.1}
    base |= {"batch_size": 6, "epochs": 3, "validation_fraction": None, "device": "cpu", "n_jobs": 1}
    return NeuralRanker(objective, **(base | settings))


class Centred(torch.nn.Module):
    """A module of the user's, which takes dense rows."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(30, 1)

    def forward(self, rows, offsets):
        return self.layer(rows - rows.mean(0))[:, 0]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"hidden_layer_sizes": ()},
        {"dropout": 0.2, "normalization": "batch", "batch_size": 16},
        {"normalization": "layer", "hidden_layer_sizes": (8,)},  # a second one blows up the last bits
        {"objective": "squared-label", "optimizer": "adagrad"},
        {"context": "attention", "accumulation_steps": 2},
        {"objective": "mcrank", "hidden_layer_sizes": ()},
        {"n_bags": 2, "max_features": 0.6},
        {"module": Centred()},
        {"module": Centred(), "n_bags": 2, "max_features": 0.6},
        {"precision": "bfloat16", "hidden_layer_sizes": ()},
    ],
    ids=str,
)
def test_sparse_and_dense_features_give_the_same_scores(settings, tmp_path):
    thin, full = made()
    found, expected = ranker(**settings).fit(thin), ranker(**settings).fit(full)
    tolerance = {"rtol": 1e-3, "atol": 0.02} if "precision" in settings else {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(found.predict(thin), expected.predict(full), **tolerance)
    np.testing.assert_allclose(found.predict(full), found.predict(thin), rtol=1e-4, atol=1e-5)
    assert [one["loss"] for one in found.history_] == pytest.approx(
        [one["loss"] for one in expected.history_], rel=0.01
    )
    if "module" not in settings:
        found.save(tmp_path / "a.luce")
        np.testing.assert_allclose(
            luce.load(tmp_path / "a.luce").predict(thin), found.predict(thin), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("n_rows", [4, 60])  # fewer and more entries than features: both ways to read the weights
def test_a_layer_and_its_gradients_are_those_of_dense_rows(n_rows):
    X = sparse.random_array((n_rows, 50), density=0.1, rng=0, dtype=np.float32, format="csr")
    assert (X.nnz < 50) == (n_rows == 4)
    layer = InputLayer(50, 7)
    weight, bias = (one.detach().double().requires_grad_() for one in (layer.weight, layer.bias))
    expected = torch.from_numpy(X.toarray()).double() @ weight.t() + bias
    found = layer(as_rows(X))
    for one in (found, expected):
        one.square().sum().backward()
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-6)
    for one, other in ((layer.weight, weight), (layer.bias, bias)):
        torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-5, atol=1e-6)


def test_dense_features_begin_with_the_weights_of_pytorch():
    torch.manual_seed(0)
    network = Network(5, None, hidden_layer_sizes=(3,))
    torch.manual_seed(0)
    for ours, theirs in ((network.rows[0], torch.nn.Linear(5, 3)), (network.out, torch.nn.Linear(3, 1))):
        assert torch.equal(ours.weight, theirs.weight) and torch.equal(ours.bias, theirs.bias)
    assert list(network.state_dict()) == ["rows.0.weight", "rows.0.bias", "out.weight", "out.bias"]


def test_rows_taken_on_a_device_have_room_for_more():
    """Rows that are not inside have no entries, and the room that is left is spread over all."""
    thin, full = made()
    there, rows = Ragged(thin.features, CPU), torch.tensor([3, 6, 1, 0, 0, 0])
    inside = torch.arange(6) < 3
    count = there.count(np.array([3, 6, 1]))
    for more in (0, 1, 60):
        found = there.entries(rows, count + more, inside)
        assert found.offsets[0] == 0 and found.offsets[-1] == len(found.indices) == count + more
        np.testing.assert_array_equal(dense(found)[:3], full.features[[3, 6, 1]])
        assert not dense(found)[3:].any()
    assert found.offsets.diff().max() <= np.diff(thin.features.indptr)[[3, 6, 1]].max() + 10
    nobody = there.entries(torch.arange(0), 0)
    assert len(nobody.indices) == 0 and nobody.offsets.tolist() == [0]
    nothing = Ragged(sparse.csr_array((4, 3), dtype=np.float32), CPU).entries(torch.arange(2), 64)
    assert not dense(nothing).any() and nothing.offsets.tolist() == [0, 0, 0]
    first = there.entries(torch.tensor([0]), 40)  # what fills the room lies where the row has an entry
    np.testing.assert_array_equal(dense(first), full.features[:1])


def resident(data, **settings):
    torch.manual_seed(3)
    base = {"optimizer": "sgd", "learning_rate": 0.05, "weight_decay": 0.0, "seed": 1, "n_jobs": 1}
    network = Network(30, None, hidden_layer_sizes=(8,))
    goal = luce.objective("listnet")
    return ResidentLearner(network, goal, data.features, data, validation_score=lambda _: None, **(base | settings))


def test_steps_where_the_network_is_also_with_room_for_more():
    """As they are, and as a GPU records them: more lists, rows and entries than there are; the first row is long."""
    found = {}
    for name, data in zip(("sparse", "dense"), made(), strict=True):
        one = resident(data)
        losses = [one.read(one.step(np.array([4, 0, 2]) + number, 0.0, number), number) for number in range(3)]
        found[name] = losses, as_arrays(one.parameters())
    one, losses = resident(made()[0]), []
    for number in range(3):
        lists = np.array([4, 0, 2]) + number
        inbox = torch.tensor([one.seed, 0, number, 3, *lists, -1, -1])
        n_entries = int(one.entries[lists].sum())
        one._recorded_step(inbox, (5, int(one.sizes[lists].sum()) + 40, n_entries + 25))
        losses.append(float(one.loss))
    found["recorded"] = losses, as_arrays(one.parameters())
    for name in ("sparse", "recorded"):
        np.testing.assert_allclose(found[name][0], found["dense"][0], rtol=1e-5)
        for key, value in found["dense"][1].items():
            np.testing.assert_allclose(found[name][1][key], value, rtol=1e-4, atol=1e-6, err_msg=key)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_a_resumed_training_ends_in_the_same_bits(optimizer, tmp_path):
    data, validation = made()[0], made(seed=1)[0]
    settings = {"optimizer": optimizer, "learning_rate": 0.01, "dropout": 0.1, "transforms": ("standardize",)}
    whole = ranker(**settings).fit(data, validation=validation)

    def stop(record):
        if record["iteration"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        path = tmp_path / "c"
        ranker(**settings).fit(data, validation=validation, checkpoint=luce.Checkpoint(path, steps=1), callback=stop)
    again = ranker(**settings).fit(data, validation=validation, checkpoint=luce.Checkpoint(path, resume=True))
    assert again.history_ == whole.history_
    np.testing.assert_array_equal(again.predict(data), whole.predict(data))


def test_wide_features_are_never_made_dense(monkeypatch):
    """A dense batch would have 800 MB, all rows 16 GB."""
    rng, n_rows, width = np.random.default_rng(0), 2_000, 2_000_000
    X = sparse.csr_array(
        (rng.random(20 * n_rows), rng.integers(width, size=20 * n_rows), np.arange(n_rows + 1) * 20), (n_rows, width)
    )
    labels = rng.integers(3, size=n_rows)
    X += sparse.csr_array((labels + 1.0, (np.arange(n_rows), np.zeros(n_rows, int))), (n_rows, width))

    def refused(self, *given, **settings):
        raise AssertionError("made dense")

    for kind in {type(X), *type(X).__mro__}:
        for name in ("toarray", "todense"):
            if name in vars(kind):
                monkeypatch.setattr(kind, name, refused)
    data = luce.Dataset(X, labels, np.arange(0, n_rows + 1, 10))
    defaults = NeuralRanker().transforms
    found = ranker(hidden_layer_sizes=(2,), transforms=defaults, batch_size=10, epochs=2, steps_per_epoch=10).fit(data)
    assert luce.evaluate(found.predict(data), data, "ndcg@5").means["ndcg@5"] > 0.9


@on_gpu
@pytest.mark.parametrize(
    "settings", [{}, {"hidden_layer_sizes": ()}, {"dropout": 0.2}, {"context": "attention"}], ids=str
)
@pytest.mark.parametrize("loaded", [False, True])
def test_a_gpu_takes_the_same_steps_and_repeats_its_bits(settings, loaded, monkeypatch):
    data, settings = made()[0], settings | {"epochs": 12}
    if loaded:
        monkeypatch.setattr("luce.rankers.neural.resident_learner.fits", lambda *given: False)
    found, again = (ranker(**settings, device="cuda").fit(data).predict(data) for _ in range(2))
    np.testing.assert_array_equal(found, again)
    if not {"dropout", "context"} & settings.keys():  # attention blows up the last bits in a few epochs
        np.testing.assert_allclose(found, ranker(**settings).fit(data).predict(data), rtol=0.01, atol=0.005)
