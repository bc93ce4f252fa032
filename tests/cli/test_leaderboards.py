"""`luce aggregate` for leaderboards: ratings, categories, several files, kinds of standard errors."""

import csv
import json
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import luce
from luce.aggregation import PlackettLuce, read_rankings
from luce.cli import app
from luce.errors import DataError, OptionError

NAMES = "heron", "tern", "plover", "knot"


def call(*words):
    result = CliRunner().invoke(app, ["aggregate", *map(str, words)])
    assert result.exit_code == 0, f"{result.output} {result.exception!r}"
    return result


def facts_of(*words):
    return json.loads(call(*words, "--json").stdout)


def table_rows(path):
    with open(path) as file:
        return list(csv.DictReader(file))


@pytest.fixture
def battles(tmp_path, monkeypatch):
    """Battles with ties, in two languages, by five judges; in Danish knot is best. Rows 2 and 3 have no language."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = ["model_a,model_b,winner,language,judge"]
    for n in range(300):
        a, b = rng.choice(4, 2, replace=False)
        language = "" if n in (0, 1) else "danish" if n % 3 == 0 else "english"
        better = (a > b) if language == "danish" else (a < b)
        shown = rng.random() < 0.75
        winner = "tie" if rng.random() < 0.2 else "model_a" if better == shown else "model_b"
        lines.append(f"{NAMES[a]},{NAMES[b]},{winner},{language},{n % 5}")
    (tmp_path / "battles.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "battles.csv"


def test_what_the_numbers_rest_on(battles):
    facts = facts_of("battles.csv")
    model = PlackettLuce(prior="auto", n_jobs=1).fit(read_rankings(battles))
    assert (facts["ties"], facts["prior"], facts["errors"], facts["unused"]) == ("davidson", None, "observed", {})
    assert facts["n_rankings"] == 300 and sum(row["n_rankings"] for row in facts["items"]) == 600
    assert facts["tie_parameters"] == pytest.approx(model.tie_parameters_, rel=1e-5)
    text = call("battles.csv").stdout
    ties = facts["notes"]["Ties"]
    assert f"Ties: {ties}\n" in text
    assert ties.startswith("davidson: ") and ties.endswith(", chosen as all rankings compare two items")


def test_goodness_of_fit(battles):
    facts = facts_of("battles.csv")["goodness_of_fit"]
    found = PlackettLuce(n_jobs=1).fit(read_rankings(battles)).goodness_of_fit()
    assert facts["pairs_p_value"] == pytest.approx(found.pairs_p_value)
    assert facts["describes_data"] == found.describes_data
    assert str(found) in call("battles.csv").stdout
    assert str(found).splitlines()[0] in unescape(Path("aggregation.html").read_text())


def test_ratings_with_an_anchor(battles):
    rows = facts_of("battles.csv", "--elo", "--anchor", "knot=1000", "--csv", "ratings.csv")["items"]
    model = PlackettLuce(n_jobs=1).fit(read_rankings(battles))
    expected = model.to_elo(("knot", 1000)).to_pylist()
    for found in (rows, table_rows("ratings.csv")):
        assert [row["item"] for row in found] == [row["item"] for row in expected]
        for key in ("rating", "lower", "upper"):
            given = [float(row[key if key == "rating" else f"rating_{key}"]) for row in found]
            assert given == pytest.approx([row[key] for row in expected], abs=1e-3)
    Path("names.csv").write_text("id,label\nknot,Red knot\n")
    for item in ("knot", "Red knot"):
        facts = facts_of("battles.csv", "--elo", "--anchor", f"{item}=1000", "--names", "names.csv", "--by", "language")
        assert {row["item"]: row["rating"] for row in facts["items"]}["Red knot"] == 1000
        assert "Red knot" in [row["item"] for row in facts["categories"]["danish"]["items"]]
    narrow = [
        row["rating"] for row in facts_of("battles.csv", "--elo", "--anchor", "knot=1000", "--scale", "200")["items"]
    ]
    assert np.subtract(narrow, 1000) == pytest.approx(np.subtract([row["rating"] for row in rows], 1000) / 2, abs=1e-9)
    assert "Ratings: 200 points are odds of ten to one" in Path("aggregation.html").read_text()
    mean = [row["rating"] for row in facts_of("battles.csv", "--elo")["items"]]
    assert np.mean(mean) == pytest.approx(1500)
    assert "rating" not in facts_of("battles.csv")["items"][0]


def test_errors_by_ranker(battles):
    model = PlackettLuce(n_jobs=1).fit(read_rankings(battles, ranker="judge"))
    for asked, kind in ("auto", model.error_kind_), ("sandwich", "sandwich"), ("expected", "expected"):
        facts = facts_of("battles.csv", "--read", "ranker=judge", "--errors", asked)
        assert facts["errors"] == kind
        at = model.names_.index(facts["items"][0]["item"])
        assert facts["items"][0]["standard_error"] == pytest.approx(model.standard_errors(kind)[at], rel=1e-5)
    text = call("battles.csv", "--read", "ranker=judge", "--errors", "sandwich").stdout
    assert "Standard errors: sandwich, clustered by ranker, Student's t with 4 degrees of freedom" in text


def test_a_leaderboard_for_each_category(battles):
    result = call("battles.csv", "--by", "language", "--csv", "all.csv", "--json")
    assert "2 rows have no language; they are in no category." in result.stderr
    facts = json.loads(result.stdout)
    assert list(facts["categories"]) == ["english", "danish"]
    assert facts["n_rankings"] == 300
    assert [each["n_rankings"] for each in facts["categories"].values()] == [200 - 1, 100 - 1]
    lines = battles.read_text().splitlines()
    Path("danish.csv").write_text("\n".join([lines[0], *(line for line in lines if "danish" in line)]) + "\n")
    alone = facts_of("danish.csv")
    assert alone["items"][0]["item"] == "knot"
    assert [row["item"] for row in facts["categories"]["danish"]["items"]] == [row["item"] for row in alone["items"]]
    for found, row in zip(facts["categories"]["danish"]["items"], alone["items"], strict=True):
        assert found["log_worth"] == pytest.approx(row["log_worth"], abs=1e-6)
    counts = [row["category"] for row in table_rows("all.csv")]
    assert counts == [""] * 4 + ["english"] * 4 + ["danish"] * 4
    call("battles.csv", "--by", "language")
    page = Path("aggregation.html").read_text()
    assert 'id="categories"' in page and "<bdi>danish</bdi>" in page
    call("battles.csv")
    assert 'id="categories"' not in Path("aggregation.html").read_text()


def test_ratings_of_categories_have_the_same_anchor(battles):
    lines = battles.read_text().splitlines()
    own = [line for line in lines if "english" not in line or "knot" not in line]  # no English battle has the anchor
    battles.write_text("\n".join(own) + "\n")
    result = call("battles.csv", "--elo", "--anchor", "knot=1000", "--by", "language", "--csv", "all.csv")
    rows = table_rows("all.csv")
    ratings = {(row["category"], row["item"]): row["rating"] for row in rows}
    assert float(ratings["danish", "knot"]) == float(ratings["", "knot"]) == 1000
    assert ratings["danish", "heron"] != ratings["", "heron"] and ratings["english", "heron"] == ""
    assert "Category 'english' has no ratings: 'knot', the anchor, has no worth in it." in result.stderr
    assert "danish" in result.stdout and "english" in result.stdout


def test_an_error_with_categories_names_the_file(battles):
    battles.write_text(battles.read_text() + "heron,tern,nobody,danish,1\n")
    result = CliRunner().invoke(app, ["aggregate", "battles.csv", "--by", "language"])
    assert isinstance(result.exception, DataError) and str(result.exception).startswith("battles.csv: ")


def test_a_model_is_saved(battles):
    facts = facts_of("battles.csv", "--read", "ranker=judge", "--save", "birds.luce")
    rows = luce.load("birds.luce").summary().to_pylist()
    assert [row["log_worth"] for row in rows] == pytest.approx([row["log_worth"] for row in facts["items"]])
    again = ["battles.csv", "--save", "birds.luce"]
    result = CliRunner().invoke(app, ["aggregate", *again])
    assert isinstance(result.exception, OptionError) and "--overwrite" in str(result.exception)
    assert "Model: birds.luce (replaced)" in call(*again, "--overwrite").stderr


def test_rankers_are_kept_in_categories(battles):
    facts = facts_of("battles.csv", "--by", "language", "--read", "ranker=judge", "--errors", "sandwich")
    model = PlackettLuce(n_jobs=1).fit(read_rankings(battles, ranker="judge"))
    at = model.names_.index(facts["items"][0]["item"])
    assert facts["items"][0]["standard_error"] == pytest.approx(model.standard_errors("sandwich")[at], rel=1e-5)
    result = call("battles.csv", "--by", "judge", "--read", "ranker=judge", "--json")
    assert sorted(json.loads(result.stdout)["categories"]) == list("01234")
    assert "Category '0': Standard errors by ranker need 3 rankers or more" in result.stderr


def test_a_category_of_orders_is_no_item(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    orders = ["tea,rum,gin,a", "rum,tea,gin,a", "gin,rum,tea,b", "tea,gin,rum,b", "rum,gin,tea,b"]
    (tmp_path / "orders.csv").write_text("\n".join(["rank1,rank2,rank3,town", *orders]) + "\n")
    facts = facts_of("orders.csv", "--by", "town")
    assert sorted(row["item"] for row in facts["items"]) == ["gin", "rum", "tea"]
    assert list(facts["categories"]) == ["b", "a"]


def test_an_error_in_a_category_names_it(battles):
    lines = battles.read_text().splitlines()
    battles.write_text("\n".join([*lines, "heron,tern,model_a,welsh,1"]) + "\n")
    result = CliRunner().invoke(app, ["aggregate", "battles.csv", "--by", "language", "--prior", "none"])
    assert isinstance(result.exception, DataError)
    assert str(result.exception).startswith("Category 'welsh': ")
    assert not Path("aggregation.html").exists()


def test_a_ranking_of_two_categories_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["1,tea,1,a", "1,rum,2,a", "2,rum,1,a", "2,tea,2,b"]
    (tmp_path / "long.csv").write_text("\n".join(["ranking,item,place,town", *rows]) + "\n")
    result = CliRunner().invoke(app, ["aggregate", "long.csv", "--by", "town"])
    assert isinstance(result.exception, DataError)
    assert str(result.exception) == "long.csv: ranking 2 has more than one value of 'town', its category."


def test_several_files(battles):
    lines = battles.read_text().splitlines()
    for name, part in (("first.csv", lines[1:101]), ("second.csv", lines[101:])):
        Path(name).write_text("\n".join([lines[0], *part]) + "\n")
    whole, parts = (facts_of(*files) for files in (["battles.csv"], ["first.csv", "second.csv"]))
    for row, other in zip(whole["items"], parts["items"], strict=True):
        assert row["log_worth"] == pytest.approx(other["log_worth"], abs=1e-6)
    assert list(facts_of("first.csv", "second.csv", "--by", "language")["categories"]) == ["english", "danish"]


def test_items_are_numbers_in_one_file_and_text_in_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, items in (("numbers.csv", "12"), ("texts.csv", "1b")):
        rows = [f"{a},{b},{name}" for a, b in (items, items[::-1])] * 4
        Path(name).write_text("\n".join(["winner,loser,source", *rows, ""]))
    facts = facts_of("numbers.csv", "texts.csv", "--by", "source")
    assert {row["item"] for row in facts["items"]} == {"1", "2", "b"}
    assert {row["item"] for row in facts["categories"]["numbers.csv"]["items"]} == {"1", "2"}


@pytest.mark.filterwarnings("ignore:Rankings of fewer than two items")
def test_what_was_left_out_is_counted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").write_text("rank1,rank2\ntea,rum\nrum,tea\ntea,rum\ngin,tea\ntea,gin\ngin,\nrum,\n")
    result = call("votes.csv")
    assert "Not used: 2 (rankings of fewer than two items)" in result.stdout
    assert facts_of("votes.csv")["unused"] == {"rankings of fewer than two items": 2}
    assert "2 (rankings of fewer than two items)" in Path("aggregation.html").read_text()
