"""`luce compare`: what it compares on, what it compares, how it goes on, and what it tells."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import luce
from luce.cli import app
from luce.cli.compare_folds import folds_of
from luce.cli.compare_output import print_comparison, write_results
from luce.data.synthetic import web_search
from luce.experiments.cost import Cost
from luce.experiments.peers import PEERS
from luce.metrics import Comparison
from luce.report import Report, write_report

RUN = CliRunner()
QUICK = ["--one-process", "--threads", "1"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Three files of made lists."""
    place = tmp_path_factory.mktemp("made")
    for seed, name in enumerate(("train", "vali", "test")):
        luce.write(web_search(20, n_features=6, mean_length=8, seed=seed).dataset, place / f"{name}.txt")
    return place


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder to write to; pages have their words but no pictures, which take longer than all the fits."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("luce.report.write_report", plain_page)


def plain_page(path, **contents):
    report = Report(**contents)
    names = [report.results, report.costs, report.histories, report.scores]
    assert all(list(each) == list(report.results) for each in names)
    path.write_text("\n".join([report.title, report.summary, *report.results, *report.settings.values()]))
    return path


def call(*words, status: int = 0):
    result = RUN.invoke(app, ["compare", *map(str, words)])
    assert result.exit_code == status, f"{words}: {result.output} {result.exception!r}"
    return result if not status else str(result.exception) + result.output


def found_in(*words):
    return json.loads(call(*words, *QUICK, "--json").stdout)


