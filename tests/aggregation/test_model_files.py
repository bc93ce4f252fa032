"""Saved and pickled models: every query has the same answer as before, and forged files are refused."""

import pickle
import random
from collections.abc import Mapping
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

import luce
from fuzzing import archives
from fuzzing.mutations import BYTES, mutated
from luce.aggregation import GammaPrior, ItemScores, NormalPrior, PlackettLuce, PseudoRankings, Rankings
from luce.errors import DataError, LuceError, OptionError
from tests.aggregation import ranking_data

NAMES = ("ann", "bob", "cy", "dee", "eve", "fay")


def named(**settings):
    codes = ranking_data.strict(seed=3)[0]
    return Rankings(codes.items, codes.places, codes.offsets, names=NAMES, **settings)


def tied():
    return Rankings.from_orderings([[1, [2, 3], 4], [[4, 1], 3], [3, 4, 1, 2], [2, [1, 3]], [4, 2, 1]])


def left_out():
    """Item z never wins."""
    return Rankings.from_orderings([["x", "y", "z"], ["y", "x"], ["w", "x", "z"], ["x", "w"], ["y", "w"]])


FEATURES = {name: [float(number), number**2 / 10] for number, name in enumerate(NAMES)}
TEAMS = {"ann": ["p", "q"], "bob": ["q", "r"], "cy": ["r", "p"], "dee": ["s"], "eve": ["s", "p"], "fay": ["q", "s"]}
FITS = {
    "strict": (PlackettLuce(tol=1e-9, max_iter=50), named),
    "exact": (PlackettLuce(), tied),
    "pairs": (PlackettLuce(ties="davidson"), ranking_data.pudding),
    "davidson": (PlackettLuce(ties="davidson"), ranking_data.fruit),
    "rao-kupper": (PlackettLuce(ties="rao-kupper"), ranking_data.pudding),
    "pools": (PlackettLuce(), ranking_data.mixed),
    "features": (PlackettLuce(features=FEATURES), named),
    "teams": (PlackettLuce(teams=TEAMS, prior=NormalPrior(sd=2)), named),
    "adherence": (PlackettLuce(adherence=GammaPrior(4, 4)), lambda: named(rankers=np.arange(80) % 5)),
    "normal": (PlackettLuce(prior=NormalPrior(dict.fromkeys(NAMES, 0.5), [2.0] * 6)), named),
    "pseudo": (PlackettLuce(prior=PseudoRankings(0.5)), left_out),
    "left out": (PlackettLuce(), left_out),
    "half-wins": (PlackettLuce(ties="half-wins"), ranking_data.pudding),
    "estimated": (PlackettLuce(prior=NormalPrior(sd="estimate")), named),
    "auto": (PlackettLuce(prior="auto"), left_out),
}
KINDS = ("observed", "expected", "sandwich")
QUERIES = {
    "summary": lambda model: model.summary(),
    "intervals": lambda model: [model.intervals(0.9, kind) for kind in KINDS],
    "comparison_intervals": lambda model: model.comparison_intervals(),
    "standard_errors": lambda model: [model.standard_errors(kind) for kind in KINDS],
    "tie_standard_errors": lambda model: model.tie_standard_errors(),
    "coefficient_standard_errors": lambda model: model.coefficient_standard_errors(),
    "quasi_standard_errors": lambda model: model.quasi_standard_errors().errors,
    "contrast": lambda model: model.contrast(*some(model)),
    "tiers": lambda model: model.tiers(),
    "rank_intervals": lambda model: model.rank_intervals(),
    "to_elo": lambda model: model.to_elo((some(model)[0], 1000)),
    "predict_proba": lambda model: model.predict_proba([items(model)]),
    "win_matrix": lambda model: model.win_matrix(),
    "log_prob": lambda model: model.log_prob(likely(model)),
    "score": lambda model: model.score(likely(model)),
    "simulate": lambda model: model.simulate(likely(model), random_state=1),
    "bootstrap": lambda model: model.bootstrap(2, random_state=1),
    "connectivity_": lambda model: str(model.connectivity_),
    "aic_": lambda model: [model.aic_, model.bic_, model.log_likelihood_],
    "estimates": lambda model: [model.log_worths_, model.worths_, model.tie_parameters_, model.coefficients_],
    "choices": lambda model: [model.ties_, model.prior_, model.unused_, model.get_params()["prior"]],
    "facts": lambda model: [model.names_, model.estimable_, model.not_estimable_, model.n_parameters_],
    "adherence_": lambda model: model.adherence_,
    "convergence_": lambda model: str(model.convergence_),
    "rankings_": lambda model: model.rankings_,
    "fit": lambda model: clone(model).fit(model.rankings_).log_worths_,
}


def some(model):
    """Two items with a worth."""
    return [name for name, known in zip(model.names_, model.estimable_, strict=True) if known][:2]


def items(model):
    """Two items of rankings, or teams."""
    return list(model.teams)[:2] if model.teams else some(model)


