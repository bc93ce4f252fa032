"""The pages agree with the tables, their links resolve, and their code runs with the results it shows."""

import doctest
import importlib
import re
import shlex
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from luce.cli import COMMANDS, app
from luce.metrics import LABEL_METRICS, METRICS
from luce.objectives import OBJECTIVES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
BLOCKS = {
    page.name: re.findall(r"```(python|console)\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for page in sorted(DOCS.glob("*.md"))
}
MARKS = {"tuning.md": pytest.mark.slow, "mlflow.md": pytest.mark.filterwarnings("ignore")}
"""MLflow and what it is built on warn of each other."""
EXAMPLES = [
    line
    for function in COMMANDS.values()
    for line in re.findall(r"^ *Example: luce (.+)$", function.__doc__ or "", flags=re.MULTILINE)
]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=MARKS.get(name, ())) for name, blocks in BLOCKS.items() if blocks],
)
def test_code_runs_with_the_results_it_shows(name, tmp_path, monkeypatch):
    """In one folder and in its order: a command may read what the Python before it has written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LUCE_THREADS", "2")
    names: dict[str, object] = {}
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    for language, text in BLOCKS[name]:
        if language == "python":
            example = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
            runner, said = doctest.DocTestRunner(optionflags=flags), []
            assert runner.run(example, out=said.append, clear_globs=False).failed == 0, "".join(said)
            assert example.examples
            names = example.globs
        else:
            for line in re.findall(r"^\$ luce (.*)$", text, flags=re.MULTILINE):
                result = CliRunner().invoke(app, shlex.split(line))
                assert result.exit_code == 0, f"luce {line}: {result.output}{result.exception!r}"


@pytest.mark.parametrize("line", EXAMPLES)
def test_examples_of_commands_are_understood(line):
    """Every example on the page of commands has a command, arguments and options that there are."""
    name, *words = shlex.split(line)
    understood = get_command(app).commands[name].make_context(name, words)
    assert understood.command.name == name and not understood.args


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in links(page):
        if re.match(r"[a-z]+:", target):
            parts = urlsplit(target)
            assert parts.scheme == "https" and "." in parts.netloc, f"{target} is no address"
            continue
        place, _, anchor = target.partition("#")
        file = (page.parent / place).resolve() if place else page
        if file.parent == DOCS / "objectives":  # written when the site is built
            assert file.stem in OBJECTIVES, f"{page.name}: there is no {target}"
            continue
        assert file.exists(), f"{page.name}: there is no {target}"
        if anchor and "<!-- generated: " not in file.read_text(encoding="utf-8"):  # those are checked in the built site
            assert anchor in headings(file), f"{page.name}: {file.name} has no heading #{anchor}"


def test_links_are_found():
    """So that the test above cannot pass by looking at nothing."""
    assert "objectives/listmle.md" in links(DOCS / "quickstart.md")
    assert "what-it-costs" in headings(DOCS / "which_objective.md")
    assert len(EXAMPLES) >= len(COMMANDS)


@pytest.mark.parametrize("name", ["bibliography", "drawing", "formulas", "ladder", "objective_pages"])
def test_doctests_of_the_generators(name, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testmod(importlib.import_module(f"generators.{name}"), optionflags=flags)
    assert result.attempted > 0 and result.failed == 0


ARITIES = {"mfrac": 2, "msub": 2, "msup": 2, "munder": 2, "msubsup": 3}


@pytest.mark.parametrize("table", [OBJECTIVES, METRICS, LABEL_METRICS], ids=["objectives", "metrics", "label metrics"])
def test_every_formula_is_typeset(table, monkeypatch):
    """As MathML in which nothing of the text is lost and no script or fraction is left as a sign."""
    monkeypatch.syspath_prepend(str(DOCS))
    typeset = importlib.import_module("generators.formulas").typeset
    for name, record in table.items():
        tree = ElementTree.fromstring(f"<div>{typeset(record.formula).replace('&nbsp;', ' ')}</div>")
        for element in tree.iter():
            assert len(element) == ARITIES.get(element.tag, len(element)), f"{name}: {element.tag}"
        signs = str.maketrans("ΣΠ", "∑∏", "_^{}(),.;:12²₂½/ ")
        found, given = ("".join(text.translate(signs).lower().split()) for text in (shown(tree), record.formula))
        assert Counter(found) == Counter(given), f"{name}: {found}"
        assert not set("_^") & set(shown(tree).replace("max_grade", "").replace("truncation_level", "")), name
    assert "<mi>i</mi><mi>j</mi>" in typeset("c_ij")
    assert "<mfrac>" in typeset("a / b") and "<mfrac>" not in typeset("a, b / c")


def shown(tree: ElementTree.Element) -> str:
    return "".join(tree.itertext()).replace("\xa0", " ")


def test_every_work_cited_is_in_the_bibliography(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    works_cited = importlib.import_module("generators.bibliography").works_cited
    for name, record in OBJECTIVES.items():
        assert len(works_cited(record.paper)) == len(re.findall(r"\b(?:19|20)\d\d\b", record.paper)), name


def links(page: Path) -> list[str]:
    """The targets of the links and pictures of a page, those in code left out."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.findall(r"\]\(([^()\s]+)\)", text)


def headings(page: Path) -> set[str]:
    """The anchors that Markdown gives to the headings of a page."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in found}
