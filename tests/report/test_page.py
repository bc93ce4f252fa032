"""The page as a whole: it asks for nothing from outside, runs nothing, and comes out the same each time."""

import base64
import hashlib
import re
import sys
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest

from luce.errors import DataError, MissingPackageError
from luce.metrics import compare_results, evaluate
from luce.rankers.importance import Importance
from luce.report import SECTIONS, Cost, write_report

EVIL = """</title><script>alert("1")</script><img src=x onerror='alert(2)'>&amp;{{ 7 * 7 }}"""


@pytest.fixture(scope="module")
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
        "comparisons": {EVIL: compare_results(rankers, "ndcg"), "ndcg": compare_results(rankers, "ndcg", "b")},
        "costs": {EVIL: Cost(1.5, 0.5, 3e8)},
        "histories": {EVIL: [{"iteration": i, "loss": 5.0 - i, "validation": 0.1 * i} for i in range(4)]},
        "validation_metric": EVIL,
        "scores": {EVIL: np.arange(5.0), "b": -np.arange(5.0)},
        "importances": {EVIL: Importance(EVIL, (EVIL, "b"), np.array([1.0, 2.0]))},
        "settings": {EVIL: EVIL},
    }


@pytest.fixture(scope="module")
def made(page, everything):
    return page(**everything)


def test_every_section_is_there_in_order(made):
    assert list(made.sections) == [*SECTIONS, "repeat"]
    links = [attributes["href"] for attributes in made.all("a")]
    assert links == [f"#{name}" for name in made.sections], "the table of contents"


def test_sections_without_contents_are_left_out(page):
    assert list(page().sections) == ["data", "repeat"]


def test_nothing_is_loaded_from_outside(made):
    for _, attributes in made.tags:
        for name, value in attributes.items():
            if name in ("src", "srcset", "href", "xlink:href", "data", "action", "poster", "background"):
                assert value.startswith("#")
    assert made.all("use"), "pictures point into themselves"
    assert not made.all("link") and not made.all("base")
    assert "@import" not in made.source
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", made.source))
    (policy,) = (meta["content"] for meta in made.all("meta") if "http-equiv" in meta)
    script = made.source.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def test_hostile_names_stay_text(made):
    assert made.source.count("<script") == 1 and "alert" not in made.source.partition("<script>")[2]
    assert not made.all("img")
    assert not [name for _, attributes in made.tags for name in attributes if name.startswith("on")]
    assert len(made.all("title")) == 1
    assert "{{ 7 * 7 }}" in made.source and "49" not in made.sections["repeat"].partition("Versions")[0]
    assert EVIL in made.sections["repeat"]


def test_ids_differ_and_are_found(made):
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
    with pytest.raises(DataError, match="scores of a must have 5 entries"):
        write_report(path, **contents, scores={"a": np.zeros(4)})
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


def test_importing_the_report_loads_nothing_heavy():
    import subprocess

    code = (
        "import sys, luce.report; print([name for name in ('matplotlib', 'jinja2', 'sklearn') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_how_to_repeat_it(page):
    text = page(command="luce demo --seed 7", settings={"depth": 10}).sections["repeat"]
    assert "luce demo --seed 7" in text and "depth 10" in text
    assert f"python {sys.version.split()[0]}" in text and f"numpy {np.__version__}" in text


def test_engines_are_told_of_where_they_were_used(page, monkeypatch):
    monkeypatch.setitem(sys.modules, "catboost", None)
    monkeypatch.setitem(sys.modules, "xgboost", SimpleNamespace(__version__="9.8.7"))
    text = page().sections["repeat"]
    assert "xgboost 9.8.7" in text and "catboost" not in text
