"""`luce aggregate`: the table, the page, names, and what is said of the ties, the prior and the errors."""

import csv
import json
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from luce.aggregation import PlackettLuce, PseudoRankings, Rankings
from luce.cli import app
from luce.errors import DataError, LuceError, LuceWarning


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
    assert "</bdi> has the highest estimated worth of 3 items, but is not significantly above any other" in page
    assert "From 4 rankings." in page
    assert "Ties: no ranking has any\nPrior: none\nStandard errors: observed information, rankings taken as " in text
    assert "independent: no rankers are given (--read ranker=COLUMN)\nNot used: nothing\n" in text


@pytest.fixture
def never_wins(tmp_path, monkeypatch):
    """Comparisons in which c never wins."""
    monkeypatch.chdir(tmp_path)
    pairs = [("a", "b"), ("b", "a"), ("a", "c"), ("b", "c")]
    (tmp_path / "pairs.csv").write_text("winner,loser\n" + "".join(f"{winner},{loser}\n" for winner, loser in pairs))
    return Rankings.from_pairs(*zip(*pairs, strict=True))


def facts_of(*words):
    return json.loads(call(*words, "--json").stdout)


def test_a_prior_where_the_data_need_one(never_wins):
    text = call("pairs.csv").stdout
    assert re.search(r"Prior: normal, standard deviation [0-9.]+, estimated: without a prior the rankings do not", text)
    facts = facts_of("pairs.csv")
    model = PlackettLuce(prior="auto", n_jobs=1).fit(never_wins)
    assert facts["prior"] == {"type": "NormalPrior", "mean": 0.0, "sd": pytest.approx(model.prior_.sd)}
    last = facts["items"][-1]
    assert last["item"] == "c" and last["log_worth"] == pytest.approx(model.log_worths_[2], abs=1e-6)


def test_no_prior(never_wins):
    with pytest.warns(LuceWarning, match="cannot be estimated"):
        bare = json.loads(CliRunner().invoke(app, ["aggregate", "pairs.csv", "--prior", "none", "--json"]).stdout)
    assert bare["prior"] is None
    assert bare["items"][-1]["log_worth"] is None and bare["items"][-1]["note"]


def test_the_given_number_of_pseudo_wins(never_wins):
    facts = facts_of("pairs.csv", "--prior", "2")
    assert facts["prior"] == {"type": "PseudoRankings", "npseudo": 2}
    expected = PlackettLuce(prior=PseudoRankings(2), n_jobs=1).fit(never_wins)
    found = {row["item"]: row["log_worth"] for row in facts["items"]}
    assert [found[name] for name in "abc"] == pytest.approx(expected.log_worths_, abs=1e-6)
    text = call("pairs.csv", "--prior", "2").stdout
    assert "Prior: 2 wins and 2 losses of each item against a hypothetical one" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--prior", "half"], "--prior must be auto, none, normal or a number of wins above 0, such as 0.5."),
        (["--prior", "-1"], "--prior must be auto, none, normal or a number of wins above 0"),
        (["--ties", "davdson"], "Did you mean 'davidson'? Known: auto, davidson, exact, half-wins, none, rao-kupper."),
        (["--errors", "robust"], "There is no kind of standard errors 'robust'"),
        (["--anchor", "1000"], "Add --elo, or leave out --anchor"),
        (["--scale", "400"], "Add --elo, or leave out --scale"),
        (["--elo", "--scale", "0"], "--scale must be above 0"),
        (["--elo", "--anchor", "tee=1000"], "There is no item 'tee' for --anchor. Did you mean 'tea'?"),
        (["--elo", "--anchor", "tea"], "--anchor must be RATING or ITEM=RATING"),
        (["--read", "unlistd=below"], "Did you mean 'unlisted'"),
        (["--read", "unlisted=above"], "unlisted must be 'absent' or 'below'. Got 'above'"),
        (["--by", "langage"], "There is no column in votes.csv 'langage'"),
        (["--csv", "votes.csv"], "votes.csv would overwrite the data"),
    ],
)
def test_a_mistake_is_an_error_of_ours_and_nothing_is_written(votes, tmp_path, words, said):
    result = CliRunner().invoke(app, ["aggregate", "votes.csv", "--format", "orders", *words])
    assert isinstance(result.exception, LuceError), result.output
    assert said in str(result.exception)
    assert [file.name for file in tmp_path.iterdir()] == ["votes.csv"]


def test_categories_of_a_file_without_columns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("votes.soc").write_text("# NUMBER ALTERNATIVES: 2\n1: 1,2\n")
    result = CliRunner().invoke(app, ["aggregate", "votes.soc", "--by", "season"])
    assert isinstance(result.exception, LuceError)
    assert "--by needs tables (CSV, Parquet, Arrow), which have columns. Got votes.soc." in str(result.exception)


def test_names_to_show(votes, tmp_path):
    (tmp_path / "names.csv").write_text("item,name\ntea,Earl Grey\ngin,London Dry\n")
    text = call("votes.csv", "--format", "orders", "--names", "names.csv").output
    assert "Earl Grey" in text and "London Dry" in text and "rum" in text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"item,name\ntea\n", "names.csv cannot be read as CSV: .*Expected 2 columns, got 1"),
        (b"item,name\ntea,\xff\n", "names.csv, line 2: the file must be UTF-8"),
        (b"", "names.csv cannot be read as CSV: .*[Ee]mpty"),
        (b"item,name\ntea,same\nrum,same\n", "'tea' and 'rum' would both be 'same'"),
        (b"item,name\ntea,Tea\ntea,Chai\n", "names.csv names item 'tea' twice, again in row 3"),
        (b"item\ntea\n", "names.csv must have two columns, item and name. Got 1"),
        (b"item,name\ncoffee,Coffee\n", "No item of the rankings is in names.csv"),
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
    for ties, said in (("davidson", "Prior: none"), ("exact", "Prior: normal")):
        assert said in call("pairs.csv", "--ties", ties).output
        assert ("Not connected" in (tmp_path / "aggregation.html").read_text()) == (ties == "exact")


def test_names_by_the_headers_of_their_columns(votes, tmp_path):
    (tmp_path / "names.csv").write_text("rank,Name,country,ID\n1,Earl Grey,UK,tea\n2,London Dry,UK,gin\n")
    text = call("votes.csv", "--format", "orders", "--names", "names.csv").output
    assert "Earl Grey" in text and "London Dry" in text and "rum" in text


def test_the_title(votes, tmp_path):
    text = call("votes.csv", "--format", "orders", "--title", "Drinks of 2024").stdout
    assert text.startswith("Drinks of 2024: 4 rankings of 3 items ")
    assert "<h1>Drinks of 2024</h1>" in (tmp_path / "aggregation.html").read_text()


def test_a_long_table_is_printed_in_part(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"item{i}" for i in range(105)]
    (tmp_path / "votes.csv").write_text("\n".join([",".join(names), *[",".join(map(str, range(1, 106)))] * 2]) + "\n")
    text = call("votes.csv", "--format", "ranks", "--csv", "all.csv").stdout
    assert "… 5 more: --csv writes all items." in text and "item0 " in text and "item104 " not in text
    with open("all.csv") as file:
        assert len(list(csv.DictReader(file))) == 105
