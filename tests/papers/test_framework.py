"""What reproductions share: the cache of points, verdicts by rule, the command and its report."""

import json
import math
import re
import sys
from importlib import import_module
from itertools import product
from types import ModuleType

import pytest

from luce.errors import DataError, MissingPackageError, OptionError
from papers import REPRODUCTIONS, Reproduction
from papers.__main__ import main
from papers.datasets import DATASETS, DatasetSpec
from papers.environment import Environment
from papers.outcome import Claim, Outcome, ResultTable, Trial
from papers.page import summary, write_report
from papers.plots import Line, log_lines
from papers.result_cache import ResultCache
from papers.runner import Run

SETTINGS = [{"method": "a", "size": size} for size in (3, 1, 2)]


@pytest.mark.parametrize("record", REPRODUCTIONS.values(), ids=REPRODUCTIONS)
def test_every_record_can_run_and_its_data_are_known(record):
    assert callable(import_module(f"papers.{record.module}").run)
    assert set(record.datasets) <= set(DATASETS)
    assert 0 < record.quick_minutes <= 10 and record.quick_minutes <= record.full_minutes


def test_cached_results_are_found_by_their_settings(tmp_path):
    cache = ResultCache("listmle-trees", tmp_path / "points.json")
    cache.put({"b": 1, "a": [1, 2]}, {"x": 0.1})
    again = ResultCache("listmle-trees", tmp_path / "points.json")
    assert again.get({"a": [1, 2], "b": 1}) == {"x": 0.1}
    assert again.get({"a": [1, 2], "b": 2}) is None
    assert [file.name for file in tmp_path.iterdir()] == ["points.json"]


def test_results_computed_elsewhere_keep_their_environment(tmp_path):
    file, spec = tmp_path / "points.json", DatasetSpec("mq2008", "there", None)
    cache = ResultCache("listmle-trees", file)
    assert cache.environments() == [Environment.here()]
    cache.put({"dataset": spec, "seed": 3}, 1)
    cache.put({"dataset": spec, "seed": 4}, 2)
    content = json.loads(file.read_text())
    content["environments"][0] |= {"machine": "a server", "sources": "0"}
    file.write_text(json.dumps(content))
    again = ResultCache("listmle-trees", file)
    again.put({"train_seed": 5, "fold": 2}, 3)
    assert again.get({"dataset": spec._replace(folder="here"), "seed": 3}) == 1
    assert ([each.machine for each in again.environments()], again.seeds()) == (["a server"], [3])
    assert again.get({"train_seed": 5, "fold": 2}) == 3
    assert (again.environments()[1], again.seeds(), again.folds()) == (Environment.here(), [3, 5], [2])


def test_a_cache_of_something_else_is_refused(tmp_path):
    file = tmp_path / "points.json"
    ResultCache("listmle-trees", file).put({}, 1)
    with pytest.raises(DataError, match=r"'listmle-trees'.*'pl-rank'.*another file"):
        ResultCache("pl-rank", file)
    content = json.loads(file.read_text())
    file.write_text(json.dumps(content | {"luce": "0.0.0"}))
    with pytest.raises(DataError, match=r"0\.0\.0"):
        ResultCache("listmle-trees", file)
    for text in ("{", "[]", '{"points": {}}', json.dumps({**content, "environments": [{}]})):
        file.write_text(text)
        with pytest.raises(DataError, match="does not contain the results"):
            ResultCache("listmle-trees", file)


@pytest.mark.parametrize("how", [{}, {"processes": 2}, {"isolated": True}], ids=["sequence", "pool", "isolated"])
def test_points_come_in_their_order(how):
    shares = []
    run = Run("listmle-trees", n_jobs=1, on_progress=lambda share, message: shares.append(share))
    found = run.points(dict, SETTINGS, effort=lambda one: one["size"], span=(0.2, 0.6), **how, times=10)
    assert found == [one | {"times": 10} for one in SETTINGS]
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx(0.2) and shares[-1] == pytest.approx(0.6)


