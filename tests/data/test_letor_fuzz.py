"""Mutated LETOR texts: each reads or gives a LuceError, the same on one thread and in small pieces on two."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "fuzz_letor.py"


@pytest.fixture(scope="module")
def fuzz():
    spec = importlib.util.spec_from_file_location("fuzz_letor", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore:The labels of every list are 1")
def test_mutated_texts_read_or_are_refused(fuzz, tmp_path):
    ends = [fuzz.check(seed, tmp_path) for seed in range(1_500)]
    assert 300 < ends.count("read") < 1_200
