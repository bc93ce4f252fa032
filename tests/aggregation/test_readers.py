"""Rankings in files: each form comes out as the rankings it stands for, and what is unclear is asked for."""

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from luce.aggregation import read_rankings
from luce.errors import DataError, LuceError

from .ranking_data import orders


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        (
            "ranking,item,place\n1,a,1\n1,b,2\n2,b,1\n2,a,1\n2,c,3\n",
            {},
            [[["a"], ["b"]], [["a", "b"], ["c"]]],
        ),
        ("winner,loser\na,b\nc,a\n", {}, [[["a"], ["b"]], [["c"], ["a"]]]),
        (
            "x,y,who\na,b,tie\nb,c,right\na,c,left\n",
            {"format": "pairs", "left": "x", "right": "y", "outcome": "who"},
            [[["a", "b"]], [["c"], ["b"]], [["a"], ["c"]]],
        ),
        ("ranking,item,rank\n1,a,2\n1,b,1\n", {}, [[["b"], ["a"]]]),
        ("race,who,rank\n1,a,2\n1,b,1\n", {"ranking": "race", "item": "who"}, [[["b"], ["a"]]]),
        ("x,y,who\na,b,right\n", {"left": "x", "right": "y", "outcome": "who"}, [[["b"], ["a"]]]),
        ("left,right,winner\na,b,tie\nb,c,right\n", {}, [[["a", "b"]], [["c"], ["b"]]]),
        (
            "model_a,model_b,winner\na,b,tie (bothbad)\nb,c,model_b\n",
            {},
            [[["a", "b"]], [["c"], ["b"]]],
        ),
        ("model_a,model_b,winner\na,b,b\nb,c,tie\nb,c,b\n", {}, [[["b"], ["a"]], [["b", "c"]], [["b"], ["c"]]]),
        ("x,y,who\na,b,y\n", {"left": "x", "right": "y", "outcome": "who"}, [[["b"], ["a"]]]),
        ("rank1,rank_2,place 3\n3,1,2\n2,3,\n", {}, [[[3], [1], [2]], [[2], [3]]]),
        (",first,second,third\n0,3,1,2\n1,2,3,\n", {"format": "orders"}, [[[3], [1], [2]], [[2], [3]]]),
        ("a,b,c\n1,2,2\n3,1,0\n", {"format": "ranks"}, [[["a"], ["b", "c"]], [["b"], ["a"]]]),
        ("Winner,Loser\na,b\n", {}, [[["a"], ["b"]]]),
        ("model_x,model_y,winner\na,b,left\n", {}, [[["a"], ["b"]]]),
        ("item_a,item_b,winner\na,b,B\n", {}, [[["b"], ["a"]]]),
        ("good,bad\na,b\n", {"winner": "good", "loser": "bad"}, [[["a"], ["b"]]]),
        ("Ranking,Item,Position\n1,a,2\n1,b,1\n", {}, [[["b"], ["a"]]]),
        ("1st choice,2nd choice\na,b\n", {}, [[["a"], ["b"]]]),
        ("rank1,rank10,rank2\na,c,b\n", {}, [[["a"], ["b"], ["c"]]]),
        ("rank1,rank2,rank3\n 3 ,skipped,2\n2,3,1\n", {}, [[[3], [2]], [[2], [3], [1]]]),
    ],
)
def test_forms_of_tables(tmp_path, text, options, expected):
    (tmp_path / "votes.csv").write_text(text)
    assert orders(read_rankings(tmp_path / "votes.csv", **options)) == expected
    (tmp_path / "votes.tsv").write_text(text.replace(",", "\t"))
    assert orders(read_rankings(tmp_path / "votes.tsv", **options)) == expected


@pytest.mark.parametrize(("ending", "write"), [("parquet", parquet.write_table), ("arrow", feather.write_feather)])
def test_kinds_of_files(tmp_path, ending, write):
    table = pa.table({"winner": ["a", "b"], "loser": ["b", "c"], "votes": [2.0, 3.0], "judge": ["x", "y"]})
    path = tmp_path / f"votes.{ending}"
    write(table, path)
    rankings = read_rankings(path, weight="votes", ranker="judge")
    assert orders(rankings) == [[["a"], ["b"]], [["b"], ["c"]]]
    assert rankings.weights.tolist() == [2, 3]
    assert rankings.ranker_names == ("x", "y")