def laid(folder: Path, made: Path, **names: str) -> Path:
    """A folder with some of the made files under other names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in names.items():
        (folder / f"{name}.txt").write_bytes((made / f"{source}.txt").read_bytes())
    return folder


def test_a_file_is_cut_and_parts_take_turns(made, tmp_path):
    found = found_in(made / "train.txt", "--folds", 4, "--objectives", "listnet,listmle")
    assert found["folds"] == 4
    assert list(found["results"]) == ["linear listnet", "linear listmle"]
    assert found["results"]["linear listmle"]["n_lists"] == 20
    assert found["tests"][0] | {"metric": "ndcg@10", "baseline": "linear listnet"} == found["tests"][0]
    folder = laid(tmp_path / "parts", made, S1="train", S2="vali", S3="test")
    (folder / "README.md").write_text("not data")
    of_folder = found_in(folder, "--objectives", "listnet")
    of_files = found_in(*sorted(folder.glob("*.txt")), "--objectives", "listnet", "--folds", 3)
    assert of_folder["results"] == of_files["results"]
    assert of_folder["results"]["linear listnet"]["n_lists"] == 60
    assert "DATA is already split: omit it" in call(folder, "--folds", 5, status=1)


def test_what_is_there_is_not_written_over_and_results_are_no_data(made, tmp_path, monkeypatch):
    luce.write(luce.read(made / "train.txt"), tmp_path / "judged.parquet")
    before = (tmp_path / "judged.parquet").read_bytes()
    words = ["--objectives", "listnet", "--folds", 3]
    assert "is not the results of a comparison" in call("judged.parquet", "--report", "judged.html", *words, status=1)
    assert (tmp_path / "judged.parquet").read_bytes() == before
    monkeypatch.chdir(laid(tmp_path / "parts", made, S1="train", S2="vali", S3="test"))
    assert found_in(".", *words)["results"] == found_in(".", *words)["results"]
    result = call("S1.txt", "--folds", 2, "--objectives", "listnet", "--report", "a[b].html", *QUICK)
    assert "Two folds leave no lists for validation" in result.stderr
    assert "Report: a[b].html\nResults: a[b].parquet\nCached fits: a[b].cache" in result.stderr


def test_given_splits_are_taken_as_they_are(made, tmp_path):
    words = ["--objectives", "listmle", "--metrics", "ndcg@10"]
    by_name = found_in(made / "train.txt", "--validation", made / "vali.txt", "--test", made / "test.txt", *words)
    train, vali, test = (luce.read(made / f"{name}.txt") for name in ("train", "vali", "test"))
    own = luce.LinearRanker("listmle").fit(train, validation=vali).predict(test)
    mean = by_name["results"]["linear listmle"]["metrics"]["ndcg@10"]["mean"]
    assert mean == pytest.approx(luce.evaluate(own, test).means["ndcg@10"])
    assert found_in(made, *words)["results"] == by_name["results"]
    folder = tmp_path / "MSLR"
    laid(folder / "Fold1", made, train="train", vali="vali", test="test")
    laid(folder / "Fold2", made, trainingset="vali", validationset="test", testset="train")
    (folder / "README").write_text("as distributed")
    found = found_in(folder, *words)
    assert (found["folds"], found["results"]["linear listmle"]["n_lists"]) == (2, 40)
    result = call(made / "train.txt", "--test", made / "test.txt", *words, *QUICK)
    assert "a fifth of its lists is held out" in result.stderr
    assert "one test set, 20 lists" in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{made}/train.txt", "--validation", "{made}/vali.txt"], "--validation needs --test"),
        (["{made}", "--test", "{made}/test.txt"], "DATA must be a single file"),
        (["{made}", "--folds", "3"], "DATA is already split: omit it"),
        (["{made}/train.txt", "--models", "linear,nural"], "Did you mean 'neural'"),
        (["{made}/train.txt", "--models", "labels"], "is trained on tagged rows"),
        (["{made}/train.txt", "--presets", "l-listml"], "Did you mean 'l-listmle'"),
        (["{made}/train.txt", "--peers", "xgbost"], "Did you mean 'xgboost'"),
        (["{made}/train.txt", "--models", "neural", "--set", "epohcs=2"], "Did you mean 'epochs'"),
        (["{made}/train.txt", "--objectives", "listnet,listnet"], "each once"),
        (["{made}/train.txt", "--objectives", "listmle(depth=0)"], "must be an integer ≥ 1"),
        (["{made}/train.txt", "--objectives", "listmle(depth=3"], "must be names separated by commas"),
        (["{made}/train.txt", "--baseline", "listmle"], "must be one of the methods: linear c-kl"),
        (["{made}/train.txt", "--results", "a.csv"], ".parquet or .json"),
        (["{made}/train.txt", "--report", "no/where.html"], "there is no directory no"),
        (
            ["{made}/train.txt", "--peers", "lightgbm-xendcg", "--set", "n_estimators=0"],
            "xendcg: n_estimators must be an integer",
        ),
        (["{made}/train.txt", "--peers", "lightgbm-xendcg", "--set", "metric=ndgc"], "Did you mean 'ndcg'"),
        (["{made}/train.txt", "--report", "{made}/train.txt"], "would overwrite the data"),
        (["{made}/train.txt", "--test", "{made}/test.txt", "--report", "{made}/test.txt"], "would overwrite the data"),
        (["{made}/train.txt", "--report", "a.json", "--results", "a.json"], "another output"),
    ],
)
def test_errors_come_before_the_work(words, said, made, tmp_path):
    assert said in call(*(word.format(made=made) for word in words), status=1)
    assert not list(tmp_path.iterdir())


def test_models_objectives_presets_and_peers_are_rows_of_one_table(made):
    words = ["--models", "linear,neural", "--objectives", "listnet,listmle(depth=3)", "--presets", "coordinate-ascent"]
    settings = [
        "--set",
        "epochs=2",
        "--set",
        "max_iter=3",
        "--set",
        "n_estimators=4",
        "--set",
        "early_stopping_rounds=2",
    ]
    result = call(made, *words, "--peers", "installed", *settings, *QUICK, "--json")
    found = json.loads(result.stdout)
    ours = [f"{kind} {goal}" for kind in ("linear", "neural") for goal in ("listnet", "listmle(depth=3)")]
    assert list(found["results"]) == [*ours, "coordinate-ascent", *PEERS]
    page = Path("comparison.html").read_text()
    assert all(name in page for name in found["results"])
    assert (
        "epochs=2" in page
        and "max_iter=3" in page
        and "XGBoostNdcg(early_stopping_rounds=2, n_estimators=4, n_jobs=1)" in page
    )
    assert all(cost["fit_seconds"] > 0 and cost["peak_bytes"] is None for cost in found["costs"].values())
    table = pyarrow.parquet.read_table("comparison.parquet").to_pandas()
    assert len(table) == len(found["results"]) * 20 * 4
    means = table.groupby(["method", "metric"], observed=True)["value"].mean()
    for name, result in found["results"].items():
        assert means[name, "err"] == pytest.approx(result["metrics"]["err"]["mean"])


def test_with_no_methods_named_there_is_something_to_see(made, monkeypatch):
    words = [made, "--set", "n_estimators=3", "--set", "max_iter=3"]
    default = ["linear c-kl", "linear pl-partition", "trees pl-partition", "lightgbm-lambdarank"]
    with monkeypatch.context() as whole:
        whole.setattr("luce.report.write_report", write_report)
        assert list(found_in(*words)["results"]) == default
    page = Path("comparison.html").read_text()
    assert page.startswith("<!") and "<svg" in page and all(name in page for name in default)
    assert list(found_in(made, "--presets", "l-listmle")["results"]) == ["l-listmle"]
    monkeypatch.setattr("luce.experiments.peers.is_installed", lambda name: False)
    result = call(made, "--set", "max_iter=3", *QUICK)
    assert "pip install 'luce[trees]'" in result.stderr
    assert "trees pl-partition" not in result.stdout
    assert "catboost is not installed" in RUN.invoke(app, ["compare", str(made), "--peers", "installed"]).stderr


def test_the_table_marks_the_best_whichever_way_is_better(made, tmp_path):
    words = [made, "--objectives", "listmle,listnet", "--metrics", "ndcg@5,arp", "--seeds", "2", *QUICK]
    found = json.loads(call(*words, "--json").stdout)
    means = {
        name: {metric: entry["mean"] for metric, entry in result["metrics"].items()}
        for name, result in found["results"].items()
    }
    result = call(*words)
    for metric, choose in (("ndcg@5", max), ("arp", min)):
        best = choose(means, key=lambda name: means[name][metric])
        for name in means:
            assert (f"*{means[name][metric]:.4f}" in result.stdout) == (name == best)
    assert "± seeds" in result.stdout
    spread = found["spread_over_seeds"]["linear listmle"]["ndcg@5"]
    assert spread > 0 and f"{spread:.4f}" in result.stdout
    assert "Report: comparison.html" in result.stderr and "comparison.parquet" in result.stderr
    assert "has the highest mean ndcg@5, " in Path("comparison.html").read_text()


def compared(metric, name, mean, baseline_mean, p):
    difference = mean - baseline_mean
    return Comparison(
        metric, name, "a", mean, baseline_mean, difference, difference, difference, 0.95, 5, 4, 9, p, p, p, p
    )


def test_a_difference_that_is_no_chance_has_an_arrow(capsys):
    from types import SimpleNamespace

    means = {"a": (0.5, 9.0), "b": (0.7, 7.0), "c": (0.4, 9.5), "d": (0.6, 8.0)}
    results = {
        name: SimpleNamespace(
            means={"ndcg@5": first, "arp": second},
            intervals={"ndcg@5": (0.1, 0.9)},
            max_grade=None,
            ranking=None,
            n_empty={},
        )
        for name, (first, second) in means.items()
    }
    p_values = {"b": 0.01, "c": 0.04, "d": 0.2}
    tests = {
        metric: [compared(metric, name, means[name][place], means["a"][place], p) for name, p in p_values.items()]
        for place, metric in enumerate(("ndcg@5", "arp"))
    }
    costs = dict.fromkeys(means, Cost(2.0, 0.001, 5e7))
    found = {"results": results, "tests": tests, "costs": costs, "seeds": (0,), "n_folds": 1, "spreads": {}}
    print_comparison(SimpleNamespace(**found, failures={"e": "why"}), "title", {})
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    interval, took = "0.1000–0.9000", ["2.0", "s", "1", "ms", "50", "MB"]
    assert rows[2:] == [
        ["a", "0.5000", interval, "9.0000", *took],
        ["b", "▲*0.7000", interval, "▲*7.0000", *took],
        ["c", "▼0.4000", interval, "▼9.5000", *took],
        ["d", "0.6000", interval, "8.0000", *took],
        ["e", "failed"],
    ]


def test_a_failed_row_is_told_and_the_rest_is_written(tmp_path):
    (tmp_path / "holes.txt").write_text(
        "".join(f"{i % 3} qid:{i // 5} 1:{'nan' if i == 7 else i % 4} 2:{i % 7}\n" for i in range(60))
    )
    words = ["holes.txt", "--folds", "3", "--objectives", "listmle", "--presets", "lambdamart"]
    settings = ["--set", "transforms=standardize", "--set", "n_estimators=2", "--set", "min-child-samples=1"]
    text = call(*words, *settings, *QUICK, status=1)
    assert "linear listmle failed: " in text and "missing" in text
    assert "lambdamart" in text
    assert "linear listmle failed." in Path("comparison.html").read_text()


def test_results_as_json(tmp_path):
    table = pyarrow.table({"method": ["a"], "value": [None], "seed": [3]})
    write_results(table, tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text()) == [{"method": "a", "value": None, "seed": 3}]


@pytest.mark.multiprocess
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as on Linux and macOS")
def test_ctrl_c_says_how_to_go_on_and_the_same_command_does(made, tmp_path):
    luce.write(web_search(60, n_features=6, mean_length=10, seed=3).dataset, tmp_path / "many.txt")
    words = [Path(sys.executable).parent / "luce", "compare", "many.txt", "--folds", "3", "--threads", "1", "--seeds"]
    words += ["40", "--objectives", "listmle,pl-partition", "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # whoever runs the tests may have turned it off
    run = subprocess.Popen(words, **pipes, preexec_fn=heard)
    cache = tmp_path / "comparison.cache"
    while run.poll() is None and len(list(cache.glob("*.fit"))) < 3:
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal sends it, to all
    _, said = run.communicate(timeout=60)
    assert run.returncode == 130
    done = len(list(cache.iterdir()))
    assert 3 <= done < 240
    assert f"of 240 fits are finished and cached in {cache.name}. Run the same command to resume." in said
    assert not (tmp_path / "comparison.html").exists()
    short = call(tmp_path / "many.txt", "--folds", 3, "--threads", 1, "--objectives", "listmle", "--one-process")
    assert "linear listmle" in short.stdout
    assert len(list(cache.iterdir())) == max(done, 3)


def test_lists_held_out_for_validation_are_not_trained_on(made):
    folds, _ = folds_of([made / "train.txt"], None, made / "test.txt", None, 0, None)
    train, held_out = (set(part.query_ids.to_pylist()) for part in next(folds)[:2])
    assert (len(train), len(held_out)) == (16, 4)
    assert not train & held_out
