"""Goals: formulas read and refused, each mistake in words that help."""

import pytest

from luce.errors import OptionError
from luce.objectives import objective
from luce.objectives.utility import parse_utility


def read(utility):
    return [(term.weight, str(term.what)) for term in parse_utility(utility)]


@pytest.mark.parametrize(
    ("utility", "terms"),
    [
        ("ndcg@10", [(1, "ndcg@10")]),
        ("-disparity", [(-1, "disparity")]),
        (" 0.7*ndcg@10 − 0.3 * disparity@5 ", [(0.7, "ndcg@10"), (-0.3, "disparity@5")]),
        ("+2e-3*DCG @ 5+.5*arp", [(0.002, "dcg@5"), (0.5, "arp")]),
        ("ndcg@10-disparity@10", [(1, "ndcg@10"), (-1, "disparity@10")]),
        ("precision@3 - 2*parity-gap@3 - merit-gap", [(1, "precision@3"), (-2, "parity-gap@3"), (-1, "merit-gap")]),
        ("ndcg + 2*ndcg - disparity", [(3, "ndcg"), (-1, "disparity")]),
        ("ndcg + disparity - 1*disparity", [(1, "ndcg")]),
        ({"ndcg@5": 2, "disparity": -0.5}, [(2, "ndcg@5"), (-0.5, "disparity")]),
    ],
)
def test_formulas(utility, terms):
    assert read(utility) == terms


@pytest.mark.parametrize(
    ("utility", "words"),
    [
        (
            "ndcg@10 - 0.3*disprity",
            r"There is no term of a utility 'disprity'. Did you mean 'disparity'\? Known: arp, dcg",
        ),
        ("0.7*err - disparity", "err is not linear in the gains of the items. A utility is made of dcg"),
        ("dcg-disparity", "no term of a utility 'dcg-disparity'. For a minus sign, add spaces: 'dcg - …'"),
        ("ndcg@0", "cutoff of ndcg must be an integer ≥ 1"),
        ("arp@5", "arp has no cutoff"),
        ("0.7 ndcg@10", r"cannot be parsed at '0.7 ndcg@10': it is a sum such as"),
        ("ndcg@10 0.3*disparity", r"cannot be parsed at 'ndcg@10 0.3\*disparity'"),
        ("ndcg@10 -", r"cannot be parsed at '-'"),
        ("ndcg@10 * 0.3", "cannot be parsed at"),
        ("nan*ndcg", "cannot be parsed at"),
        ("1e999*ndcg - disparity", "The weight of ndcg in a utility must be a finite number. Got inf"),
        ({"ndcg": float("nan")}, "The weight of ndcg in a utility must be a finite number. Got nan"),
        ({"ndcg": "1"}, "The weight of ndcg in a utility must be a finite number. Got '1'"),
        ({3: 1.0}, "There is no term of a utility '3'"),
        ("", "A utility needs a term"),
        ("  ", "A utility needs a term"),
        ({}, "A utility needs a term"),
        ("0*ndcg", "A utility needs a term with a nonzero weight"),
    ],
)
def test_mistakes_are_named(utility, words):
    with pytest.raises(OptionError, match=words):
        objective("fair-policy", utility=utility)


def test_what_is_no_utility_at_all():
    with pytest.raises(OptionError, match="'utility' option of fair-policy must be a sum such as"):
        objective("fair-policy", utility=0.7)
