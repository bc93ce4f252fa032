"""The pages of objectives and metrics say what the tables say."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize(("name", "text"), runpy.run_path(str(DOCS / "write_pages.py"))["pages"]().items())
def test_pages_are_up_to_date(name, text):
    assert (DOCS / name).read_text(encoding="utf-8") == text, "run: python docs/write_pages.py"
