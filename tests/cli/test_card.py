"""`luce card`: what the page and its JSON say is what the model file and the data say."""

import hashlib
import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import luce
from luce.cli import app
from luce.data.fingerprint import fingerprint
from luce.data.synthetic import tagged_documents
from luce.report.caveats import metric_caveats

OTHER_LABELS = "Labels of test.csv that were not in the training data: 4."


def call(*words, fails=False):
    result = CliRunner().invoke(app, ["card", *map(str, words)])
    assert (result.exit_code != 0) == fails, f"{result.output} {result.exception!r}"
    return str(result.exception) if fails else result.stdout


def table(n_lists: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n, good = 8 * n_lists, rng.normal(size=8 * n_lists)
    return pd.DataFrame(
        {
            "query": np.repeat(np.arange(n_lists), 8),
            "good": good,
            "color": rng.choice(["red", "blue"], n),
            "click_count": rng.integers(0, 9, n).astype(float),
            "same": 1.0,
            "label": np.clip(np.round(good + 1 + rng.normal(size=n) / 4), 0, 3),
        }
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("card")
    train, test = table(40, 0), table(20, 1)
    train.loc[3, "label"] = np.nan
    test.loc[0, "label"], test.loc[1, "click_count"] = 4, np.nan
    for name, frame in {"train": train, "test": test}.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    data, held_out = luce.read(folder / "train.csv"), luce.from_table(table(10, 2))
    trees = luce.TreeRanker(n_estimators=5, n_jobs=1)
    trees.fit(data, validation=held_out).save(folder / "trees.luce")
    linear = luce.LinearRanker(transforms=["fill", "list-zscore"], n_jobs=1).fit(data)
    linear.save(folder / "linear.luce")
    luce.EnsembleRanker([("a", linear), ("b", trees)], n_jobs=1).fit(data).save(folder / "ensemble.luce")
    luce.NeuralRanker(hidden_layer_sizes=(4,), epochs=1, n_jobs=1).fit(data).save(folder / "neural.luce")
    luce.write_tagged(tagged_documents(40), folder / "tagged.txt")
    luce.LabelRanker(epochs=1).fit(luce.read_tagged(folder / "tagged.txt")).save(folder / "labels.luce")
    return folder


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_what_the_model_was_trained_on(place, tmp_path):
    found = json.loads(call(place / "trees.luce", "--json"))
    data = luce.read(place / "train.csv")
    training = found["training"]
    observed = data.labels[~np.isnan(data.labels)]
    assert (training["lists"], training["rows"], training["features"]) == (40, 320, 4)
    assert training["labels"] == {f"{grade}": int((observed == grade).sum()) for grade in range(4)}
    assert training["rows_without_label"] == 1 and training["missing_values"] == 0
    assert training["list_lengths"] == {"least": 8, "median": 8.0, "most": 8}
    assert training["constant_feature_names"] == ["same"] and training["fingerprint"] == fingerprint(data)
    assert found["validation"]["lists"] == 10 and found["results"] is None
    content = (place / "trees.luce").read_bytes()
    assert found["about"]["SHA-256"] == hashlib.sha256(content).hexdigest()
    page = (tmp_path / "card.html").read_text("utf-8")
    assert "trained on 40 lists with 320 rows and 4 features" in page and page.count("<svg") == 1
    assert "1: same" in page and training["fingerprint"] in page and "A general text" in page


def test_metrics_with_intervals_and_what_the_data_say(place, tmp_path):
    (tmp_path / "use.txt").write_text("Ranks <b>offers</b>.\n\nNot for prices in dollars.", "utf-8")
    words = ["--data", place / "test.csv", "--metrics", "ndcg@5,arp", "--notes", "use.txt", "--seed", 3]
    found = json.loads(call(place / "trees.luce", *words, "--repeats", 2, "--json"))
    ranker = luce.load(place / "trees.luce")
    data = luce.read(place / "test.csv")
    expected = luce.evaluate(ranker.predict(data), data, "ndcg@5,arp", random_state=3, max_grade=4)
    assert found["results"] == expected.to_dict()
    assert list(found["importances"]) == ["ndcg@5", "gain"]
    lost = luce.permutation_importance(ranker, data, "ndcg@5", repeats=2, seed=3)
    assert [row["value"] for row in found["importances"]["ndcg@5"]] == lost.table()["value"].to_pylist()
    caveats = found["caveats"]
    assert (
        OTHER_LABELS in caveats and "click_count" in "".join(caveats) and "nothing was learned of same." in caveats[1]
    )
    assert "Feature values are missing in test.csv; none was in the training data." in caveats
    assert "1 row of the training data had no label and was left out." in caveats
    assert not any("equal scores" in each or "what the model was trained on" in each for each in caveats)
    page = (tmp_path / "card.html").read_text("utf-8")
    assert "Ranks &lt;b&gt;offers&lt;/b&gt;." in page and "A general text" not in page
    mean, (low, high) = expected.means["ndcg@5"], expected.intervals["ndcg@5"]
    assert f"{mean:.4f}" in page and f"{low:.4f} to {high:.4f}" in page
    assert "\u2068" not in page and "\u2068" not in "".join(caveats)


def test_data_of_the_training_and_rankings_that_are_no_better_than_chance(place):
    found = json.loads(call(place / "linear.luce", "--data", place / "train.csv", "--repeats", 0, "--json"))
    assert (
        "train.csv is what the model was trained on: new lists will be ranked less well than these."
        in (found["caveats"])
    )
    assert any("normalizes features within lists" in each for each in found["caveats"])
    frame = table(20, 5)
    frame["good"] = -frame["good"]
    frame.to_csv("reversed.csv", index=False)
    caveats = json.loads(call(place / "linear.luce", "--data", "reversed.csv", "--repeats", 0, "--json"))["caveats"]
    assert any(each.startswith("By ndcg@10, the ranking cannot be told from that of equal scores") for each in caveats)


@pytest.mark.parametrize(
    ("name", "interval", "told"),
    [
        ("ndcg@10", (0.4, 0.6), False),
        ("ndcg@10", (0.51, 0.6), True),
        ("arp", (0.4, 0.6), False),
        ("arp", (0.4, 0.49), True),
    ],
)
def test_an_interval_that_has_the_metric_of_equal_scores(name, interval, told):
    found = metric_caveats(SimpleNamespace(intervals={name: interval}), SimpleNamespace(means={name: 0.5}))
    assert (list(found) == []) is told


@pytest.mark.parametrize("kind", ["linear", "ensemble", "neural"])
def test_every_kind_has_a_card(place, tmp_path, kind):
    call(place / f"{kind}.luce", "--data", place / "test.csv", "-o", "page.html", "--repeats", 1)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.count("<svg") == (2 if kind == "linear" else 1)
    headings = re.findall("<h2>(.*)</h2>", page)
    assert headings == [
        *("Intended use", "Model", "Training data", "Metrics", "Features by importance", "Caveats", "Score with it"),
        "Reproduce",
    ]


def test_a_label_ranker(place, tmp_path):
    found = json.loads(call(place / "labels.luce", "--data", place / "tagged.txt", "--json"))
    assert found["training"]["n_labels"] > 1 and found["results"]["metrics"].keys() >= {"precision@1", "psp@5"}
    assert "scores every label" in (tmp_path / "card.html").read_text("utf-8")


def test_a_model_file_that_does_not_say_what_it_was_trained_on(place, tmp_path):
    ranker = luce.load(place / "trees.luce")
    ranker.provenance_ = None
    ranker.save("old.luce")
    found = json.loads(call("old.luce", "--json"))
    assert found["training"] is None and "does not say what the model was trained on" in found["caveats"][0]
    assert "does not say" in (tmp_path / "card.html").read_text("utf-8")


def test_notes_that_are_no_text(place, tmp_path):
    (tmp_path / "use.txt").write_bytes(b"\xff\xfe\x00")
    assert "use.txt must be text in UTF-8" in call(place / "trees.luce", "--notes", "use.txt", fails=True)
    (tmp_path / "use.txt").write_text("a" * 100_001)
    assert "at most 100,000 characters" in call(place / "trees.luce", "--notes", "use.txt", fails=True)
    assert "must" not in call(place / "trees.luce") and "No such" in call(
        place / "trees.luce", "--notes", "none.txt", fails=True
    )


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("width", [1280, 390])
def test_no_sideways_scrolling_in_a_browser(place, tmp_path, browser, width):
    call(place / "trees.luce", "--data", place / "test.csv", "--repeats", 1)
    page, failures = browser.new_page(viewport={"width": width, "height": 800}), []
    page.on("console", lambda message: failures.append(message.text))
    page.goto((tmp_path / "card.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    for link in page.locator("nav a").all():
        assert page.locator(link.get_attribute("href")).count() == 1
    assert failures == []
    page.close()
