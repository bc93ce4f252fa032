"""The page as a whole: it asks for nothing from outside, runs nothing, and comes out the same each time."""

import re
import sys

import matplotlib
import numpy as np
import pytest

from luce.errors import DataError, MissingPackageError, OptionError
from luce.metrics import compare, evaluate
from luce.report import Example, write_report

EVIL = """</title><script>alert("1")</script><img src=x onerror='alert(2)'>&amp;{{ 7 * 7 }}"""


@pytest.fixture
def everything(lists, results):
    """Contents for every section, their names all hostile."""
    names = [f"{EVIL}{row}" for row in range(5)]
    dataset = lists([2, 0, 1, 0, 1], [3, 2], document_ids=names, query_ids=[EVIL, "second"])
    rankers = {
        EVIL: evaluate(np.arange(5.0), dataset, "ndcg, arp"),
        "b": evaluate(-np.arange(5.0), dataset, "ndcg, arp"),
    }
    return {
        "title": EVIL,
        "summary": EVIL,
        "command": EVIL,
        "dataset": dataset,
        "results": {**rankers, "c": results({EVIL: (0.1, 0.0, 0.2)})},
        "comparisons": {EVIL: compare(rankers, "ndcg"), "ndcg": compare(rankers, "ndcg", "b")},
        "history": [{"iteration": i, "loss": 5.0 - i, "validation": 0.1 * i} for i in range(4)],
        "validation_metric": EVIL,
        "example": Example(0, np.arange(5.0), EVIL),
        "settings": {EVIL: EVIL},
    }


def test_every_section_is_there_in_order(page, everything):
    assert list(page(**everything).sections) == ["results", "learning", "example", "data", "repeat"]


def test_sections_without_contents_are_left_out(page):
    assert list(page().sections) == ["data", "repeat"]


def test_nothing_is_loaded_from_outside(page, everything):
    made = page(**everything)
    for _, attributes in made.tags:
        for name, value in attributes.items():
            if name in ("src", "srcset", "href", "xlink:href", "data", "action", "poster", "background"):
                assert value.startswith("#")
    assert made.all("use"), "pictures point into themselves"
    assert not made.all("link") and not made.all("base")
    assert "@import" not in made.source
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", made.source))
    assert {
        "http-equiv": "Content-Security-Policy",
        "content": "default-src 'none'; style-src 'unsafe-inline'",
    } in made.all("meta")


def test_hostile_names_stay_text(page, everything):
    made = page(**everything)
    assert not made.all("script") and not made.all("img")
    assert not [name for _, attributes in made.tags for name in attributes if name.startswith("on")]
    assert len(made.all("title")) == 1
    assert "{{ 7 * 7 }}" in made.source and "49" not in made.sections["repeat"].partition("Versions")[0]
    assert EVIL in made.sections["repeat"]


def test_ids_differ_and_are_found(page, everything):
    made = page(**everything)
    ids = [attributes["id"] for _, attributes in made.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    pointed = {attributes["href"][1:] for _, attributes in made.tags if "href" in attributes}
    pointed |= set(re.findall(r"url\(#([^)]*)\)", made.source))
    assert pointed and pointed <= set(ids)
    assert not [group for group in made.all("g") if "id" in group], "weight that nothing points at"


def test_the_same_contents_give_the_same_bytes(tmp_path, everything):
    first = write_report(tmp_path / "first.html", **everything).read_bytes()
    with matplotlib.rc_context({"axes.grid": True, "font.size": 30, "svg.fonttype": "path"}):
        second = write_report(tmp_path / "second.html", **everything).read_bytes()
        assert matplotlib.rcParams["font.size"] == 30, "the user's settings are back"
    assert first == second


def test_the_report_replaces_the_file_whole_or_not_at_all(tmp_path, contents):
    path = tmp_path / "report.html"
    path.write_text("before")
    with pytest.raises(OptionError, match="Got 9 for a dataset of 2 lists"):
        write_report(path, **contents, example=Example(9, np.zeros(5)))
    assert path.read_text() == "before"
    assert write_report(str(path), **contents) == path
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(DataError, match="there is no directory"):
        write_report(tmp_path / "nowhere" / "report.html", **contents)


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_a_missing_package_is_named_with_its_install_line(tmp_path, monkeypatch, contents, package):
    for loaded in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, loaded, None)
    with pytest.raises(MissingPackageError, match=rf"{package}.*pip install 'luce\[report\]'"):
        write_report(tmp_path / "report.html", **contents)
    assert not list(tmp_path.iterdir())


def test_importing_the_report_loads_neither_matplotlib_nor_jinja2():
    import subprocess

    code = "import sys, luce.report; print([name for name in ('matplotlib', 'jinja2') if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_how_to_repeat_it(page):
    text = page(command="luce demo --seed 7", settings={"depth": 10}).sections["repeat"]
    assert "luce demo --seed 7" in text and "depth 10" in text
    assert f"python {sys.version.split()[0]}" in text and f"numpy {np.__version__}" in text
