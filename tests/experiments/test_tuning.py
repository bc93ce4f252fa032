"""Tuning: declared ranges that hold, trials that repeat, failures that are reported, and the best that is refitted."""

import re

import numpy as np
import optuna
import pytest
from sklearn.base import clone

import luce
from luce.data.splits import parts
from luce.data.synthetic import tagged_documents, web_search
from luce.experiments.cross_validation import CrossValidation
from luce.experiments.tuning import tune
from luce.experiments.tuning_space import space_of
from luce.objectives import OBJECTIVES
from luce.options import Choice, Range
from luce.rankers import RANKERS, Ranker
from luce.rankers.search_space import search_space, value_of, with_settings

LISTS = web_search(40, n_features=6, mean_length=14, seed=3).dataset
TAGS = tagged_documents(60, n_words=20, n_labels=8)
QUICK = {
    "ensemble": {},
    "linear": {"max_iter": 3},
    "trees": {"n_estimators": 3},
    "neural": {"steps_per_epoch": 5, "epochs": 2, "device": "cpu"},
    "labels": {"steps_per_epoch": 5, "epochs": 2, "device": "cpu"},
}


def made(kind, **more):
    return RANKERS[kind](**{**QUICK[kind], "n_jobs": 1, **more})


def data_of(ranker):
    return LISTS if isinstance(ranker, Ranker) else TAGS


def linear(**more):
    return luce.LinearRanker("listnet", n_jobs=1, **{"max_iter": 8, **more})


def outcome(found):
    return [(trial.state, trial.params, trial.fold_scores) for trial in found.trials]


SEARCH_SPACE = [
    (kind, name) for kind in RANKERS for name, spec in made(kind).param_specs.items() if spec.search_space is not None
]


@pytest.mark.parametrize(("kind", "name"), SEARCH_SPACE)
def test_the_ends_of_every_declared_range_are_accepted_by_fit(kind, name):
    ranker = made(kind, **({"objective": "lambdarank"} if kind == "linear" else {}))
    tried = search_space(ranker)[name]
    assert value_of(made(kind), name) in tried, "the default is worth trying"
    for end in tried.ends:
        fitted = with_settings(ranker, {name: end}).fit(data_of(ranker))
        assert np.isfinite(fitted.predict(data_of(ranker))).all()


SEARCHED = [
    (objective, name)
    for objective in OBJECTIVES.values()
    for name, spec in objective.option_specs.items()
    if spec.search_space is not None
]


@pytest.mark.parametrize(("objective", "name"), SEARCHED)
def test_the_ends_of_every_declared_option_are_accepted_by_its_objective(objective, name):
    option = objective.option_specs[name]
    assert option.default in option.search_space
    assert all(name not in kind().get_params() for kind in RANKERS.values()), "one name, one meaning"
    for end in option.search_space.ends:
        assert objective.with_options(**{name: end}).options[name] == end


def test_a_range_with_integer_ends_of_a_float_setting_holds_floats():
    space = space_of(luce.TreeRanker(), {"reg_lambda": Range(1, 4), "num_leaves": Range(4, 8)})
    assert 2.5 in space["reg_lambda"]
    assert 4.5 not in space["num_leaves"]


def test_what_changes_nothing_is_not_tried():
    assert list(search_space(luce.LinearRanker("listnet"))) == ["reg_lambda"]
    assert list(search_space(luce.LinearRanker("lambdarank"))) == ["reg_lambda", "learning_rate", "truncation_level"]
    assert "truncation_level" not in search_space(luce.TreeRanker("lambdarank", lightgbm_objective="lambdarank"))
    with pytest.raises(luce.OptionError, match=r"There is nothing to tune in"):
        space_of(luce.LinearRanker("listnet", optimizer="coordinate-ascent"))


