"""Rank aggregation over ranks: each gives its rankings, all have the fit of one process to all of them."""

from itertools import pairwise

import numpy as np
import pytest

from luce.aggregation import ItemScores, NormalPrior, PlackettLuce, Rankings, read_rankings
from luce.aggregation.over_ranks import read_on_ranks
from luce.distributed import current_group
from luce.errors import DataError, LuceError, MachineError, OptionError

from ..ranks import on_ranks

pytestmark = pytest.mark.multiprocess

NAMES = ["tea", "rum", "gin", "ale", "mead", 7]


def orderings(n_rankings=60, ties=False, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n_rankings):
        order = np.argsort(rng.gumbel(size=6) + np.arange(6) / 3)[: rng.integers(2, 6)]
        names = [NAMES[item] for item in order]
        found.append([names[:2], *names[2:]] if ties and len(names) > 2 and rng.random() < 0.4 else names)
    return found


def cut(values, size):
    """Parts of different sizes; that of the last rank begins with other items than the whole."""
    cuts = np.linspace(0, len(values), size + 1).astype(int) + np.array([0, *[5] * (size - 1), 0])
    return [values[first:last] for first, last in pairwise(cuts)]


def assert_same(found, expected, kinds=("observed", "expected", "sandwich")):
    assert found["names"] == list(expected.names_)
    np.testing.assert_allclose(found["worths"], expected.worths_, rtol=1e-8)
    np.testing.assert_allclose(found["log_likelihood"], expected.log_likelihood_, rtol=1e-10)
    for kind in kinds:
        np.testing.assert_allclose(found["errors"][kind], expected.standard_errors(kind), rtol=1e-8)


def facts(model, kinds=("observed", "expected", "sandwich")):
    return {
        "names": list(model.names_),
        "worths": model.worths_,
        "log_likelihood": model.log_likelihood_,
        "errors": {kind: model.standard_errors(kind) for kind in kinds},
        "ties": model.tie_parameters_,
        "kind": model.error_kind_,
        "adherence": model.adherence_,
        "n_rankings": model.rankings_.n_rankings,
    }


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize(
    ("ties", "settings"),
    [
        (False, {}),
        (True, {"ties": "exact"}),
        (True, {"ties": "davidson"}),
        (False, {"prior": NormalPrior(sd="estimate")}),
        (False, {"features": {name: [number % 3.0] for number, name in enumerate(NAMES)}}),
    ],
)
def test_worths_and_errors_are_those_of_one_process(size, ties, settings):
    given = orderings(ties=ties)
    expected = PlackettLuce(**settings, n_jobs=1).fit(Rankings.from_orderings(given))
    found = on_ranks(
        lambda part: facts(PlackettLuce(**settings, n_jobs=1).fit(Rankings.from_orderings(part))),
        cut(given, size),
        size=size,
    )
    for one in found:
        assert_same(one, expected)
        assert one["n_rankings"] == 60
        assert one["ties"] == pytest.approx(expected.tie_parameters_, rel=1e-8)
    assert found[0]["worths"].tobytes() == found[1]["worths"].tobytes()


def test_rankers_are_matched_by_name():
    given, rankers = orderings(), [f"judge {number % 7}" for number in range(60)]
    expected = PlackettLuce(n_jobs=1).fit(Rankings.from_orderings(given, rankers=rankers))
    assert expected.error_kind_ == "sandwich"

    def work(part, rankers):
        return facts(PlackettLuce(n_jobs=1).fit(Rankings.from_orderings(part, rankers=rankers)))

    for one in on_ranks(work, cut(given, 2), cut(rankers, 2)):
        assert_same(one, expected)
        assert one["kind"] == "sandwich"


def test_equal_rankings_merged_before_give_the_same_worths():
    given = orderings(300)
    given = [order[:2] for order in given]
    expected = PlackettLuce(n_jobs=1).fit(Rankings.from_orderings(given))
    found = on_ranks(
        lambda part: facts(PlackettLuce(n_jobs=1).fit(Rankings.from_orderings(part).aggregate()), ["observed"]),
        cut(given, 2),
    )
    for one in found:
        assert_same(one, expected, ["observed"])
        assert one["n_rankings"] <= 60


def test_scores_by_an_objective():
    given = orderings()
    expected = ItemScores("listmle", n_jobs=1).fit(Rankings.from_orderings(given))

    def work(part):
        model = ItemScores("listmle", n_jobs=1).fit(Rankings.from_orderings(part))
        return model.names_, model.scores_

    for names, scores in on_ranks(work, cut(given, 2)):
        assert names == expected.names_
        np.testing.assert_allclose(scores, expected.scores_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("size", [2, 3])
def test_files_are_read_by_some_rank_each(size, tmp_path):
    texts = ["winner,loser\n1,2\n2,3\n", "winner,loser\n3,1\n", "winner,loser\nx,1\n1,x\n", "winner,loser\n2,x\n"]
    files = [tmp_path / f"{number}.csv" for number in range(4)]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    for given in (files, files[2:3]):
        expected = read_rankings(given)
        for found in on_ranks(lambda given: read_on_ranks(given, current_group(), None, {}), [given] * size, size=size):
            assert found.names == expected.names
            np.testing.assert_array_equal(found.items, expected.items)
    for error in on_ranks(lambda given: read_on_ranks(given, current_group(), None, {}), [[files[0], files[0]]] * 2):
        assert "0.csv is given twice" in str(error)


def test_what_cannot_be_done_on_several_ranks_is_refused():
    given = Rankings.from_orderings(orderings())
    strange = given.with_names({7: ("a", 1)})
    cases = [
        (OptionError, "start cannot be in the order of the items", {}, given, {"start": np.zeros(6)}),
        (OptionError, "features cannot be in the order of", {"features": np.zeros((6, 1))}, given, {}),
        (DataError, "Got ('a', 1), a tuple", {}, strange, {}),
    ]

    def work(ties):
        said = []
        for _, _, settings, rankings, options in [*cases, (None, None, {"ties": ties}, given, {})]:
            try:
                PlackettLuce(**settings).fit(rankings, **options)
            except LuceError as error:
                said.append((type(error), str(error)))
        return said

    for said in on_ranks(work, ["exact", "davidson"]):
        for (kind, message, *_), (found, text) in zip(cases, said, strict=False):
            assert kind is found
            assert message in text
        assert said[3][0] is MachineError and "the model is" in said[3][1]
