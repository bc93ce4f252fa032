"""Every command of the table: help with an example, the main path, JSON, and errors in one line."""

import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
import typer
from typer.testing import CliRunner

import luce
from luce.cli import COMMANDS, app, main
from luce.cli.output import progress, show_json
from luce.cli.reading import read_data
from luce.data.synthetic import web_search
from luce.metrics import LABEL_METRICS

RUN = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three parts of made data and a model, all by the command line."""
    place = tmp_path_factory.mktemp("cli")
    for seed, name in enumerate(("train", "validation", "test")):
        luce.write(web_search(30, n_features=12, mean_length=10, seed=seed).dataset, place / f"{name}.txt")
    words = ["--model", "linear", "-o", place / "model.luce"]
    call("train", place / "train.txt", "--validation", place / "validation.txt", *words)
    return place


def call(*words, fails: bool = False):
    result = RUN.invoke(app, [str(word) for word in words])
    if fails:
        assert result.exit_code != 0
        return str(result.exception) + result.output
    assert result.exit_code == 0, f"{words}: {result.output} {result.exception!r}"
    return result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_that_parses(name):
    text = " ".join(call(name, "--help").split())
    assert f"Example: luce {name}" in text
    assert len(COMMANDS[name].__doc__) > 60


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_every_word(name):
    """Words in square brackets are markup to Rich, which leaves them out."""
    command = typer.main.get_command(app).commands[name]
    for parameter in command.params:
        assert "[" not in (parameter.help or "")


def test_inspect(folder):
    facts = json.loads(call("inspect", folder / "train.txt", "--json"))
    data = luce.read(folder / "train.txt")
    assert (facts["rows"], facts["lists"], facts["features"]) == (data.n_rows, 30, 12)
    assert facts["list_lengths"]["most"] == data.sizes.max()
    assert sum(facts["labels"].values()) == data.n_rows
    best = [data.labels[data.rows(q)].max() for q in range(data.n_lists)]
    assert facts["lists_without_relevant_items"] == sum(value <= 0 for value in best)
    assert f"{data.n_rows:,}" in call("inspect", folder / "train.txt")


def test_inspect_counts_what_is_missing(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:nan 2:3\nnan qid:1 1:2\n0 qid:2 2:nan\n")
    facts = json.loads(call("inspect", tmp_path / "a.txt", "--json", "--read", "sparse=false"))
    assert facts["missing_feature_values"] == 2
    assert facts["labels_not_observed"] == 1
    assert facts["lists_without_relevant_items"] == 1


@pytest.mark.parametrize("ending", ["luce-data", "csv", "parquet", "arrow", "txt.gz"])
def test_convert_there_and_back(folder, tmp_path, ending):
    call("convert", folder / "test.txt", tmp_path / f"a.{ending}")
    call("convert", tmp_path / f"a.{ending}", tmp_path / "b.txt")
    assert (tmp_path / "b.txt").read_bytes() == (folder / "test.txt").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([f"a.{ending}", "b.txt"])


def test_train_says_what_it_did(folder, tmp_path):
    words = ["train", folder / "train.txt", "-o", tmp_path / "m.luce", "--objective", "listmle", "--json"]
    summary = json.loads(
        call(*words, "--option", "depth=3", "--set", "reg_lambda=10", "--set", "transforms=fill", "--seed", 5)
    )
    model = luce.load(tmp_path / "m.luce")
    assert str(model.objective) == "listmle(depth=3)"
    assert (model.reg_lambda, model.random_state, model.transforms) == (10, 5, ["fill"])
    assert summary["iterations"] == len(model.history_)
    assert summary["validation"] is None


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("n_bags=1", "on 20% of the training data, held out; then trained on all"),
        ("n_bags=2", r": 2 bags, ndcg@10 0.\d+ on the lists outside each bag"),
        ("validation_fraction=none", "3 rounds, best 3$"),
    ],
)
def test_train_says_what_its_score_is_measured_on(folder, tmp_path, setting, words):
    command = ["train", folder / "train.txt", "--model", "trees", "--set", "n_estimators=3", "--set", setting]
    done = RUN.invoke(app, [*map(str, command), "-o", str(tmp_path / "m.luce"), "--threads", "1"])
    assert re.search(words, " ".join(done.stderr.split()))


def test_train_reads_validation_for_the_features_of_the_training(folder, tmp_path):
    narrow = "1 qid:1 1:0.5\n0 qid:1 2:0.5\n"
    (tmp_path / "narrow.txt").write_text(narrow)
    words = ["--model", "linear", "-o", tmp_path / "m.luce"]
    call("train", folder / "train.txt", "--validation", tmp_path / "narrow.txt", *words)
    call("evaluate", tmp_path / "m.luce", tmp_path / "narrow.txt")


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "run"])
def test_rank_to_a_file(folder, tmp_path, kind):
    ranking = luce.load(folder / "model.luce").rank(luce.read(folder / "test.txt"), top=2).to_pylist()
    expected = [{**each, "row": each["row"] + 1} for each in ranking]
    out = tmp_path / f"ranking.{kind}"
    call("rank", folder / "model.luce", folder / "test.txt", "--top", 2, "-o", out)
    if kind == "parquet":
        assert pyarrow.parquet.read_table(out).to_pylist() == expected
    elif kind == "jsonl":
        assert [json.loads(line) for line in out.read_text().splitlines()] == expected
    elif kind == "run":
        first = expected[0]
        line = f"{first['query']} Q0 {first['document']} 1 {first['score']!r} luce"
        assert out.read_text().splitlines()[0] == line
    else:
        assert len(out.read_text().splitlines()) == len(expected) + 1


def test_rank_to_standard_output(folder):
    lines = call("rank", folder / "model.luce", folder / "test.txt", "--top", 1).splitlines()
    assert lines[0] == '"query","rank","document","score","row"'
    assert len(lines) == 31


def test_evaluate_a_model_and_its_run_alike(folder, tmp_path):
    call("rank", folder / "model.luce", folder / "test.txt", "-o", tmp_path / "a.run")
    call("convert", folder / "test.txt", tmp_path / "test.qrels")
    metrics = ["--metrics", "ndcg@10,err,map,rbp(p=0.9)@5", "--max-grade", "4", "--json"]
    model = json.loads(call("evaluate", folder / "model.luce", folder / "test.txt", *metrics))
    run = json.loads(call("evaluate", tmp_path / "a.run", tmp_path / "test.qrels", *metrics))
    (model,), (run,) = model.values(), run.values()
    for name in ("ndcg@10", "err", "map", "rbp(p=0.9)@5"):
        assert model["metrics"][name]["mean"] == pytest.approx(run["metrics"][name]["mean"], abs=1e-9)


def test_evaluate_several_and_every_list(folder, tmp_path):
    words = ["evaluate", folder / "model.luce", folder / "model.luce", folder / "test.txt"]
    text = call(*words, "--per-list", tmp_path / "lists.csv")
    assert "ndcg@10" in text and "err with max_grade 4" in text
    assert len((tmp_path / "lists.csv").read_text().splitlines()) == 31
    skipped, zero = (
        json.loads(call(*words, "--json", "--metrics", "ndcg@1", "--empty", empty)) for empty in ("skip", "0")
    )
    for one, other in zip(skipped.values(), zero.values(), strict=True):
        assert one["metrics"]["ndcg@1"]["mean"] >= other["metrics"]["ndcg@1"]["mean"]


def test_evaluate_loads_a_model_once_and_reads_the_data_once(folder, tmp_path, monkeypatch):
    other = tmp_path / "other.luce"
    other.write_bytes((folder / "model.luce").read_bytes())
    calls = []

    def counted(name, function):
        return lambda *given, **options: calls.append((name, Path(given[-1]).name)) or function(*given, **options)

    monkeypatch.setattr("luce.rankers.load_ranker", counted("load", luce.rankers.load_ranker))
    monkeypatch.setattr("luce.data.formats.Format.read", counted("read", luce.data.formats.Format.read))
    call("evaluate", folder / "model.luce", other, folder / "test.txt", "--metrics", "ndcg@1")
    assert sorted(calls) == [("load", "model.luce"), ("load", "other.luce"), ("read", "test.txt")]


def test_train_takes_presets_and_kinds(folder, tmp_path):
    for name, kind, words in (
        ("pmop-gibbs", "linear", ["--preset", "first-order-pmop-gibbs", "--set", "max_iter=5"]),
        (
            "listnet",
            "neural",
            ["--model", "neural", "--objective", "listnet", "--set", "hidden_layer_sizes=8", "--set", "epochs=2"],
        ),
    ):
        model = tmp_path / f"{kind}.luce"
        call("train", folder / "train.txt", "-o", model, "--threads", 1, *words)
        ranker = luce.load(model)
        assert (ranker.kind, ranker.get_params()["objective"].name) == (kind, name)
        assert not (tmp_path / f"{kind}.luce.checkpoint").exists()
    assert ranker.get_params()["hidden_layer_sizes"] == [8]
    said = call("train", folder / "train.txt", "--preset", "first-order-pmop-fd", "--objective", "listmle", fails=True)
    assert (
        "--preset first-order-pmop-fd sets the model and the objective and cannot be combined with --objective" in said
    )


def test_evaluate_reckons_with_the_highest_grade_of_the_model(folder, tmp_path):
    (tmp_path / "low.txt").write_text("1 qid:1 1:0.5\n0 qid:1 2:0.5\n")
    words = ["evaluate", folder / "model.luce", tmp_path / "low.txt", "--metrics", "err"]
    assert "err with max_grade 4" in call(*words)
    assert "err with max_grade 2" in call(*words, "--max-grade", 2)


@pytest.mark.parametrize("table", ["objectives", "metrics"])
def test_tables(table):
    records = {"objectives": [luce.OBJECTIVES], "metrics": [luce.METRICS, LABEL_METRICS]}[table]
    entries = [entry for each in records for entry in each.values()]
    text = call(table)
    assert all(entry.name in text for entry in entries)
    assert [entry["name"] for entry in json.loads(call(table, "--json"))] == [entry.name for entry in entries]
    for name in {entry.name: None for entry in entries}:
        wanted = [entry for entry in entries if entry.name == name]
        found = json.loads(call(table, name, "--json"))
        assert [entry["summary"] for entry in (found if len(wanted) > 1 else [found])] == [e.summary for e in wanted]
        assert all(entry.formula.split()[0] in call(table, name) for entry in wanted)


def test_a_metric_of_lists_does_not_hide_the_metric_of_labels_of_the_same_name():
    text = call("metrics", "precision")
    assert luce.METRICS["precision"].summary in " ".join(text.split())
    assert LABEL_METRICS["precision"].summary in " ".join(text.split())


def test_presets_are_listed():
    from luce.rankers import PRESETS

    assert [entry["name"] for entry in json.loads(call("presets", "--json"))] == list(PRESETS)
    assert "listmle(depth=10)" in call("presets", "l-listmle")


def test_demo_ends_with_a_report(tmp_path):
    text = call("demo", "--directory", tmp_path / "demo", "--lists", 40, "--threads", 1)
    assert "ndcg@10" in text
    page = (tmp_path / "demo" / "report.html").read_text()
    assert page.startswith("<!") and "<svg" in page
    assert luce.load(tmp_path / "demo" / "model.luce").n_features_in_ == 40


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "nothing.txt"], "There is no file nothing.txt"),
        (["train", "nothing.txt", "--objective", "listmel"], "Did you mean 'listmle'"),
        (["train", "nothing.txt", "--model", "lineal"], "Did you mean 'linear'"),
        (["train", "nothing.txt", "--set", "early_stoping_rounds=1"], "Did you mean 'early_stopping_rounds'"),
        (["train", "nothing.txt", "--option", "depth"], "must be KEY=VALUE"),
        (["rank", "nothing.luce", "nothing.txt"], "There is no model file nothing.luce"),
        (["rank", "nothing.luce", "nothing.txt", "--format", "cvs"], "Did you mean 'csv'"),
        (["evaluate", "nothing.luce"], "needs a model or a run file"),
        (["inspect", "nothing.xyz"], "unknown extension"),
        (["metrics", "ndgc"], "Did you mean 'ndcg'"),
        (["objectives", "lisnet"], "Did you mean 'listnet'"),
        (["inspect", "."], "is a folder without data files"),
        (["inspect", "*.csv"], "There is no file *.csv"),
    ],
)
def test_errors_say_what_is_wrong(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in call(*words, fails=True)
    assert not list(tmp_path.iterdir())


def test_an_error_is_one_line_and_status_two(tmp_path):
    program = Path(sys.executable).parent / "luce"
    result = subprocess.run([program, "inspect", tmp_path / "[x].txt"], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == f"Error: There is no file {tmp_path / '[x].txt'}.\n"
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.strip() == luce.__version__


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["inspct", "a.txt"], "No such command 'inspct'. Did you mean 'inspect'? See luce --help."),
        (["train"], "Missing argument 'DATA'. See luce train --help."),
        (["compare", "a.txt", "--folds", "1"], "Invalid value for '--folds': "),
    ],
)
def test_words_that_are_no_command_or_value_are_one_line_too(words, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["luce", *words])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # which main sets for good
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (2, "")
    assert told.err.startswith(f"Error: {message}") and told.err.count("\n") == 1


def test_columns_are_named_as_they_are_spelt_and_rank_wants_no_labels(tmp_path):
    head, rows = "id,2024,price,kind", ["a,1,2.5,x", "b,0,1,y", "a,0,1,x", "b,2,7,y"]
    (tmp_path / "judged.csv").write_text("\n".join([head, *rows, ""]))
    columns = ["--read", "query=id", "--read", "features=price"]
    call("train", tmp_path / "judged.csv", *columns, "--read", "label=2024", "-o", tmp_path / "m.luce")
    text = "\n".join([head.replace("2024,", ""), *(f"{row[:2]}{row[4:]}" for row in rows), ""])
    (tmp_path / "new.csv").write_text(text)
    ranked = call("rank", tmp_path / "m.luce", tmp_path / "new.csv", "--read", "query=id", "--top", "1")
    assert [line.split(",")[-1] for line in ranked.splitlines()[1:]] == ["1", "4"]
    assert "--read label=NAME" in call("evaluate", tmp_path / "m.luce", tmp_path / "new.csv", *columns, fails=True)


def test_what_cannot_be_written_is_told_before_the_work_and_data_stay(folder, tmp_path):
    data = folder / "test.txt"
    before = data.read_bytes()
    model = folder / "model.luce"
    for words in (
        ["train", data, "-o"],
        ["train", folder / "train.txt", "--validation", data, "-o"],
        ["rank", model, data, "--format", "csv", "-o"],
        ["evaluate", model, data, "--report"],
        ["explain", model, data, "--csv"],
        ["exposure", model, data, "--csv"],
        ["tradeoff", data, "--steps", 2, "--set", "epochs=1", "--csv"],
        ["aggregate", data, "--csv"],
        ["convert", data],
    ):
        assert "would overwrite the data" in call(*words, data, fails=True)
        assert "there is no directory" in call(*words, tmp_path / "none" / "x", fails=True)
    assert data.read_bytes() == before and not list(tmp_path.iterdir())


def test_a_folder_that_is_not_ours_is_told(folder, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    assert "cannot be created: File exists" in call("demo", "--directory", tmp_path / "file", fails=True)
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)
    for words in (["train", folder / "train.txt"], ["convert", folder / "train.txt"]):
        word = ["-o"] if words[0] == "train" else []
        assert f"no permission to write to {tmp_path}" in call(*words, *word, tmp_path / "a.txt", fails=True)

    def full(*_, **__):
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr("luce.cli.app", full)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, capsys.readouterr().err) == (2, "Error: No space left on device: somewhere.\n")


def test_json_has_no_nan(capsys):
    show_json({"a": float("nan"), "b": np.array([1.5, np.nan]), "c": (1, {"d": None})})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [1.5, None], "c": [1, {"d": None}]}


def test_progress_shows_only_when_it_takes_long(capsys, monkeypatch):
    with progress("Quick") as report:
        report(0.5, "half")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("luce.cli.output.PROGRESS_DELAY", -1.0)
    with progress("Slow") as report:
        report(0.5, "half")
    assert "Slow: 50% half" in capsys.readouterr().err


def test_read_options_of_the_user_come_first(tmp_path):
    (tmp_path / "a.csv").write_text("query,label,clicks,x\nq,0,3,1\nq,1,4,2\n")
    data = read_data(tmp_path / "a.csv", ["label=clicks", "features=x"], judged=False)
    assert data.labels.tolist() == [3, 4] and data.n_features == 1


def test_warm_scores_once_with_each_model(folder, tmp_path):
    call("train", folder / "train.txt", "-o", tmp_path / "model.luce", "--threads", 1)
    table = call("warm", tmp_path / "model.luce", tmp_path / "model.luce")
    assert table.count("model.luce") == 2
    assert [each["scored"] for each in json.loads(call("warm", "--json"))["compiled"]] == [
        "trees", "linear", "transforms"
    ]  # fmt: skip
    assert "There is no model file" in call("warm", tmp_path / "none.luce", fails=True)
