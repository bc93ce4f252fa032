"""Every code block of the README runs as it stands."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from luce.cli import app

README = (Path(__file__).parent.parent / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, flags=re.DOTALL)


def test_python_and_commands(tmp_path, monkeypatch):
    """In one folder and in their order: later blocks may use the files that earlier ones made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LUCE_THREADS", "2")
    names: dict[str, object] = {}
    seen = {"python": 0, "console": 0}
    for language, text in BLOCKS:
        if language == "python":
            exec(compile(text, "README.md", "exec"), names)
        elif language == "console":
            for line in re.findall(r"^\$ luce (.*)$", text, flags=re.MULTILINE):
                result = CliRunner().invoke(app, shlex.split(line))
                assert result.exit_code == 0, f"luce {line}: {result.output}{result.exception!r}"
        if language in seen:
            seen[language] += 1
    assert all(seen.values())


@pytest.mark.parametrize("target", ["demo", "test", "check"])
def test_the_makefile_has_what_the_readme_promises(target):
    assert f"make {target}" in README
    assert re.search(rf"^{target}:", (Path(__file__).parent.parent / "Makefile").read_text(), flags=re.MULTILINE)
