"""The stochastic treatment of losses: the mean over noise, what holds of it, and the loss in files and commands."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import luce
from luce.cli import app
from luce.data.synthetic import web_search
from luce.errors import OptionError
from luce.kernels.sampled_rankings import gumbel_scores
from luce.objectives import OBJECTIVES, Draw, objective, record
from luce.objectives.expected import FAMILY

SCORES, LABELS = np.array([2.0, 0.5, 1, 0, -1]), np.array([3.0, 2, 1, 1, 0])
TREATED = [name for name, each in OBJECTIVES.items() if each.family != FAMILY and not each.one_output_per_grade]
SETTLED = [name for name in TREATED if not OBJECTIVES[name].random and name != "pl-topk"]


@pytest.mark.parametrize("name", SETTLED)
def test_it_is_the_mean_over_noise(name):
    treated, goal, draw = objective(name), objective("stochastic", loss=name, samples=7), Draw(5, 2)
    assert goal.hessian == treated.hessian
    found = goal.value_and_gradient(SCORES, LABELS, draw=draw, hessian=treated.hessian)
    noisy = [gumbel_scores(SCORES, np.array([0, 5]), sample=sample, draw=draw) for sample in range(7)]
    single = [treated.value_and_gradient(one, LABELS, hessian=treated.hessian) for one in noisy]
    for field in found._fields:
        mean = None if getattr(found, field) is None else np.mean([getattr(one, field) for one in single], axis=0)
        assert mean is None or np.allclose(getattr(found, field), mean, rtol=1e-10, atol=1e-12)
    assert (found.nuisance_gradient is not None) == bool(treated.nuisance)


@pytest.mark.parametrize("together", [1, 2, 3])
def test_samples_may_be_evaluated_a_few_at_a_time(monkeypatch, together):
    goal = objective("stochastic", loss="listmle", samples=7)
    whole = goal.value_and_gradient(SCORES, LABELS)
    monkeypatch.setattr("luce.objectives.stochastic.ROWS", 5 * together)
    parts = goal.value_and_gradient(SCORES, LABELS)
    assert np.allclose(parts.loss, whole.loss, rtol=1e-12)
    np.testing.assert_allclose(parts.gradient, whole.gradient, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", [name for name in TREATED if not OBJECTIVES[name].gradient_only])
def test_the_gradient_is_the_finite_difference_at_held_noise(name):
    goal = objective("stochastic", loss=name, samples=3)
    labels = LABELS + np.arange(5) / 100 if name == "pl-topk" else LABELS
    gradient = goal.value_and_gradient(SCORES, labels).gradient
    for place, step in enumerate(1e-5 * np.eye(5)):
        above, below = (goal.value_and_gradient(SCORES + d, labels).loss[0] for d in (step, -step))
        assert gradient[place] == pytest.approx((above - below) / 2e-5, rel=1e-6, abs=1e-7)


def test_what_holds_of_the_loss_holds_of_the_mean():
    assert objective("stochastic", loss="bce").pointwise and not objective("stochastic", loss="bce").shift_invariant
    assert objective("stochastic", loss="listnet").uses_ties and not objective("stochastic").uses_ties
    assert objective("stochastic").gradient_only and not objective("stochastic", loss="listmle").gradient_only
    assert objective("stochastic", loss="listmle").leaf_sums is None
    with pytest.raises(OptionError, match="no diagonal second derivative"):
        objective("stochastic", loss="ranksvm").value_and_gradient(SCORES, LABELS, hessian=True)
    refusing = next(name for name in TREATED if not OBJECTIVES[name].item_weights)
    with pytest.raises(OptionError, match=r"stochastic does not support item weights: .+"):
        objective("stochastic", loss=refusing).value_and_gradient(SCORES, LABELS, item_weights=np.ones(5))


def test_a_random_loss_draws_apart_from_the_noise():
    """Equal labels are shuffled anew for every sample: of many samples all orders are alike."""
    goal = objective("stochastic", loss="listmle", samples=4_000)
    gradient = goal.value_and_gradient(np.zeros(3), [1.0, 1, 0]).gradient
    assert abs(gradient[0] - gradient[1]) < 0.1


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        ("mcrank", "one score per item; mcrank has one per grade"),
        ("pl-rank-2", "already a mean over sampled rankings"),
        ("stochastic", "already a mean over sampled rankings"),
        ("lambdalos", "Did you mean 'lambdaloss'"),
        ({"metric": "dcg@5"}, "a mapping such as"),
        ({"name": "lambdaloss", "metrik": "dcg@5"}, "Did you mean 'metric'"),
        (3, "'loss' option of stochastic must be an objective with one score per item"),
    ],
)
def test_a_loss_that_cannot_be_treated_is_refused_with_a_reason(loss, words):
    with pytest.raises(OptionError, match=words):
        objective("stochastic", loss=loss)
    with pytest.raises(OptionError, match="must be an integer ≥ 1 or three of them"):
        objective("stochastic", samples="auto")


@pytest.mark.parametrize("loss", [objective("lambdaloss", metric="dcg@5"), {"name": "lambdaloss", "metric": "dcg@5"}])
def test_the_options_of_the_loss_survive_a_file(loss, tmp_path):
    data = web_search(20, n_features=3, mean_length=6, seed=0).dataset
    goal = objective("stochastic", loss=loss, samples=2)
    assert json.loads(json.dumps(goal.options)) == {"loss": {"name": "lambdaloss", "metric": "dcg@5"}, "samples": 2}
    ranker = luce.LinearRanker(goal, max_iter=2).fit(data)
    ranker.save(tmp_path / "model.luce")
    again = luce.load(tmp_path / "model.luce")
    assert again.get_objective() == goal
    np.testing.assert_array_equal(again.predict(data), ranker.predict(data))


def test_the_command_line_sets_options_of_the_loss(tmp_path):
    data = web_search(20, n_features=3, mean_length=6, seed=0).dataset
    luce.write(data, tmp_path / "train.txt")
    words = ["--option", "loss=lambdaloss", "--option", "loss__metric=dcg@5", "--option", "samples=2"]
    model = tmp_path / "model.luce"
    given = [
        "train",
        tmp_path / "train.txt",
        "--model",
        "linear",
        "--objective",
        "stochastic",
        *words,
        "--output",
        model,
    ]
    result = CliRunner().invoke(app, [*map(str, given)])
    assert result.exit_code == 0, result.output
    assert luce.load(model).get_objective().options["loss"] == {"name": "lambdaloss", "metric": "dcg@5"}


def test_a_users_own_loss_is_treated():
    own = record("own", family="x", formula="x", paper="x", cost="n")(OBJECTIVES["ranknet"].compute)
    goal = objective("stochastic", loss=own)
    assert goal.options["loss"] is own
    wanted = objective("stochastic", loss="ranknet").value_and_gradient(SCORES, LABELS).gradient
    np.testing.assert_array_equal(goal.value_and_gradient(SCORES, LABELS).gradient, wanted)
