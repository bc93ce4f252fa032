"""The examples run as they are, improve the ranking, and write the reports that they print."""

import re
import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
NEEDS = {"ray_data": "ray", "spark": "pyspark"}
"""Packages that an example needs and Luce does not; what they warn of is their own."""


def runnable(path):
    needs = path.stem in NEEDS
    marks = [pytest.mark.filterwarnings("ignore"), pytest.mark.multiprocess] if needs else []
    return pytest.param(path, marks=marks, id=path.stem)


@pytest.mark.parametrize("path", [*map(runnable, EXAMPLES)])
def test_example_improves_the_ranking(path, tmp_path, monkeypatch, capsys):
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LUCE_THREADS", "2")
    found = runpy.run_path(str(path))
    assert found["after"] > found["before"] + 0.03
    said = capsys.readouterr().out
    assert len(said.splitlines()) >= 1
    for page in re.findall(r"Report: (\S+\.html)", said):
        assert "</html>" in (tmp_path / page).read_text(encoding="utf-8")
    assert ("page" in found) == ("Report:" in said)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_listed_and_can_be_read_at_one_sitting(path):
    assert f"| [{path.name}]({path.name}) |" in (FOLDER / "README.md").read_text(encoding="utf-8")
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 90


def test_the_index_lists_no_others():
    listed = re.findall(r"^\| \[(\w+\.py)\]", (FOLDER / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(listed) == [path.name for path in EXAMPLES]
