"""Names that are not known: what is proposed instead; and where a warning is."""

import numpy as np
import pyarrow as pa
import pytest

import luce
from luce.cli.rankers import known_settings
from luce.errors import OTHER_LIBRARIES, LuceWarning, OptionError, nearest_names
from luce.metrics import METRICS, metric
from luce.objectives import OBJECTIVES, objective
from luce.rankers import RANKERS

SETTINGS = {kind: known_settings(ranker) for kind, ranker in RANKERS.items()}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("ListMLE", "listmle"),
        ("LambdaRank", "lambdarank"),
        ("RankNet", "ranknet"),
        ("pl_partition", "pl-partition"),
        ("PL Rank 2", "pl-rank-2"),
        ("rank:ndcg", "lambdarank"),
        ("rank:pairwise", "ranknet"),
        ("QuerySoftMax", "softmax"),
        ("RMSE", "squared-label"),
        ("cross-entropy", "bce"),
        ("hinge", "ranksvm"),
        ("NeuralNDCG", "approx-ndcg' or 'pl-rank-2' or 'lambdaloss"),
        ("ApproxNDCG", "approx-ndcg"),
        ("plackett-luce", "pl-partition' or 'listmle"),
        ("YetiRank", "stochastic' or 'lambdarank"),
    ],
)
def test_objectives_under_other_spellings(given, expected):
    with pytest.raises(OptionError, match=rf"There is no objective '{given}'\. Did you mean '{expected}'\?"):
        objective(given)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("ndcg_at_10", "'ndcg@10'?"),
        ("NDCG-at-5", "'ndcg@5'?"),
        ("precision_at_1", "'precision@1'?"),
        ("map_10", "'map@10' or"),
        ("P@5", "'precision'?"),
        ("recip_rank", "'mrr'?"),
        ("sharp_ndcg", "'sharp-ndcg'?"),
    ],
)
def test_metrics_under_other_spellings(given, expected):
    with pytest.raises(OptionError) as raised:
        metric(given)
    assert f"Did you mean {expected}" in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("linear", "n_estimators", ["max_iter"]),
        ("linear", "epochs", ["max_iter"]),
        ("neural", "n_estimators", ["epochs"]),
        ("neural", "max_iter", ["epochs"]),
        ("neural", "reg_lambda", ["weight_decay"]),
        ("trees", "num_boost_round", ["n_estimators"]),
        ("trees", "lr", ["learning_rate"]),
        ("trees", "eta", ["learning_rate"]),
        ("trees", "min_data_in_leaf", ["min_child_samples"]),
        ("linear", "C", ["reg_lambda"]),
        ("ensemble", "n_estimators", []),
        ("trees", "LearningRate", ["learning_rate"]),
    ],
)
def test_parameters_of_other_libraries(kind, given, expected):
    assert nearest_names(given, SETTINGS[kind]) == expected


def test_what_is_proposed_for_names_of_other_libraries_exists():
    options = {"module", "validation", "delimiter", "features", "exclude", "query", "label", "weight"}
    known = {*OBJECTIVES, *METRICS, *(name for table in SETTINGS.values() for name in table), *options}
    proposed = {name for names in OTHER_LIBRARIES.values() for name in names}
    assert proposed <= known


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: luce.LinearRanker(n_estimators=10), "LinearRanker.__init__() got an unexpected keyword argument "
         "'n_estimators'. Did you mean 'max_iter'?"),
        (lambda: luce.TreeRanker(num_boost_round=10), "'num_boost_round'. Did you mean 'n_estimators'?"),
        (lambda: luce.TreeRanker().fit([[1.0]], [1], eval_set=[]), "'eval_set'. Did you mean 'validation'?"),
        (lambda: luce.NeuralRanker().fit([[1.0]], [1], groups=[1]), "'groups'. Did you mean 'group'?"),
        (lambda: luce.NeuralRanker(network=None), "'network'. Did you mean 'module'?"),
        (lambda: luce.LabelRanker(lr=1), "'lr'. Did you mean 'learning_rate'?"),
    ],
)  # fmt: skip
def test_keywords_of_other_libraries(call, expected):
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value).endswith(expected)


def test_a_warning_is_at_the_line_that_called_luce():
    table = pa.table({"winner": ["a", "b", "a"], "loser": ["b", "a", "c"], "count": [5, 4, 3]})
    with pytest.warns(LuceWarning, match="not used as weights") as read:
        rankings = luce.read_rankings([table])
    with pytest.warns(LuceWarning, match="cannot be estimated") as fitted:
        luce.PlackettLuce().fit(rankings)
    copies = luce.Rankings.from_pairs(
        ["a"] * 9 + ["b"] * 9, ["b"] * 9 + ["a"] * 9, rankers=np.repeat([0, 1, 2, 3, 4, 5], 3)
    )
    model = luce.PlackettLuce().fit(copies)
    with pytest.warns(LuceWarning, match="Robust standard errors") as robust:
        model.summary()
    assert {each.filename for each in (*read, *fitted, *robust)} == {__file__}
