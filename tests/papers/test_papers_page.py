"""Stored outputs, and docs/papers.md, which is generated from them."""

import json
import re
import shutil
import subprocess
import sys
from types import ModuleType
from xml.etree import ElementTree

import pytest

from luce.errors import OptionError
from papers import REPRODUCTIONS, Reproduction, __main__, environment, stored_output
from papers.outcome import Claim, Outcome, ResultTable
from papers.papers_page import PAGE, papers_page
from papers.partition_2020.label_results import TITLES
from papers.partition_2020.published import METHODS
from papers.plots import Line, log_lines
from papers.runner import Run
from papers.stored_output import PICTURES, digest, load, store

OUTPUTS = {name: output for name in REPRODUCTIONS if (output := load(name)) is not None}


def test_the_page_is_that_of_the_stored_outputs():
    assert PAGE.read_text(encoding="utf-8") == papers_page(), "run python -m papers --page"


def test_pictures_are_those_of_the_stored_outputs():
    for name, output in OUTPUTS.items():
        picture = output.get("picture")
        assert picture is None or digest(PICTURES / picture["file"]) == picture["digest"], f"run {name} --store again"


def test_other_pages_quote_the_stored_outputs():
    which, readme = (PAGE.parent / "which_objective.md", PAGE.parents[1] / "README.md")
    lines = which.read_text(encoding="utf-8").splitlines()

    def assert_quoted(name, cells):
        ends = f"| {' | '.join(cells)} |"
        assert any(line.startswith(f"| {name}") and line.endswith(ends) for line in lines), (name, cells)

    tagged = {row[0]: row[1:] for row in _table("partition-labels", "Tables 1 and 2, D-1K")["rows"]}
    for name in METHODS:
        assert_quoted(f"`{name}` ", tagged[TITLES[name]][:4])
    ours, paper = ([tagged[name][0], tagged[name][2]] for name in ("PL-Partition", "PL-Partition, paper"))
    first = " / ".join(each.partition(" ")[0] for each in ours)
    assert f"| {first} | published {paper[0]} / {paper[1]} (" in readme.read_text(encoding="utf-8")
    errors = _table("partition-simulation", "Figures 1 and 3: mean squared error of the worths")
    few = [row for row in errors["rows"] if row[:2] in (["1,000", "1,000"], ["10,000", "100"])]
    times = _table("partition-simulation", "Figure 2: 1,000 steps of 20 rankings")
    names = sorted(errors["columns"][2:])
    for name in names:
        assert_quoted(f"`{name}` ", [row[errors["columns"].index(name)] for row in few])
    for row in times["rows"]:
        if row[:2] in (["1,000", "s"], ["100,000", "s"]):
            assert_quoted(row[0], [f"{row[times['columns'].index(name)]:.3g} s" for name in names])


def _table(name, title):
    return next(each for each in OUTPUTS[name]["tables"] if each["title"] == title)


@pytest.fixture
def invented(monkeypatch):
    """A reproduction of one point, two tables and two pictures; git is not asked."""
    module = ModuleType("papers.invented")

    def run(run: Run) -> Outcome:
        run.points(dict, [{"seed": run.seed}])
        columns, rows = ["method", "ours", "paper"], [["a|b", 0.123456, None], ["listmle", float("nan"), -1200]]
        tables = [ResultTable("Table 9", columns, rows, "Means.", ".3f", on_page=True), ResultTable("Hidden", [], [])]
        lines = {"listmle": Line([1, 10], [0.1, 0.01])}
        claims = [Claim("A is best.", "held", "By 2*3."), Claim("B is fast.", "not held", "0 of 2.")]
        pictures = lambda: [log_lines(f"error-{i}", f"Error {i}", "lists", lines) for i in range(3)]  # noqa: E731
        return Outcome("Synthetic data, one seed.", tables, claims, pictures, "Trees are small.")

    module.run = run
    monkeypatch.setitem(sys.modules, module.__name__, module)
    record = Reproduction("Ma and Yi (2020), Partitions", "Table 9", "invented", (), 1, 2)
    monkeypatch.setitem(REPRODUCTIONS, "invented", record)
    monkeypatch.setattr(stored_output, "commit_of", "commit of {}".format)
    return run


