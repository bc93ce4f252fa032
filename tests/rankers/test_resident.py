"""Training where the network is: the same steps as with the objective on the CPU, and on a GPU the same bits twice."""

import numpy as np
import pytest
import torch

import luce
from luce.errors import LuceError
from luce.objectives import OBJECTIVES, objective
from luce.objectives.torch_device import evaluate_on_device
from luce.optimizers.gradient_descent import as_arrays, descend
from luce.optimizers.learning_curve import LearningCurve
from luce.rankers import NeuralRanker
from luce.rankers.neural.learner import NetworkLearner
from luce.rankers.neural.network import Network
from luce.rankers.neural.recorded import capacity_for
from luce.rankers.neural.resident import ResidentLists
from luce.rankers.neural.resident_learner import ResidentLearner
from luce.rankers.neural.training import Schedule

HAS_GPU = torch.cuda.is_available()
on_gpu = pytest.mark.skipif(not HAS_GPU, reason="needs a GPU")
SIZES = np.array([6, 1, 9, 4, 12, 3, 7, 5])
N = int(SIZES.sum())


def dataset(weights=True, seed=0):
    """Lists without ties, so that no shuffle decides, and with NaN labels."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate([rng.permutation(size) % 5 + rng.permutation(size) / 1_000 for size in SIZES])
    labels[11] = np.nan
    given = {"item_weights": rng.random(N), "list_weights": rng.random(len(SIZES))} if weights else {}
    features = rng.normal(size=(N, 6)).astype(np.float32)
    return luce.Dataset(features, labels, np.concatenate([[0], np.cumsum(SIZES)]), **given)


def learner(kind, name, data, device="cpu", **settings):
    goal = objective(name, **({"samples": 200} if "samples" in OBJECTIVES[name].option_specs else {}))
    torch.manual_seed(3)
    network = Network(6, 5 if goal.one_output_per_grade else None, hidden_layer_sizes=(8,)).to(device)
    base = {"optimizer": "sgd", "learning_rate": 0.05, "weight_decay": 0.0, "seed": 1, "n_jobs": 1}
    base["validation_score"] = lambda learner: None
    return kind(network, goal, data.features, data, **(base | settings))


def steps(one, n=3):
    losses = [one.read(one.step(np.array([4, 1, 2]) + number, number / 3, number), number) for number in range(n)]
    return losses, as_arrays(one.parameters())


def data_for(name):
    data = dataset(weights=OBJECTIVES[name].item_weights)
    if OBJECTIVES[name].one_output_per_grade:
        return luce.Dataset(data.features, np.floor(data.labels), data.offsets)
    return data


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("name", [name for name, each in OBJECTIVES.items() if not each.random or name == "listmle"])
def test_the_same_steps_there(name, parts):
    data = data_for(name)
    expected = steps(learner(NetworkLearner, name, data))
    found = steps(learner(ResidentLearner, name, data, accumulation_steps=parts))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5, atol=1e-6)
    for key, value in expected[1].items():
        np.testing.assert_allclose(found[1][key], value, rtol=1e-4, atol=1e-6, err_msg=key)


def test_rows_without_a_list_and_lists_without_rows_change_nothing():
    data, device = dataset(), torch.device("cpu")
    resident = ResidentLists(data, device)
    lists = torch.tensor([4, 0, -1, -1])
    batch = resident.batch(lists, 25)
    assert batch.offsets.tolist() == [0, 12, 18, 18, 18]
    assert batch.inside.sum() == 18
    assert batch.rows[:18].tolist() == [*range(20, 32), *range(6)]
    assert batch.real.tolist() == [True, True, False, False]
    exact, roomy = (learner(ResidentLearner, "c-kl", data) for _ in range(2))
    whole = exact._propagate(*arguments(exact, resident.batch(lists[:2], 18)))
    more = roomy._propagate(*arguments(roomy, batch))
    assert float(whole) == pytest.approx(float(more), rel=1e-6)
    for one, other in zip(exact.network.parameters(), roomy.network.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def arguments(one, batch):
    return batch, one.features[batch.rows], torch.zeros(2, dtype=torch.int64), luce.Draw(), 0.5, 12


def test_what_kernels_leave_in_rows_without_a_list_reaches_no_weight(monkeypatch):
    data, given = dataset(), []

    def left_over(objective, lists, n_jobs):
        found = evaluate_on_device(objective, lists, n_jobs)
        given.append(n_jobs)
        beyond = torch.arange(len(found.gradient)) >= lists.offsets[-1]
        return found._replace(gradient=torch.where(beyond, torch.nan, found.gradient))

    monkeypatch.setattr("luce.rankers.neural.resident_learner.evaluate_on_device", left_over)
    one = learner(ResidentLearner, "c-kl", data)
    one._propagate(*arguments(one, one.resident.batch(torch.tensor([4, 0]), 25)))
    assert all(parameter.grad.isfinite().all() for parameter in one.network.parameters())
    assert given == [1]


def test_capacities_are_few_and_near():
    for n in range(1, 5_000):
        assert n <= capacity_for(n) <= max(64, 1.25 * n)
    assert len({capacity_for(n) for n in range(1_024, 4_096)}) <= 9


def test_a_loss_that_is_not_finite_is_named_with_its_step():
    data = dataset()
    one = learner(ResidentLearner, "squared-label", data, learning_rate=1e30)
    curve = LearningCurve()
    with pytest.raises(LuceError, match=r"not finite at step [23]\b"):
        descend(one, np.arange(8), curve, epochs=1, batch_size=2, steps_per_epoch=20, seed=0)


def test_a_schedule_rises_and_falls():
    cosine = Schedule("cosine", 4, 12)
    factors = [cosine.factor(step) for step in range(12)]
    assert factors[:4] == [0.25, 0.5, 0.75, 1.0]
    assert np.all(np.diff(factors[4:]) < 0)
    assert 0 < factors[-1] < 0.1
    assert [Schedule(None, 2, 6).factor(step) for step in range(4)] == [0.5, 1.0, 1.0, 1.0]


def test_schedule_and_clipping_reach_the_weights():
    data = dataset()
    moved = {}
    for name, settings in {
        "plain": {},
        "half": {"schedule": Schedule(None, 2, 10)},
        "clipped": {"max_grad_norm": 1e-3},
    }.items():
        one = learner(NetworkLearner, "c-kl", data, **settings)
        before = as_arrays(one.parameters())
        one.step(np.arange(4), 0.0, 0)
        after = as_arrays(one.parameters())
        moved[name] = np.concatenate([(after[key] - before[key]).ravel() for key in before])
    np.testing.assert_allclose(moved["half"], moved["plain"] / 2, rtol=1e-4, atol=1e-7)
    assert np.linalg.norm(moved["clipped"]) == pytest.approx(0.05 * 1e-3, rel=1e-2)


def test_a_schedule_is_not_resumed_with_other_epochs(tmp_path):
    given = {"hidden_layer_sizes": (8,), "validation_fraction": None, "device": "cpu", "n_jobs": 1}
    checkpoint = tmp_path / "c"
    NeuralRanker(epochs=2, learning_rate_schedule="cosine", **given).fit(dataset(), checkpoint=checkpoint)
    longer = NeuralRanker(epochs=4, learning_rate_schedule="cosine", **given)
    with pytest.raises(LuceError, match="epochs"):
        longer.fit(dataset(), checkpoint=luce.Checkpoint(checkpoint, resume=True))


def test_low_precision_is_near_and_what_is_unknown_is_named():
    data = dataset()
    given = {"hidden_layer_sizes": (8,), "epochs": 2, "validation_fraction": None, "device": "cpu", "n_jobs": 1}
    scores = {name: NeuralRanker(precision=name, **given).fit(data).predict(data) for name in ("float32", "bfloat16")}
    assert 0 < np.abs(scores["float32"] - scores["bfloat16"]).max() < 0.05
    with pytest.raises(LuceError, match="Did you mean 'bfloat16'"):
        NeuralRanker(precision="bfloat").fit(data)
    with pytest.raises(LuceError, match="Did you mean 'cosine'"):
        NeuralRanker(learning_rate_schedule="cosin").fit(data)


def fitted(**settings):
    given = {"hidden_layer_sizes": (16, 8), "epochs": 3, "batch_size": 3, "validation_fraction": None, "n_jobs": 1}
    return NeuralRanker(**(given | {"device": "cuda"} | settings)).fit(dataset())


@on_gpu
@pytest.mark.parametrize("name", [*OBJECTIVES])
def test_recorded_steps_on_a_gpu_are_those_of_the_host(name):
    data = data_for(name)
    found = steps(learner(ResidentLearner, name, data, "cuda"))
    if not OBJECTIVES[name].random:
        expected = steps(learner(NetworkLearner, name, data))
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-4, atol=1e-5)
        for key, value in expected[1].items():
            np.testing.assert_allclose(found[1][key], value, rtol=1e-3, atol=1e-5, err_msg=key)
    again = steps(learner(ResidentLearner, name, data, "cuda"))
    assert found[0] == again[0]
    assert all((found[1][key] == again[1][key]).all() for key in found[1])


@on_gpu
@pytest.mark.parametrize(
    "settings",
    [
        {"dropout": 0.3},
        {"context": "attention"},
        {"normalization": "batch"},
        {"optimizer": "adagrad"},
        {"precision": "bfloat16", "learning_rate_schedule": "cosine", "max_grad_norm": 1.0},
        {"objective": "pl-rank-3", "accumulation_steps": 2},
    ],
    ids=str,
)
def test_a_gpu_repeats_its_bits_also_after_an_interruption(settings, tmp_path):
    whole = fitted(**settings)
    again = fitted(**settings)
    assert (whole.predict(dataset()) == again.predict(dataset())).all()

    def stop(record):
        if record["iteration"] == 2:
            raise KeyboardInterrupt

    path, part = tmp_path / "checkpoint", NeuralRanker(**whole.get_params())
    with pytest.raises(KeyboardInterrupt):
        part.fit(dataset(), checkpoint=luce.Checkpoint(path, steps=1), callback=stop)
    resumed = NeuralRanker(**whole.get_params()).fit(dataset(), checkpoint=luce.Checkpoint(path, resume=True))
    assert resumed.history_ == whole.history_
    assert (whole.predict(dataset()) == resumed.predict(dataset())).all()


@on_gpu
def test_features_that_do_not_fit_are_loaded_meanwhile(monkeypatch):
    settings = {"optimizer": "sgd", "learning_rate": 0.05}
    expected = fitted(**settings)
    monkeypatch.setattr("luce.rankers.neural.resident_learner.fits", lambda *given: False)
    np.testing.assert_allclose(fitted(**settings).predict(dataset()), expected.predict(dataset()), rtol=1e-3, atol=1e-4)