@pytest.mark.parametrize("codec", ["gzip", "bz2", "zstd"])
def test_compressed_text(tmp_path, codec):
    path = tmp_path / {"gzip": "votes.csv.gz", "bz2": "votes.csv.bz2", "zstd": "VOTES.CSV.ZST"}[codec]
    with pa.CompressedOutputStream(str(path), codec) as file:
        file.write(b"winner,loser\na,b\n")
    assert orders(read_rankings(path)) == [[["a"], ["b"]]]


def test_preflib_by_its_ending(tmp_path):
    lines = [
        "# DATA TYPE: soc",
        "# NUMBER ALTERNATIVES: 2",
        "# NUMBER VOTERS: 3",
        "# NUMBER UNIQUE ORDERS: 1",
        "# ALTERNATIVE NAME 1: tea",
    ]
    (tmp_path / "votes.soc").write_text("\n".join([*lines, "# ALTERNATIVE NAME 2: rum", "3: 2,1"]) + "\n")
    rankings = read_rankings(tmp_path / "votes.soc")
    assert orders(rankings) == [[["rum"], ["tea"]]]
    assert rankings.weights.tolist() == [3]


@pytest.mark.parametrize(
    ("name", "text", "options", "words"),
    [
        ("a.txt", "x", {}, "end in .soc"),
        (
            "a.csv",
            "x,y\n1,2\n",
            {},
            r"format of a.csv cannot be inferred from its columns \(x, y\).*long .*, pairs .*, orders .* or "
            r"ranks ",
        ),
        ("a.csv", "x,y\n1,2\n", {"format": "order"}, "Did you mean 'orders'"),
        ("a.csv", "x,y\n1,2\n", {"format": "pairs", "left": "xx", "right": "y"}, "no column 'xx'"),
        ("a.csv", "x,y\n1,b\n", {"format": "ranks"}, "Column 'y' must be numbers. Row 1 has 'b'.*format is orders"),
        ("a.parquet", "x", {}, "cannot be read as Parquet"),
        ("a.csv", f"ranking,item,place\n1,a,1\n1,b,{2**62}\n", {}, "'place' must be numbers up to 2⁵³ in size"),
        (
            "a.csv",
            "x,y,z\na,b,c\n",
            {"format": "pairs", "left": "x", "right": "y", "outcome": "z", "results": ["a"]},
            "three entries",
        ),
        ("a.csv", "left,right,winner\na,b,a\n", {"weights": "w"}, "no option .* 'weights'. Did you mean 'weight'?"),
        ("a.soc", "", {"unlistd": "below"}, "no option .* 'unlistd'. Did you mean 'unlisted'"),
        ("a.csv", "left,right,winner\na,b,a\n", {"formt": "pairs"}, "no option .* 'formt'. Did you mean 'format'"),
        ("a.csv", "x,y\na,b\n", {"format": "orders", "colums": "x"}, "format orders 'colums'. Did you mean 'columns'"),
        (
            "a.csv",
            "winner,loser\na,b\n",
            {"columns": "x"},
            "columns= is an option of orders and ranks, but the format is pairs",
        ),
        (
            "a.csv",
            "a,b\n1,2\n",
            {"format": "ranks", "left": "a"},
            "left= is an option of pairs, but the format is ranks",
        ),
        ("a.soi.gz", "", {"columns": "x"}, "columns= .* but the format is preflib, with the options unlisted"),
        ("a.soi", "", {"format": "orders"}, "a.soi is a PrefLib file"),
        ("a.csv", "left,right,winner\na,b,a\na,b,c\n", {}, "Row 2 has 'c', expected a or b, .*named by results"),
        ("a.csv", "left,right,winner\na,b,a\na,,a\n", {}, "Column 'right' has no item in row 2"),
        ("a.csv", "left,right,winner\na,b,a\na,NA,a\n", {}, "Column 'right' has no item in row 2 but 'NA'"),
        ("a.csv", "x,y\na,b\n", {"format": "pairs"}, "no column 'left': name the one to use by left='NAME'"),
        ("a.csv", "x,y\na,b\n", {"left": "x", "right": "y"}, "column that outcome= names.*winner='x' and loser='y'"),
        ("a.csv", "x,y\na,b\n", {"left": "x", "loser": "y"}, "Give one group or the other"),
        ("a.csv", "winner,loser\na,b\n", {"results": [1, 0, 2]}, "results= is for a column of outcomes"),
        ("a.csv", "race,who,position\n1,a,1\n", {}, "may be a long table.*--read ranking=NAME --read item=NAME"),
        ("a.csv", "race,who,position\n1,a,1\n", {"ranking": "race"}, "no column 'item': name the one to use by item="),
        (
            "a.csv",
            "race,who,position,rank\n1,a,1,2\n",
            {"ranking": "race", "item": "who"},
            "columns 'position' and 'rank': name the one to use by place='position'",
        ),
        ("a.csv", "rank1,rank2\nskipped,\n", {}, "There are no items"),
        ("a.csv", "winner,loser,n\na,b,1\na,b,\n", {"weight": "n"}, "a weight in every row. Row 2 has none"),
        ("a.csv", "winner,loser,n\na,b,1\na,b,x\n", {"weight": "n"}, "Column 'n' must be numbers. Row 2 has 'x'"),
        ("a.csv", "winner,loser,who\na,b,x\na,b,NA\n", {"ranker": "who"}, "a ranker in every row. Row 2 has none"),
    ],
)
def test_what_is_unclear_is_asked_for(tmp_path, name, text, options, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(LuceError, match=words):
        read_rankings(tmp_path / name, **options)
    with pytest.raises(DataError, match="There is no file"):
        read_rankings(tmp_path / "nothing.csv")


@pytest.mark.parametrize(
    ("content", "line", "place", "byte"),
    [
        (b"winner,loser\ntea,caf\xe9\n", 2, 20, "0xe9"),
        (b"winner,los\xffer\ntea,rum\n", 1, 10, "0xff"),
        (b"winner,loser\n" + b"tea,rum\n" * 200_000 + b"gin,\xc3", 200_002, 1_600_017, "0xc3"),
    ],
)
def test_a_csv_file_that_is_not_utf8_is_named_with_the_place(tmp_path, content, line, place, byte):
    path = tmp_path / "votes.csv"
    path.write_bytes(content)
    words = f"votes.csv, line {line:,}: the file must be UTF-8 text. Byte {place:,} of the file, {byte}, is not: save"
    with pytest.raises(DataError, match=words):
        read_rankings(path)
    path.with_suffix(".tsv").write_bytes(content.replace(b",", b"\t"))
    with pytest.raises(DataError, match=words.replace("csv", "tsv")):
        read_rankings(path.with_suffix(".tsv"))


def test_tables_with_invalid_names_or_text_are_refused(tmp_path):
    path = tmp_path / "votes.arrow"
    valid = pa.table({"winner": ["tea", "rum"], "loser": ["gin", "tea"]})
    with pa.ipc.new_stream(path, valid.schema) as writer:  # streams are read too
        writer.write_table(valid)
    assert orders(read_rankings(path)) == [[["tea"], ["gin"]], [["rum"], ["tea"]]]
    for old, new in ((b"winner", b"win\xffer"), (b"tearum", b"tear\xffm")):
        path.write_bytes(path.read_bytes().replace(old, new))
        with pytest.raises(DataError, match=r"votes.arrow cannot be read as Arrow: .*(utf|UTF)"):
            read_rankings(path)
    (tmp_path / "twice.csv").write_text("a,b,a\n1,2,3\n")
    with pytest.raises(DataError, match=r"twice.csv has more than one column named 'a'"):
        read_rankings(tmp_path / "twice.csv", format="ranks")