def likely(model):
    """Rankings of items that all have a worth."""
    return Rankings.from_orderings([items(model)] * 3) if model.not_estimable_ else model.rankings_


def assert_same(first, second):
    assert type(first) is type(second)
    if isinstance(first, Rankings):
        first, second = ({field.name: getattr(each, field.name) for field in fields(each)} for each in (first, second))
    if isinstance(first, pa.Table):
        assert first.schema == second.schema
        first, second = first.to_pydict(), second.to_pydict()
    if isinstance(first, Mapping):
        assert list(first) == list(second)
        first, second = list(first.values()), list(second.values())
    if isinstance(first, (list, tuple)):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_same(one, other)
    elif isinstance(first, (float, np.ndarray)) and np.asarray(first).dtype.kind == "f":
        np.testing.assert_allclose(second, first, rtol=1e-9, atol=1e-12)
    elif isinstance(first, np.ndarray):
        np.testing.assert_array_equal(second, first)
    elif isinstance(first, luce.aggregation.Connectivity):
        assert str(first) == str(second)
    else:
        assert first == second


@pytest.mark.filterwarnings("ignore::luce.LuceWarning")
@pytest.mark.parametrize("kind", FITS)
def test_every_query_has_the_same_answer_after_saving_and_after_pickling(kind, tmp_path):
    model, rankings = FITS[kind]
    fitted = clone(model).set_params(n_jobs=1).fit(rankings())
    answers = {name: query(fitted) for name, query in QUERIES.items()}  # also before it is pickled
    fitted.save(tmp_path / "a.luce")
    loaded, copied = luce.load(tmp_path / "a.luce"), pickle.loads(pickle.dumps(fitted))
    for name, query in QUERIES.items():
        for again in (loaded, copied):
            assert_same(answers[name], query(again))
    loaded.save(tmp_path / "b.luce")
    assert (tmp_path / "a.luce").read_bytes() == (tmp_path / "b.luce").read_bytes()


def test_unpickled_rankings_are_immutable_as_before():
    rankings = pickle.loads(pickle.dumps(ranking_data.mixed()))
    arrays = [value for value in vars(rankings).values() if isinstance(value, np.ndarray)]
    assert len(arrays) > 5 and not any(array.flags.writeable for array in [*arrays, *rankings.pools])


def test_a_pickle_does_not_grow_with_the_queries():
    model = PlackettLuce(ties="davidson").fit(ranking_data.pudding())
    size = len(pickle.dumps(model))
    model._posterior.value_and_gradient(model._point + 1.0)
    assert len(pickle.dumps(model)) == size


def test_names_and_parameters_keep_their_types(tmp_path):
    names = ["1", 1, 2.5, False]
    rankings = Rankings.from_orderings([[names[i] for i in order] for order in ([0, 1, 2, 3], [3, 2, 1, 0])])
    prior = NormalPrior(sd=dict.fromkeys(names, 2.0))
    PlackettLuce(prior=prior).fit(rankings).save(tmp_path / "a.luce")
    again = luce.load(tmp_path / "a.luce")
    assert [*map(type, again.names_)] == [str, int, float, bool] and again.names_ == tuple(names)
    assert again.prior == prior and again.rankings_.names == tuple(names)


@pytest.mark.parametrize("form", ["mapping", "array", "table"])
def test_features_are_stored_in_every_form(form, tmp_path):
    values = np.array(list(FEATURES.values()))
    given = {
        "mapping": FEATURES,
        "array": values,
        "table": pa.table({"item": list(NAMES), "size": values[:, 0], "age": values[:, 1]}),
    }
    model = PlackettLuce(features=given[form]).fit(named())
    model.save(tmp_path / "a.luce")
    again = luce.load(tmp_path / "a.luce")
    assert again.coefficients_ == pytest.approx(model.coefficients_)
    assert list(again.coefficients_) == (["size", "age"] if form == "table" else ["feature 1", "feature 2"])


