"""PrefLib files: what is read, and what each way of being wrong is called."""

import gzip

import pytest

from luce.aggregation import Rankings, preflib
from luce.errors import DataError, LuceWarning, OptionError

HEAD = """# FILE NAME: made.{kind}
# TITLE: Drinks
# DATA TYPE: {kind}
# MODIFICATION TYPE: {how}
# NUMBER ALTERNATIVES: {n}
# NUMBER VOTERS: {votes}
# NUMBER UNIQUE ORDERS: {orders}
"""


def made(path, kind, lines, n=4, how="original", **lies):
    """A PrefLib file of these lines, its header right but for the lies."""
    votes = sum(int(line.partition(":")[0]) for line in lines if line.partition(":")[0].isdecimal())
    head = {"kind": kind, "how": how, "n": n, "votes": votes, "orders": len(lines)} | lies
    names = [f"# ALTERNATIVE NAME {i + 1}: {name}" for i, name in enumerate(["tea", "crème", "rum: white", "gin"][:n])]
    path.write_text(HEAD.format(**head) + "\n".join([*names, *lines]) + "\n", encoding="utf-8")
    return path


def codes(rankings):
    """Each ranking as its levels of item codes."""
    result = []
    for q in range(len(rankings)):
        rows = slice(rankings.offsets[q], rankings.offsets[q + 1])
        items, places = rankings.items[rows], rankings.places[rows]
        result.append([items[places == place].tolist() for place in range(places[-1] + 1)])
    return result


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_strict_and_complete(tmp_path, ending):
    path = made(tmp_path / "a.soc", "soc", ["12: 3,1,2,4", "", " 2 : 4, 3,2,1"], votes=14, orders=2)
    if ending:
        packed = tmp_path / "a.soc.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path = packed
    rankings = Rankings.read_preflib(path)
    assert codes(rankings) == [[[2], [0], [1], [3]], [[3], [2], [1], [0]]]
    assert rankings.weights.tolist() == [12, 2]
    assert rankings.names == ("tea", "crème", "rum: white", "gin")


def test_ties_and_gaps(tmp_path):
    path = made(tmp_path / "a.toi", "toi", ["1: {2,4},1", "1: 3,{1,2}", "2: {4},2", "5: {1,3}"])
    assert codes(Rankings.read_preflib(path)) == [[[1, 3], [0]], [[2], [0, 1]], [[3], [1]], [[0, 2]]]


def test_what_is_not_listed_is_absent_or_below(tmp_path):
    path = made(tmp_path / "a.soi", "soi", ["3: 2,1", "5: 4", "1: 4,3,2,1"])
    with pytest.warns(LuceWarning, match="left out: 1 of 3") as caught:
        absent = Rankings.read_preflib(path)
    assert caught[0].filename == __file__
    assert absent.weights.tolist() == [3, 1] and not absent.pools
    below = Rankings.read_preflib(path, unlisted="below")
    assert below.weights.tolist() == [3, 5, 1] and below.pool.tolist() == [0, 0, -1]
    assert below.pools[0].tolist() == [0, 1, 2, 3]
    with pytest.raises(OptionError, match=r"unlisted must be 'absent' or 'below'. Got 'last'"):
        Rankings.read_preflib(path, unlisted="last")


def test_a_tie_that_was_added_at_the_end_is_an_open_end(tmp_path):
    lines = ["1: 2,{1,3,4}", "1: {1,2},3,4", "1: {1,2,3,4}"]
    assert not Rankings.read_preflib(made(tmp_path / "a.toc", "toc", lines)).open_end.any()
    imbued = Rankings.read_preflib(made(tmp_path / "a.toc", "toc", lines, how="imbued"))
    assert imbued.open_end.tolist() == [True, False, False]
    assert not Rankings.read_preflib(made(tmp_path / "a.toi", "toi", lines, how="imbued")).open_end.any()


