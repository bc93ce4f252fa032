"""The frame of a reproduction: points kept and gone on from, verdicts by rule, the command and its page."""

import json
import sys
from itertools import product
from types import ModuleType

import pytest
from typer.testing import CliRunner

from luce.cli import app
from luce.errors import DataError, MissingPackageError, OptionError
from luce.report.reproduction import Claim, Outcome, Table, summary, write_reproduction
from luce.reproductions import REPRODUCTIONS, Reproduction, reproduce, reproduction
from luce.reproductions.datasets import DATASETS
from luce.reproductions.kept import Kept
from luce.reproductions.pictures import Line, log_lines
from luce.reproductions.reproduction import Run

SETTINGS = [{"method": "a", "size": size} for size in (3, 1, 2)]


@pytest.mark.parametrize("record", REPRODUCTIONS.values(), ids=REPRODUCTIONS)
def test_every_record_can_run_and_its_data_are_known(record):
    import importlib

    assert callable(importlib.import_module(f"luce.reproductions.{record.module}").run)
    assert set(record.datasets) <= set(DATASETS)
    assert 0 < record.minutes[0] <= 10 and record.minutes[0] <= record.minutes[1]
    assert reproduction(record.name) is record


def test_kept_points_are_found_again_by_their_settings(tmp_path):
    kept = Kept("plrank", tmp_path / "points.json")
    kept.put({"b": 1, "a": [1, 2]}, {"x": 0.1})
    again = Kept("plrank", tmp_path / "points.json")
    assert again.get({"a": [1, 2], "b": 1}) == {"x": 0.1}
    assert again.get({"a": [1, 2], "b": 2}) is None
    assert [file.name for file in tmp_path.iterdir()] == ["points.json"]


def test_kept_points_of_something_else_are_refused(tmp_path):
    file = tmp_path / "points.json"
    Kept("plrank", file).put({}, 1)
    with pytest.raises(DataError, match=r"'plrank'.*'pl-rank'.*another file"):
        Kept("pl-rank", file)
    held = json.loads(file.read_text())
    file.write_text(json.dumps(held | {"luce": "0.0.0"}))
    with pytest.raises(DataError, match=r"0\.0\.0"):
        Kept("plrank", file)
    file.write_text(json.dumps(held | {"luce": None}))
    assert Kept("plrank", file).get({}) == 1
    for text in ("{", "[]", '{"points": {}}'):
        file.write_text(text)
        with pytest.raises(DataError, match="does not hold the points"):
            Kept("plrank", file)


@pytest.mark.parametrize("how", [{}, {"processes": 2}, {"fresh": True}], ids=["here", "pool", "fresh"])
def test_points_come_in_their_order(how):
    told = []
    run = Run("plrank", n_jobs=1, tell=lambda share, words: told.append(share))
    found = run.points(dict, SETTINGS, effort=lambda one: one["size"], span=(0.2, 0.6), **how, times=10)
    assert found == [one | {"times": 10} for one in SETTINGS]
    assert told == sorted(told)
    assert told[0] == pytest.approx(0.2) and told[-1] == pytest.approx(0.6)


def test_a_stopped_run_goes_on(tmp_path):
    asked = []

    def compute(method: str, size: int) -> int:
        asked.append(size)
        if size == 2 and len(asked) == 3:
            raise KeyboardInterrupt
        return size

    with pytest.raises(KeyboardInterrupt):
        Run("plrank", keep=tmp_path / "points.json").points(compute, SETTINGS)
    assert asked == [3, 1, 2]
    assert Run("plrank", keep=tmp_path / "points.json").points(compute, SETTINGS) == [3, 1, 2]
    assert asked == [3, 1, 2, 2]


def test_verdicts_follow_from_the_checks():
    def verdict(checks, **how):
        return Claim.judged("", checks, "", **how).verdict

    assert verdict([True, True]) == "held"
    assert verdict([True, False]) == "held in part"
    assert verdict([False, False]) == "not held"
    assert verdict([]) == verdict([True], at_hand=False) == "needs data not at hand"
    with pytest.raises(OptionError, match=r"held in part.*Got 'true'"):
        Claim("", "true", "")


def outcome() -> Outcome:
    table = Table(
        "Errors <1>", ["method", "ours", "paper"], [["listmle", 0.123456, None], ["plrank", 3, "0.5"]], "Low."
    )
    lines = {"listmle": Line([1, 10], [0.1, 0.01], [0.01, 0.001])}
    return Outcome(
        "Made data.",
        [table],
        [Claim("A is best.", "held", "2 of 2."), Claim("B is fast.", "not held", "0 of 2.")],
        lambda: [log_lines("errors", "Errors", "rankings", lines)],
    )