def test_an_output_is_stored_and_shown(invented, tmp_path):
    run = Run("invented", quick=True, seed=7)
    path = store(run, invented(run), tmp_path, tmp_path)
    output = load("invented", tmp_path)
    assert output["command"] == "python -m papers invented --quick --seed 7"
    assert (output["seeds"], len(output["computed"])) == ([7], 1)
    assert output["computed"][0]["commit"] == output["commit"] == f"commit of {environment.Environment.here().sources}"
    assert '["listmle", null, -1200]' in path.read_text(encoding="utf-8"), "a row on one line"
    page = papers_page(tmp_path)
    section = page.partition("## Partitions\n\nMa and Yi (2020).\n\n### Table 9: `python -m papers invented`\n\n")[2]
    for line in (
        "Synthetic data, one seed.\n\nTrees are small.\n",
        "![Error 0, by lists; Error 1, by lists; Error 2, by lists.](pictures/invented.svg)",
        "| A is best. | held | By 2\\*3. |",
        "**Table 9**\n\n| method | ours | paper |\n|:--|--:|--:|\n| a\\|b | 0.123 | – |\n| listmle | – | −1,200 |\n",
        "`python -m papers invented --quick --seed 7`; seeds 7; computed at commit `commit of ",
    ):
        assert line in section
    assert "Hidden" not in page
    assert "| Table 9 | 1 held, 1 not held |" in page and "| not run yet |" in page


def test_a_changed_figure_changes_the_page(invented, tmp_path):
    run = Run("invented")
    path = store(run, invented(run), tmp_path, tmp_path)
    page, text = papers_page(tmp_path), path.read_text(encoding="utf-8")
    for old, new in (("0.123", "0.124"), ("0 of 2", "1 of 2"), ('"held"', '"held in part"'), ("one seed", "two seeds")):
        path.write_text(text.replace(old, new), encoding="utf-8")
        assert papers_page(tmp_path) != page
    drawing = tmp_path / "invented.svg"
    assert digest(drawing) == json.loads(text)["picture"]["digest"]
    drawing.write_text(drawing.read_text().replace("Error 1", "Error 9"))
    assert digest(drawing) != json.loads(text)["picture"]["digest"]


def test_pictures_are_put_into_one_file(invented, tmp_path):
    run = Run("invented")
    store(run, invented(run), tmp_path, tmp_path)
    root = ElementTree.fromstring((tmp_path / "invented.svg").read_text(encoding="utf-8"))
    panels = [(each.get("x"), each.get("y")) for each in root if each.tag.endswith("svg")]
    assert panels == [("0", "0"), ("380", "0"), ("0", "330")] and root.get("viewBox") == "0 0 740 660"
    assert "var(" not in (tmp_path / "invented.svg").read_text()


def test_the_command_stores_only_committed_code(invented, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(__main__, "store", lambda run, outcome: store(run, outcome, tmp_path, tmp_path))
    monkeypatch.setattr(__main__, "commit_of", lambda sources: "a commit")
    __main__.main(["invented", "--store", "--json"])
    assert (tmp_path / "invented.json").exists() and "invented.json" in capsys.readouterr().err

    def refuse(sources):
        raise OptionError("not committed")

    monkeypatch.setattr(__main__, "commit_of", refuse)
    monkeypatch.setattr(sys.modules["papers.invented"], "run", None)  # refused before the run
    with pytest.raises(OptionError, match="not committed"):
        __main__.main(["invented", "--store"])


def test_the_command_writes_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(__main__, "PAGE", tmp_path / "papers.md")
    __main__.main(["--page"])
    assert (tmp_path / "papers.md").read_text(encoding="utf-8") == papers_page()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_commit_is_found_by_its_source_files(tmp_path, monkeypatch):
    def git(*arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments], cwd=tmp_path, check=True)

    def head():
        return subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=tmp_path, text=True).strip()

    def commit(text):
        (tmp_path / "papers" / "a.py").write_text(text)
        git("add", "."), git("commit", "-qm", text)
        return environment.Environment.here().sources, head()

    monkeypatch.setattr(environment, "ROOT", tmp_path)
    with pytest.raises(OptionError, match="needs a clone with git"):
        environment.commit_of("0")
    (tmp_path / "src").mkdir(), (tmp_path / "papers").mkdir()
    (tmp_path / "src" / "b.py").write_text("b")
    git("init", "-q")
    first, second = commit("one"), commit("two")
    assert [environment.commit_of(sources) for sources, _ in (first, second)] == [first[1], second[1]]
    (tmp_path / "papers" / "a.json").write_text("{}")  # results are no source
    assert environment.commit_of(environment.Environment.here().sources) == second[1]
    git("add", "."), git("commit", "-qm", "results")
    assert environment.commit_of(environment.Environment.here().sources) == head()
    (tmp_path / "src" / "b.py").write_text("changed")
    with pytest.raises(OptionError, match=re.escape("Commit your changes")):
        environment.commit_of(environment.Environment.here().sources)