@pytest.mark.parametrize(
    ("kind", "lines", "lies", "words"),
    [
        ("soc", ["1: 1,2,3,4"], {"votes": 2}, "header says NUMBER VOTERS 2, but the votes add up to 1"),
        ("soc", ["1: 1,2,3,4"], {"orders": 3}, "NUMBER UNIQUE ORDERS 3, but there are 1 lines"),
        ("soc", ["1: 1,2,3,4"], {"n": 3}, "line 11: there is no alternative 4"),
        ("soc", ["1: 1,2,3,4"], {"votes": "many"}, "`# NUMBER VOTERS: …` with an integer. It is 'many'"),
        ("soc", ["1: 1,2,3,4", "1: 1,2,3"], {}, "line 13: it has 3 of 4 alternatives. The orders of a soc file"),
        ("toc", ["1: 1,{2,3}"], {}, "line 12: it has 3 of 4 alternatives"),
        ("soc", ["1: 1,{2,3},4"], {}, "line 12: it has a tie. The orders of a soc file must be strict and complete"),
        ("soi", ["1: {2,3}"], {}, "line 12: it has a tie"),
        ("soi", ["1: 2,5"], {}, "line 12: there is no alternative 5"),
        ("soi", ["1: 2,0"], {}, "line 12: there is no alternative 0"),
        ("soi", ["1: 2,3,2"], {}, "line 12: alternative 2 occurs twice"),
        ("toi", ["1: 2,{3,2}"], {}, "line 12: alternative 2 occurs twice"),
        ("soi", ["0: 2,3"], {}, "line 12: it has 0 votes"),
        ("soi", ["1: 2,3", "4: 2,3"], {}, "line 13: the same order as in line 12"),
        ("cat", ["1: {1},{2}"], {}, "must be one of soc, soi, toc, toi. Got 'cat'"),
        ("soi", [], {}, "Got no rankings"),
    ],
)
def test_a_header_that_lies_and_orders_that_are_none(tmp_path, kind, lines, lies, words):
    with pytest.raises(DataError, match=words):
        Rankings.read_preflib(made(tmp_path / "a", kind, lines, **lies))


@pytest.mark.parametrize(
    "line",
    [
        "1 2,3",
        "x: 2,3",
        "-1: 2,3",
        "1.5: 2,3",
        "1:",
        "1: 2,,3",
        "1: 2,3,",
        "1: {2,3",
        "1: {}",
        "1: {2,{3}}",
        "1: 2 x",
        "1: ٣,2",
        "99999999999999999: 2,3",
        "1: 2,9999999999",
    ],
)
def test_lines_that_are_no_orders(tmp_path, line):
    with pytest.raises(DataError, match="line 12: expected votes like"):
        Rankings.read_preflib(made(tmp_path / "a.toi", "toi", [line], votes=1))


def test_votes_that_cannot_be_counted(tmp_path):
    path = made(tmp_path / "a.soi", "soi", ["9999999999999999: 2,3"])
    with pytest.raises(DataError, match=r"more than 9,007,199,254,740,992 votes"):
        Rankings.read_preflib(path)


def change(path, old, new):
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("# NUMBER VOTERS: 1\n", "", "`# NUMBER VOTERS: …` with an integer. It is missing"),
        ("# ALTERNATIVE NAME 3: rum: white\n", "", "NUMBER ALTERNATIVES 4, but 3 lines name one"),
        ("NUMBER ALTERNATIVES: 4", "NUMBER ALTERNATIVES: 999999999", "NUMBER ALTERNATIVES 999,999,999, but 4 lines"),
        ("NAME 3:", "NAME 7:", "numbered 1 … 4. There is no 'ALTERNATIVE NAME 3'"),
        ("gin", "tea", "Got 'tea' twice"),
        ("NAME 3:", "NAME 2:", "ALTERNATIVE NAME 2 is 'rum: white' here and 'crème' before"),
        ("# DATA TYPE: soi", "# DATA TYPE: soc", "its name says soi, its header DATA TYPE soc"),
        ("# DATA TYPE: soi", "", "Got None"),
    ],
)
def test_other_headers(tmp_path, old, new, words):
    with pytest.raises(DataError, match=words):
        Rankings.read_preflib(change(made(tmp_path / "a.soi", "soi", ["1: 3,1"]), old, new))


def test_the_name_of_a_packed_file_counts_too(tmp_path):
    packed = tmp_path / "a.soc.gz"
    packed.write_bytes(gzip.compress(made(tmp_path / "a.soi", "soi", ["1: 3,1"]).read_bytes()))
    with pytest.raises(DataError, match="its name says soc, its header DATA TYPE soi"):
        Rankings.read_preflib(packed)


def test_files_that_are_none(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="There is no file"):
        Rankings.read_preflib(tmp_path / "none.soc")
    path = tmp_path / "a.soc"
    path.write_text("")
    with pytest.raises(DataError, match="is empty"):
        Rankings.read_preflib(path)
    path.write_text("4\n1,tea\n2,rum\n")
    with pytest.raises(DataError, match=r"line 1: .* Files from before 2022 have another form"):
        Rankings.read_preflib(path)
    path.write_bytes("# TITLE: Crème\n".encode("latin-1"))
    with pytest.raises(DataError, match="line 1: it is not UTF-8"):
        Rankings.read_preflib(path)
    monkeypatch.setattr(preflib, "LONGEST_LINE", 20)
    path.write_text("# A: b\n# TITLE: " + "x" * 30)
    with pytest.raises(DataError, match="line 2: the line is longer than 20 bytes"):
        Rankings.read_preflib(path)


def test_a_mark_of_utf8_and_other_line_ends_do_not_matter(tmp_path):
    path = made(tmp_path / "a.soi", "soi", ["1: 3,1"])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert codes(Rankings.read_preflib(path)) == [[[2], [0]]]
