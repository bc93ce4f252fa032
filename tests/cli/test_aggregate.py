"""`luce aggregate`: the table, the page, and the prior that it takes when it must."""

import csv
import json
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from luce.aggregation import PlackettLuce, PseudoRankings, Rankings
from luce.cli import app
from luce.cli.aggregate import _fit
from luce.errors import DataError, LuceWarning


def call(*words):
    result = CliRunner().invoke(app, ["aggregate", *map(str, words)])
    assert result.exit_code == 0, f"{result.output} {result.exception!r}"
    return result


@pytest.fixture
def votes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    orders = [["tea", "rum", "gin"], ["rum", "tea", "gin"], ["gin", "tea", "rum"], ["tea", "gin", "rum"]]
    (tmp_path / "votes.csv").write_text("a,b,c\n" + "".join(",".join(order) + "\n" for order in orders))
    return orders


def test_table_csv_and_page(votes, tmp_path):
    text = call("votes.csv", "--format", "orders", "--csv", "worths.csv").output
    model = PlackettLuce().fit(Rankings.from_orderings(votes))
    with open("worths.csv") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["item"] == "tea"
    for row in rows:
        at = model.names_.index(row["item"])
        assert float(row["log_worth"]) == pytest.approx(model.log_worths_[at], abs=1e-6)
        assert float(row["standard_error"]) == pytest.approx(model.standard_errors()[at], rel=1e-5)
        assert f"{model.log_worths_[at]:.4f}" in text
    page = (tmp_path / "aggregation.html").read_text()
    assert page.startswith("<!") and page.count("<svg") == 2
    assert "tea has the highest estimated worth of 3 items in 4 rankings" in page
    assert "prior none" in text


def test_a_prior_where_it_must_be(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = [("a", "b"), ("b", "a"), ("a", "c"), ("b", "c")]
    (tmp_path / "pairs.csv").write_text("winner,loser\n" + "".join(f"{winner},{loser}\n" for winner, loser in pairs))
    found = call("pairs.csv")
    assert "Never win: c" in found.output
    assert "0.5 wins and losses against a hypothetical item" in found.output
    facts = json.loads(CliRunner().invoke(app, ["aggregate", "pairs.csv", "--json"]).stdout)
    expected = PlackettLuce(prior=PseudoRankings(0.5)).fit(Rankings.from_pairs(*zip(*pairs, strict=True)))
    assert facts["items"][-1]["item"] == "c"
    assert facts["items"][-1]["log_worth"] == pytest.approx(expected.log_worths_[expected.names_.index("c")], abs=1e-6)
    with pytest.warns(LuceWarning, match="cannot be estimated"):
        bare = json.loads(CliRunner().invoke(app, ["aggregate", "pairs.csv", "--prior", "none", "--json"]).stdout)
    assert bare["items"][-1]["log_worth"] is None and bare["items"][-1]["note"]
    result = CliRunner().invoke(app, ["aggregate", "pairs.csv", "--prior", "half"])
    assert "must be auto, none or a number" in str(result.exception)


def test_names_to_show(votes, tmp_path):
    (tmp_path / "names.csv").write_text("item,name\ntea,Earl Grey\ngin,London Dry\n")
    text = call("votes.csv", "--format", "orders", "--names", "names.csv").output
    assert "Earl Grey" in text and "London Dry" in text and "rum" in text


@pytest.mark.filterwarnings("ignore:All items are tied")
def test_a_tie_links_items_where_ties_are_modelled():
    rankings = Rankings.from_pairs(["a", "a"], ["b", "b"], [1, 0.5])
    assert _fit(rankings, "davidson", "auto", 1)[1] == "none"
    assert _fit(rankings, "exact", "auto", 1)[1] == "0.5 pseudo-wins"


def test_the_given_number_of_pseudo_wins_is_used():
    rankings = Rankings.from_pairs(["a", "a"], ["b", "c"])
    model, prior = _fit(rankings, "exact", "2", 1)
    assert prior == "2 pseudo-wins"
    assert model.log_worths_ == pytest.approx(PlackettLuce(prior=PseudoRankings(2)).fit(rankings).log_worths_, abs=1e-6)


def test_a_model_of_ties_that_there_is_not(votes):
    result = CliRunner().invoke(app, ["aggregate", "votes.csv", "--format", "orders", "--ties", "davdson"])
    said = str(result.exception)
    assert "Did you mean 'davidson'? Known: auto, davidson, exact, half-wins, none, rao-kupper." in said


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"item,name\ntea\n", "names.csv cannot be read as CSV: .*Expected 2 columns, got 1"),
        (b"item,name\ntea,\xff\n", "names.csv, line 2: the file must be UTF-8"),
        (b"", "names.csv cannot be read as CSV: .*[Ee]mpty"),
        (b"item,name\ntea,same\nrum,same\n", "same"),
    ],
)
def test_names_that_cannot_be_read_are_an_error_of_ours(votes, content, words):
    Path("names.csv").write_bytes(content)
    result = CliRunner().invoke(app, ["aggregate", "votes.csv", "--format", "orders", "--names", "names.csv"])
    assert isinstance(result.exception, DataError)
    assert re.search(words, str(result.exception))


def test_an_item_without_a_name_keeps_its_own(votes):
    Path("names.csv").write_text("item,name\ntea,\n")
    assert "tea" in call("votes.csv", "--format", "orders", "--names", "names.csv").output


def test_without_the_packages_of_pages_the_table_is_printed(votes, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = call("votes.csv", "--format", "orders")
    assert "tea" in result.stdout
    assert "The report was not written." in result.stderr and "pip install 'luce[report]'" in result.stderr
    assert not (tmp_path / "aggregation.html").exists()


def test_the_page_holds_the_command_as_it_can_be_typed(votes, tmp_path, monkeypatch):
    (tmp_path / "votes.csv").rename("my votes.csv")
    monkeypatch.setattr(sys, "argv", ["luce", "aggregate", "my votes.csv", "--format", "orders"])
    call("my votes.csv", "--format", "orders")
    text = re.sub("</?span>", "", (tmp_path / "aggregation.html").read_text())
    assert "luce aggregate &#39;my votes.csv&#39; --format orders" in text


@pytest.mark.filterwarnings("ignore:All items are tied")
def test_the_page_counts_ties_as_links_where_the_model_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["tea,rum,left", "rum,gin,left", "gin,tea,left", "ale,tea,left", "ale,rum,tie"]  # ale never loses
    (tmp_path / "pairs.csv").write_text("\n".join(["left,right,winner", *rows, ""]))
    for ties, said in (("davidson", "prior none"), ("exact", "0.5 pseudo-wins")):
        assert said in call("pairs.csv", "--ties", ties).output
        assert ("Not connected" in (tmp_path / "aggregation.html").read_text()) == (ties == "exact")