def test_tables_and_outcomes_as_text():
    text = str(outcome())
    assert "listmle  0.1235      –" in text and "plrank        3    0.5" in text
    assert "not held: B is fast.\n    0 of 2." in text
    assert summary(outcome()) == "Of 2 claims: 1 held, 1 not held. Made data."
    with pytest.raises(OptionError, match="'T' must have 2 cells"):
        Table("T", ["a", "b"], [["a"]])


def test_the_page_holds_tables_claims_and_pictures(tmp_path):
    page = write_reproduction(
        tmp_path / "page.html", outcome(), title="T", paper="P (2020)", command="luce reproduce x", settings={"seed": 3}
    ).read_text(encoding="utf-8")
    for part in ("Errors &lt;1&gt;", "0.1235", "not held", "0 of 2.", "<svg", "P (2020)", "luce reproduce x"):
        assert part in page
    assert "http://" not in page.replace("http://www.w3.org", "")


@pytest.fixture
def invented(monkeypatch):
    """A reproduction that tells how it was run."""
    module = ModuleType("luce.reproductions.invented")
    runs = []

    def run(run):
        runs.append(run)
        run.tell(1.0, "done")
        return outcome()

    module.run = run
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(
        REPRODUCTIONS, "invented", Reproduction("invented", "P (2020)", "Table 9", (), "invented", (1, 2))
    )
    return runs


def test_the_command_runs_prints_and_writes(invented, tmp_path):
    page = tmp_path / "page.html"
    options = ["--quick", "--seed", "4", "--threads", "1", "--data", str(tmp_path), "--report", str(page)]
    told = CliRunner().invoke(app, ["reproduce", "invented", *options, "--keep", str(tmp_path / "kept.json")])
    assert told.exit_code == 0
    for part in ("P (2020): Table 9", "Made data.", "Errors <1>", "0.1235", "not held: B is fast."):
        assert part in told.stdout
    (run,) = invented
    assert (run.quick, run.seed, run.n_jobs, run.data, run.kept.path) == (True, 4, 1, tmp_path, tmp_path / "kept.json")
    assert "Table 9" in page.read_text(encoding="utf-8")


def test_what_cannot_be_written_is_told_before_the_run(invented, tmp_path, monkeypatch):
    for option, place in product(("--report", "--keep"), (tmp_path, tmp_path / "nowhere" / "file")):
        found = CliRunner().invoke(app, ["reproduce", "invented", option, str(place)])
        assert isinstance(found.exception, DataError)
    with pytest.raises(DataError, match="there is no directory"):
        Run("invented", keep=tmp_path / "nowhere" / "kept.json")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = CliRunner().invoke(app, ["reproduce", "invented", "--report", str(tmp_path / "page.html")])
    assert isinstance(found.exception, MissingPackageError)
    assert invented == []


def test_the_command_speaks_json(invented):
    found = json.loads(CliRunner().invoke(app, ["reproduce", "invented", "--json"]).stdout)
    assert found["tables"][0]["rows"][0] == ["listmle", 0.123456, None]
    assert found["claims"][1] == {"text": "B is fast.", "verdict": "not held", "evidence": "0 of 2."}
    assert (found["name"], found["quick"], found["data"]) == ("invented", False, "Made data.")


def test_the_list_names_papers_data_and_their_files():
    told = CliRunner().invoke(app, ["reproduce", "--list"]).stdout
    for record in REPRODUCTIONS.values():
        assert record.name in told and record.paper in told
        for name in record.datasets:
            assert DATASETS[name].source in told and DATASETS[name].files()[0] in told
    found = json.loads(CliRunner().invoke(app, ["reproduce", "--list", "--json"]).stdout)
    assert [each["name"] for each in found["reproductions"]] == list(REPRODUCTIONS)
    assert found["datasets"]["delicious"]["files"][0] == "Delicious/Delicious_data.txt"


def test_names_are_checked():
    for words, arguments in ((r"'partition-label'.*Did you mean", ["partition-label"]), ("Give the name", [])):
        found = CliRunner().invoke(app, ["reproduce", *arguments])
        assert isinstance(found.exception, OptionError)
        with pytest.raises(OptionError, match=words):
            raise found.exception


def test_from_python_progress_goes_to_standard_error(invented, capsys):
    assert str(reproduce("invented", quick=True)) == str(outcome())
    assert "invented: 100.0%" in capsys.readouterr().err
