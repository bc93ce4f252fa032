"""The examples run as they stand and learn something."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_improves_the_ranking(path):
    found = runpy.run_path(str(path))
    assert found["after"] > found["before"] + 0.05


def test_there_are_examples():
    assert len(EXAMPLES) >= 2