def test_a_name_that_no_file_can_hold_is_an_error_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.luce"
    path.write_text("old")
    model = PlackettLuce().fit(Rankings.from_orderings([[0, 1], [1, 0]], n_items=2, names=[("a", 1), "b"]))
    with pytest.raises(DataError, match=r"Got \('a', 1\), a tuple: give the items and rankers other names, or pickle"):
        model.save(path)
    assert path.read_text() == "old"


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        PlackettLuce().save(tmp_path / "a.luce")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a model file with rankings of every kind."""
    path = tmp_path_factory.mktemp("model") / "a.luce"
    PlackettLuce(n_jobs=1).fit(ranking_data.mixed()).save(path)
    return path.read_bytes()


def with_text(name, value):
    return lambda arrays: arrays | {name: np.frombuffer(value.encode(), np.uint8)}


def with_entry(name, value, at=-1):
    def change(arrays):
        array = arrays[name].copy()
        array[at] = value
        return arrays | {name: array}

    return change


def without(name):
    return lambda arrays: {key: value for key, value in arrays.items() if key != name}


FORGERIES = [
    (with_entry("point", np.nan), "point must not be NaN"),
    (with_entry("point", np.inf), "point must be finite"),
    (lambda arrays: arrays | {"point": arrays["point"][:-1]}, "point must have 8 entries. Got 7"),
    (without("point"), "KeyError"),
    (with_entry("rankings.items", 10**18), "Items must be indices of the 8 names"),
    (with_entry("rankings.offsets", 10**18), "offsets must run from 0"),
    (with_entry("rankings.offsets", -5, 1), "offsets must not decrease"),
    (with_entry("rankings.places", 7), "The places of a ranking must start at 0"),
    (with_entry("rankings.pool_offsets", 10**18), "offsets must run from 0"),
    (with_entry("rankings.pools", 10**18), "A pool must contain items"),
    (with_entry("rankings.pool", 9), "pool must be −1 or the index of one of the 2 pools"),
    (with_entry("rankings.weights", np.nan), "weights must not be NaN"),
    (with_entry("rankings.weights", -1.0), "weights must be finite and not negative"),
    (with_entry("rankings.rankers", 10**18), "rankers must be indices of the 7 ranker names"),
    (without("rankings.names"), "the names of the items or rankers are missing"),
    (without("rankings.ranker_names"), "the names of the items or rankers are missing"),
    (with_text("rankings.names", '["a"]'), "A pool must contain items 0 … 0"),
    (with_text("rankings.names", '["a", "a"]'), "names of the items must differ"),
    (with_text("rankings.names", "[" * 100_000), "does not contain a complete PlackettLuce"),
    (with_text("rankings.names", '{"forest": {}}'), "KeyError"),
    (with_text("parameters", '{"mapping": [["max_iter", 0]]}'), "max_iter at least 1"),
    (with_text("parameters", '{"mapping": [["trees", 0]]}'), "trees"),
    (with_text("used", '{"mapping": [["prior", {"NormalPrior": {"sd": -1}}]]}'), "standard deviations above 0"),
    (lambda arrays: arrays | {"parameters": arrays["point"]}, "Cannot cast"),
]


@pytest.mark.parametrize(("change", "words"), FORGERIES)
def test_forged_arrays_are_refused(whole, tmp_path, change, words):
    manifest, arrays = archives.unpacked(whole)
    (tmp_path / "a.luce").write_bytes(archives.model(manifest, change(arrays)))
    with pytest.raises(DataError, match=words):
        luce.load(tmp_path / "a.luce")


@pytest.mark.parametrize("convergence", [None, {}, {"converged": 1}, [1], "x"])
def test_a_forged_convergence_is_refused(whole, tmp_path, convergence):
    manifest, arrays = archives.unpacked(whole)
    (tmp_path / "a.luce").write_bytes(archives.model(manifest | {"convergence": convergence}, arrays))
    with pytest.raises(DataError, match="does not contain a complete PlackettLuce"):
        luce.load(tmp_path / "a.luce")


@pytest.mark.filterwarnings("ignore")
def test_damaged_bytes_are_refused_or_harmless(whole, tmp_path):
    path = tmp_path / "a.luce"
    path.write_bytes(whole)
    worths, refused = luce.load(path).worths_, 0
    for seed in range(200):
        chance = random.Random(seed)
        content = archives.ARCHIVE[seed % 8](chance, whole) if seed % 2 else mutated(chance, {"a": whole}, BYTES, ())[1]
        path.write_bytes(content)
        try:
            again = luce.load(path)
            assert again.worths_.shape == worths.shape and np.isfinite(again.worths_).all()
            again.summary()
        except LuceError:
            refused += 1
    assert refused > 100


def test_a_command_that_needs_a_ranker_says_what_it_got(whole, tmp_path):
    path = tmp_path / "a.luce"
    path.write_bytes(whole)
    with pytest.raises(DataError, match="contains a PlackettLuce model of rankings without features, not a ranker"):
        luce.rankers.load_ranker(path)
    with pytest.raises(OptionError, match="leave out module="):
        luce.load(path, module=object())


def test_scores_of_any_objective_are_saved(tmp_path):
    model = ItemScores(luce.objective("pairties-davidson"), prior=NormalPrior(sd=2), max_iter=50, n_jobs=1).fit(tied())
    model.save(tmp_path / "a.luce")
    again = luce.load(tmp_path / "a.luce")
    for name in ("names_", "scores_", "nuisance_", "loss_", "prior", "max_iter"):
        assert_same(getattr(model, name), getattr(again, name))
    assert model.nuisance_ and str(again.objective) == str(model.objective)
    np.testing.assert_allclose(clone(again).fit(tied()).scores_, model.scores_, atol=1e-9)
    manifest, arrays = archives.unpacked((tmp_path / "a.luce").read_bytes())
    for wrong in ({"nuisance": {}}, {"loss": "x"}, {"objective": {"name": "forest", "options": {}}}):
        (tmp_path / "b.luce").write_bytes(archives.model(manifest | wrong, arrays))
        with pytest.raises(DataError, match="does not contain a complete ItemScores"):
            luce.load(tmp_path / "b.luce")