@pytest.mark.parametrize(
    ("vary", "fixed", "error"),
    [
        ({"leaf_count": Range(1, 2)}, (), "no setting of the trees ranker or option of listmle 'leaf_count'"),
        ({"num_leaves": Range(1, 8)}, (), "num_leaves must be an integer from 2"),
        ({"num_leaves": Range(8, 4)}, (), "from a lower to a higher number. Got 8 to 4"),
        ({"reg_lambda": Range(0.0, 4.0, log=True)}, (), "above 0"),
        ({"reg_lambda": (0.1, 4.0)}, (), "must be a luce.Range or a luce.Choice. Got \\(0.1, 4.0\\)"),
        ({"depth": Choice((5,))}, (), "at least two different values"),
        ({"depth": Choice((5, 0))}, (), "'depth' option of listmle must be an integer ≥ 1"),
        ({"num_leaves": Range(4, 8)}, ["num_leaves"], "both varied and fixed"),
        ({}, ["shrubs"], "no setting .* 'shrubs'"),
    ],
)
def test_ranges_are_checked_before_any_work(vary, fixed, error):
    with pytest.raises(luce.OptionError, match=error):
        space_of(luce.TreeRanker("listmle"), vary, fixed)


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"folds": 1}, "folds must be an integer ≥ 2"),
        ({"trials": 0}, "trials must be an integer ≥ 1"),
        ({"folds": 41}, "41 folds need at least 41 lists"),
        ({"minutes": 0}, "minutes must be a number > 0"),
        ({"seed": -1}, "seed must be"),
        ({"validation": TAGS}, "To tune a linear ranker, the validation must be a Dataset"),
    ],
)
def test_settings_of_a_tuning_are_checked(more, error):
    with pytest.raises(luce.LuceError, match=error):
        tune(linear(), LISTS, **more)


def test_several_learning_rates_are_refused():
    with pytest.raises(luce.OptionError, match="needs one learning_rate"):
        tune(made("neural", learning_rate=(1e-3, 1e-2)), LISTS)


def test_the_value_is_the_mean_over_folds_and_the_model_is_fitted_on_all_lists():
    ranker = luce.TreeRanker(n_estimators=12, early_stopping_rounds=4, n_jobs=1)
    found = tune(ranker, LISTS, trials=3, folds=4, seed=5)
    held_out = parts(LISTS, 4, seed=5)
    for trial in found.trials:
        for part, figure, iteration in zip(held_out, trial.fold_scores, trial.best_iterations, strict=True):
            rest = np.flatnonzero(~np.isin(LISTS.query_ids.to_pylist(), part.query_ids.to_pylist()))
            fitted = clone(ranker).set_params(**trial.params).fit(LISTS.take(rest), validation=part)
            assert figure == pytest.approx(luce.evaluate(fitted.predict(part), part, "ndcg@10").means["ndcg@10"])
            assert iteration == fitted.best_iteration_
        assert trial.value == pytest.approx(np.mean(trial.fold_scores))
    best = max(found.trials, key=lambda trial: trial.value)
    assert found.best == best and found.ranked[0] == best
    rounds = round(np.mean(best.best_iterations))
    settings = {**best.params, "n_estimators": rounds, "validation_fraction": None}
    again = clone(ranker).set_params(**settings).fit(LISTS)
    assert (found.best_ranker.predict(LISTS) == again.predict(LISTS)).all()


def test_with_validation_the_model_is_the_one_that_was_judged():
    train, validation = LISTS.take(np.arange(30)), LISTS.take(np.arange(30, 40))
    found = tune(luce.TreeRanker(n_estimators=10, n_jobs=1), train, validation=validation, trials=3)
    assert len(found.best.fold_scores) == 1
    assert found.best_ranker.score(validation) == found.best.value
    assert found.best_ranker.history_[0].keys() >= {"validation"}


def test_a_poor_start_is_mended():
    found = tune(luce.TreeRanker(num_leaves=3, n_estimators=8, learning_rate=0.02, n_jobs=1), LISTS, trials=12, folds=2)
    assert found.trials[0].params["num_leaves"] == 3 and found.trials[0].params["learning_rate"] == 0.02
    assert found.best.value > found.trials[0].value + 0.01
    assert found.importance and sum(found.importance.values()) == pytest.approx(1)
    table = found.table()
    assert table["trial"].to_pylist() == list(range(1, 13)) and {"state", "ndcg@10", "num_leaves"} <= set(
        table.column_names
    )


def test_lower_may_be_better():
    ranker = linear(metric="arp", reg_lambda=1e4, transforms=("fill", "standardize"))
    found = tune(ranker, LISTS, trials=6, folds=2, pruning=False)
    assert found.best.value == min(trial.value for trial in found.trials) < found.trials[0].value


