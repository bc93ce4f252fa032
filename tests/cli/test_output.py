"""What the commands print and write: names from files neither command a terminal nor run in a spreadsheet."""

import csv
import io
import json
import sys

import pyarrow as pa
import pytest
from rich.text import Text
from typer.testing import CliRunner

import luce
from luce.cli import app
from luce.cli.output import csv_to, progress, say, show, show_json, show_table, write_csv
from luce.errors import DataError

NAME = "\x1b[31mred\x07 \x9b1m \u202e \u2066 \u2069 \x7f [bold]x[/y]"
SHOWN = "\\u001b[31mred\\u0007 \\u009b1m \\u202e \\u2066 \\u2069 \\u007f [bold]x[/y]"


def test_control_characters_are_shown_and_brackets_are_no_markup(capsys, monkeypatch):
    monkeypatch.setattr("luce.cli.output.PROGRESS_DELAY", -1.0)
    say(NAME)
    say(NAME, NAME)
    with progress(NAME) as report:
        report(0.5, NAME)
    told = capsys.readouterr().err
    assert told == f"{SHOWN}\n{SHOWN}: {SHOWN}\n{SHOWN}: 50% {SHOWN}\n"
    show(NAME)
    show_table(NAME, ["name", NAME], [[NAME, Text("styled", "red")]])
    assert capsys.readouterr().out.count(SHOWN) == 4


def test_names_in_json_come_back(capsys):
    show_json({NAME: NAME})
    text = capsys.readouterr().out
    assert text.isascii() and text.replace("\n", "").isprintable()
    assert json.loads(text) == {NAME: NAME}


@pytest.fixture
def model(tmp_path):
    """A folder with a model and lists whose names are hostile."""
    (tmp_path / "lists.csv").write_text("query,document,label,x\nq\x1b[2J,=1+1,1,2\nq\x1b[2J,b c,0,1\n")
    luce.LinearRanker(n_jobs=1).fit(luce.read(tmp_path / "lists.csv")).save(tmp_path / "m.luce")
    return ["rank", str(tmp_path / "m.luce"), str(tmp_path / "lists.csv")]


def test_rank_shows_names_to_a_terminal_and_gives_them_to_a_program(model, monkeypatch):
    assert "q\x1b[2J" in CliRunner().invoke(app, model).stdout
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", terminal)
    app(model, standalone_mode=False)
    assert "q\\u001b[2J" in terminal.getvalue() and "\x1b" not in terminal.getvalue()


def test_a_run_with_ids_that_its_reader_would_refuse_is_not_written(model, tmp_path):
    result = CliRunner().invoke(app, [*model, "-o", str(tmp_path / "a.run")])
    assert isinstance(result.exception, DataError) and "document id 'b c'" in str(result.exception)
    assert not (tmp_path / "a.run").exists()


def test_formulas_in_csv_are_text_and_numbers_stay(tmp_path):
    names = ["=1+1", "+a", "-b", "@c", "\td", "\re", "'f", "g=", "-1", "+1.5e-3", "-", None, "-1 a", "-2\n=x"]
    safe = ["'=1+1", "'+a", "-b", "'@c", "'\td", "'\re", "'f", "g=", "-1", "+1.5e-3", "-", "", "'-1 a", "'-2\n=x"]
    table = pa.table({"name": names, "large": pa.array(names, pa.large_string()), "number": [-1.5] * len(names)})
    written = io.BytesIO()
    csv_to(table, written)
    rows = list(csv.reader(io.StringIO(written.getvalue().decode(), newline="")))
    assert rows == [["name", "large", "number"], *([name, name, "-1.5"] for name in safe)]
    write_csv(table, tmp_path / "a.csv")
    write_csv(table.to_pylist(), tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes() == written.getvalue()