def test_an_interrupted_run_resumes(tmp_path):
    computed = []

    def compute(method: str, size: int) -> int:
        computed.append(size)
        if size == 2 and len(computed) == 3:
            raise KeyboardInterrupt
        return size

    with pytest.raises(KeyboardInterrupt):
        Run("listmle-trees", cache_path=tmp_path / "points.json").points(compute, SETTINGS)
    assert computed == [3, 1, 2]
    assert Run("listmle-trees", cache_path=tmp_path / "points.json").points(compute, SETTINGS) == [3, 1, 2]
    assert computed == [3, 1, 2, 2]


def test_verdicts_follow_from_the_checks():
    def verdict(checks, **options):
        return Claim.from_checks("", checks, "", **options).verdict

    assert verdict([True, True]) == "held"
    assert verdict([True, False]) == "held in part"
    assert verdict([False, False]) == "not held"
    assert verdict([]) == "needs data not available here"


DIFFERENCES = dict.fromkeys((Trial("synthetic", *each) for each in product((100, 400), (8, 16), (0, 1))), 0.5)


def test_trials_decide_only_if_everything_was_varied_and_no_sign_changed():
    def verdict(differences):
        return Claim.from_trials("", differences, "").verdict

    assert verdict(DIFFERENCES) == "held"
    assert verdict({trial: -each for trial, each in DIFFERENCES.items()}) == "not held"
    assert verdict(DIFFERENCES | {Trial("mq2008", 400, 8, 0): -0.1}) == "on synthetic data"
    for position in (1, 2, 3):
        one = {
            trial: each for trial, each in DIFFERENCES.items() if trial[position] == next(iter(DIFFERENCES))[position]
        }
        assert verdict(one) == "on synthetic data", "too little was varied"
    assert verdict({trial._replace(length=0): each for trial, each in DIFFERENCES.items()}) == "held", "no training"
    assert verdict({Trial("mq2008", 470, 8, fold): 1.0 for fold in range(5)}) == "on other data"
    apart = {Trial(f"synthetic {size}", size, length, seed): 0.5 for _, size, length, seed in DIFFERENCES}
    assert verdict(apart) == "on synthetic data", "no dataset has two sizes"
    alike = {trial._replace(size=100 + trial.size // 100): each for trial, each in DIFFERENCES.items()}
    assert verdict(alike) == "on synthetic data", "folds of 101 and of 104 lists are no two sizes"
    assert verdict({}) == "needs data not available here"
    with pytest.raises(OptionError, match="must be finite"):
        verdict({Trial("synthetic", 100, 8, 0): math.nan})


def test_the_evidence_says_what_was_tried():
    differences = DIFFERENCES | {Trial("mq2008", 1_600, 16, 2): -0.0301}
    claim = Claim.from_trials("A is above B.", differences, "More.", units=("lists", "rounds"))
    assert claim.evidence == (
        "Positive in 8 of 9 trials (8 of 8 on synthetic, 0 of 1 on mq2008), by −0.0301 to +0.5: "
        "100 to 1,600 lists, 8 to 16 rounds, 3 seeds. More."
    )


def outcome() -> Outcome:
    table = ResultTable(
        "Errors <1>", ["method", "ours", "paper"], [["listmle", 0.123456, None], ["ranknet", 3, "0.5"]], "Low."
    )
    lines = {"listmle": Line([1, 10], [0.1, 0.01], [0.01, 0.001])}
    return Outcome(
        "Synthetic data.",
        [table],
        [Claim("A is best.", "held", "2 of 2."), Claim("B is fast.", "not held", "0 of 2.")],
        lambda: [log_lines("errors", "Errors", "rankings", lines)],
        "Trained briefly.",
    )


def test_tables_as_text_and_verdicts_counted():
    text = str(outcome().tables[0])
    assert "listmle  0.1235      –" in text and "ranknet       3    0.5" in text
    assert summary(outcome()) == "Of 2 claims: 1 held, 1 not held. Synthetic data."
    with pytest.raises(OptionError, match="'T' must have 2 cells"):
        ResultTable("T", ["a", "b"], [["a"]])


def test_the_page_holds_tables_claims_and_pictures(tmp_path):
    metadata = {"title": "T", "paper": "P (2020)", "command": "python -m papers x", "settings": {"seed": 3}}
    write_report(tmp_path / "page.html", outcome(), **metadata)
    page = re.sub("</?span>", "", (tmp_path / "page.html").read_text(encoding="utf-8"))
    for part in (
        "Errors &lt;1&gt;",
        "Trained briefly.",
        "0.1235",
        "not held",
        "0 of 2.",
        "<svg",
        "P (2020)",
        "python -m papers x",
    ):
        assert part in page
    assert "http://" not in page.replace("http://www.w3.org", "")


@pytest.fixture
def invented(monkeypatch):
    """A reproduction that records how it was run."""
    module = ModuleType("papers.invented")
    runs = []

    def run(run):
        runs.append(run)
        run.on_progress(1.0, "done")
        return outcome()

    module.run = run
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(REPRODUCTIONS, "invented", Reproduction("P (2020)", "Table 9", "invented", (), 1, 2))
    return runs


def test_the_command_runs_prints_and_writes(invented, tmp_path, capsys):
    page, cache = tmp_path / "page.html", tmp_path / "cache.json"
    options = ["--quick", "--seed", "4", "--threads", "1", "--data", str(tmp_path), "--report", str(page)]
    main(["invented", *options, "--cache", str(cache)])
    printed = capsys.readouterr().out
    for part in (
        "P (2020): Table 9",
        "Synthetic data.",
        "Trained briefly.",
        "Errors <1>",
        "0.1235",
        "not held: B is fast.",
    ):
        assert part in printed
    (run,) = invented
    assert (run.quick, run.seed, run.n_jobs, run.data, run.cache.path) == (True, 4, 1, tmp_path, cache)
    text = re.sub("</?span>", "", page.read_text(encoding="utf-8"))
    assert "Table 9" in text and "python -m papers invented --quick --seed 4" in text


def test_paths_are_checked_before_the_run(invented, tmp_path, monkeypatch):
    for option, place in product(("--report", "--cache"), (tmp_path, tmp_path / "nowhere" / "file")):
        with pytest.raises(DataError):
            main(["invented", option, str(place)])
    with pytest.raises(DataError, match="there is no directory"):
        Run("invented", cache_path=tmp_path / "nowhere" / "cache.json")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError):
        main(["invented", "--report", str(tmp_path / "page.html")])
    assert invented == []


def test_the_command_prints_json(invented, capsys):
    main(["invented", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert printed["tables"][0]["rows"][0] == ["listmle", 0.123456, None]
    assert printed["claims"][1] == {"text": "B is fast.", "verdict": "not held", "evidence": "0 of 2."}
    assert (printed["name"], printed["quick"], printed["data"]) == ("invented", False, "Synthetic data.")


def test_the_list_names_papers_data_and_their_files(capsys):
    main(["--list"])
    printed = capsys.readouterr().out
    for name, record in REPRODUCTIONS.items():
        assert name in printed and record.paper in printed
        for data in record.datasets:
            assert DATASETS[data].source in printed and DATASETS[data].files()[0] in printed
    main(["--list", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in printed["reproductions"]] == list(REPRODUCTIONS)
    assert printed["datasets"]["delicious"]["files"][0] == "Delicious/Delicious_data.txt"


def test_names_are_checked_and_help_has_an_example(capsys):
    for words, arguments in (("invalid choice: 'partition-label'", ["partition-label"]), ("give a NAME", [])):
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
        printed = capsys.readouterr().err
        assert words in printed and "partition-labels" in printed
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert "python -m papers partition-simulation --quick" in capsys.readouterr().out
