"""A name means one thing: objectives with their synonyms, presets and peers share none."""

from collections import Counter

import pytest

import luce
from luce.experiments.peers import PEERS
from luce.objectives import OBJECTIVES, synonyms
from luce.rankers.presets import PRESETS


def test_no_two_tables_share_a_name():
    counts = Counter([*OBJECTIVES, *(name for each in OBJECTIVES.values() for name in each.synonyms), *PRESETS, *PEERS])
    assert [name for name, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("synonym", synonyms())
def test_a_synonym_is_the_objective_itself(synonym):
    assert luce.objective(synonym) is OBJECTIVES[synonyms()[synonym]]
    assert synonym in luce.objective(synonym).facts()["also called"]