def test_the_same_seed_gives_the_same_trials_and_another_gives_others():
    first, again, other = (tune(linear(), LISTS, trials=5, folds=2, seed=seed) for seed in (1, 1, 2))
    assert outcome(first) == outcome(again)
    assert [t.params for t in first.trials[1:]] != [t.params for t in other.trials[1:]]


def test_the_minutes_end_a_search_but_not_its_first_trial():
    found = tune(linear(), LISTS, trials=9, folds=2, minutes=1e-9)
    assert [trial.state for trial in found.trials] == ["complete"] and not found.interrupted


class Touchy(luce.LinearRanker):
    """Fails with strong priors."""

    def fit(self, *given, **more):
        if self.reg_lambda > 1:
            raise luce.DataError(f"reg_lambda = {self.reg_lambda:.0f} is too much")
        return super().fit(*given, **more)


def test_a_trial_that_fails_is_reported_and_the_search_continues(tmp_path):
    ended = []
    more = {"trials": 8, "folds": 2, "storage": tmp_path / "s"}
    found = tune(
        Touchy("listnet", reg_lambda=1.0, n_jobs=1), LISTS, **more, callback=lambda step: ended.append(step.trial)
    )
    failed = [trial for trial in found.trials if trial.state == "failed"]
    assert failed and all(trial.error.endswith("is too much") and np.isnan(trial.value) for trial in failed)
    assert [trial for trial in ended if trial] == list(found.trials)
    assert len(found.trials) == 8 and found.best.params["reg_lambda"] <= 1
    assert outcome(tune(Touchy("listnet", reg_lambda=1.0, n_jobs=1), LISTS, **more)) == outcome(found), (
        "failed trials are not tried again"
    )


def test_where_all_fail_the_reason_is_given():
    with pytest.raises(
        luce.OptionError, match=r"The first 3 trials failed, the last of them with: reg_lambda = .* is too much"
    ):
        tune(
            Touchy("listnet", reg_lambda=2.0, n_jobs=1), LISTS, trials=9, folds=2, vary={"reg_lambda": Range(1.5, 9.0)}
        )


def test_trials_that_fall_behind_are_given_up():
    ranker, more = luce.TreeRanker(n_estimators=10, n_jobs=1), {"trials": 14, "folds": 3}
    whole, pruned = (tune(ranker, LISTS, pruning=pruning, **more) for pruning in (False, True))
    states = [trial.state for trial in pruned.trials]
    assert "pruned" in states[5:] and set(states[:5]) == {"complete"}
    assert {trial.state for trial in whole.trials} == {"complete"}
    assert all(np.isnan(trial.value) and not trial.fold_scores for trial in pruned.trials if trial.state == "pruned")


def test_a_single_fit_is_given_up_by_its_iterations():
    train, validation = LISTS.take(np.arange(25)), LISTS.take(np.arange(25, 40))
    found = tune(
        luce.TreeRanker(n_estimators=12, early_stopping_rounds=12, n_jobs=1), train, validation=validation, trials=14
    )
    assert "pruned" in {trial.state for trial in found.trials}


@pytest.mark.parametrize("kind", ["neural", "labels"])
def test_networks_are_tuned(kind):
    ranker = made(kind)
    found = tune(ranker, data_of(ranker), trials=3, folds=2)
    assert {trial.state for trial in found.trials} == {"complete"}
    assert all(isinstance(trial.params["hidden_layer_sizes"], tuple) for trial in found.trials)
    assert found.best_ranker.hidden_layer_sizes == found.best.params["hidden_layer_sizes"]
    assert found.best_ranker.epochs == found.best.mean_iteration


def test_optuna_is_left_as_it_was(capfd):
    before = optuna.logging.get_verbosity()
    tune(linear(), LISTS, trials=2, folds=2)
    assert optuna.logging.get_verbosity() == before
    assert not re.search(r"[Tt]rial", capfd.readouterr().err)


def test_a_trial_is_judged_by_the_best_of_its_iterations_so_far():
    ranker = linear(optimizer="gradient-descent", learning_rate=30.0, max_iter=12)
    scorer, steps = CrossValidation(ranker, LISTS.take(np.arange(25)), LISTS.take(np.arange(25, 40)), 2, 0), []
    scorer.scores({}, lambda *step: steps.append(step))
    values = [value for _, fraction, value in steps if fraction < 1]
    assert len(values) == 12 and values == sorted(values)
