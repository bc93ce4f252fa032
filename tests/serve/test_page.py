"""docs/serving.md: its requests are answered as it shows, and its figures are those of the kept benchmark."""

import doctest
import json
import re
from pathlib import Path

import pytest

from luce.serve.app import ROUTES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
REQUESTS = re.findall(r"curl http://localhost:8000(\S+) -d '(.*?)'\n```\n\n```json\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1].replace('"shop.luce"', repr(str(folder / "shop.luce")))
    test = doctest.DocTestParser().get_doctest(code, {}, "serving.md", None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0
    return folder / "shop.luce"


def nearly(value):
    """The value with its numbers as approximations, and without the version of the model."""
    if isinstance(value, dict):
        return {name: nearly(each) for name, each in value.items() if name != "model_version"}
    if isinstance(value, list):
        return [nearly(each) for each in value]
    return pytest.approx(value, rel=1e-6) if isinstance(value, float) else value


@pytest.mark.parametrize(("path", "request_", "shown"), REQUESTS)
def test_requests_are_answered_as_shown(model, connect, path, request_, shown):
    answer = connect(model)[0].post(path, content=request_)
    assert answer.status_code == 200 and answer.json().keys() == json.loads(shown).keys()
    assert nearly(json.loads(shown)) == {name: each for name, each in answer.json().items() if name != "model_version"}


def test_the_page_has_the_routes_and_both_kinds_of_requests():
    assert [path for path, *_ in REQUESTS] == ["/rank", "/v2/models/shop/infer"]
    for path in ROUTES:
        assert f" {path.replace('{name}', 'shop')}`" in PAGE, path


def test_the_figures_are_those_of_the_kept_benchmark():
    kept = (ROOT / "benchmarks" / "results" / "serving.txt").read_text(encoding="utf-8")
    rows = re.findall(r"^ +([\d,]+) rows  (\S.*?)  +([\d.]+) +([\d.]+) +(\d+)", kept, re.MULTILINE)
    shown = re.findall(r"^\| ([\d,]+) \| (.*?) \| ([\d.]+) \| ([\d.]+) \| (\d+) \|$", PAGE, re.MULTILINE)
    assert len(shown) == len(rows) == 6 and shown == rows
    for words in ("right, of the old model", "right, of the new model", "503 with Retry-After"):
        count = re.search(rf"^ +{words} +([\d,]+)$", kept, re.MULTILINE)[1]
        assert re.search(rf"\b{count}\b", PAGE[PAGE.index("## Sizing") :]), (words, count)
    assert "lost" not in kept
