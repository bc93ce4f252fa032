"""The pages of objectives and metrics say what the tables say, and code on any page runs with the results it shows."""

import doctest
import re
import runpy
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from luce.cli import app

DOCS = Path(__file__).parent.parent / "docs"
BLOCKS = {
    page.name: re.findall(r"```(python|console)\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for page in sorted(DOCS.glob("*.md"))
}


@pytest.mark.parametrize(("name", "text"), runpy.run_path(str(DOCS / "write_pages.py"))["pages"]().items())
def test_pages_are_up_to_date(name, text):
    assert (DOCS / name).read_text(encoding="utf-8") == text, "run: python docs/write_pages.py"


@pytest.mark.parametrize("name", [name for name, blocks in BLOCKS.items() if blocks])
def test_code_runs_with_the_results_it_shows(name, tmp_path, monkeypatch):
    """In one folder and in its order: a command may read what the Python before it has written."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    for language, text in BLOCKS[name]:
        if language == "python":
            example = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
            runner, said = doctest.DocTestRunner(optionflags=flags), []
            assert runner.run(example, out=said.append, clear_globs=False).failed == 0, "".join(said)
            assert example.examples
            names = example.globs
        else:
            for line in re.findall(r"^\$ luce (.*)$", text, flags=re.MULTILINE):
                result = CliRunner().invoke(app, shlex.split(line))
                assert result.exit_code == 0, f"luce {line}: {result.output}{result.exception!r}"
