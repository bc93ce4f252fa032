"""The code layout that CONTRIBUTING describes: imports point one way, files stay short, names load on first use."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import luce

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "luce"
FILES = sorted(SOURCE.rglob("*.py"))
OTHERS = sorted(file for folder in ("papers", "tests") for file in (ROOT / folder).rglob("*.py"))
PACKAGES = sorted(file.parent for file in FILES if file.name == "__init__.py")
LAYERS = [
    {
        "errors",
        "compilation",
        "compiled",
        "arrays",
        "threads",
        "randomness",
        "files",
        "options",
        "lists",
        "storage",
        "distributed",
    },
    {"data", "kernels"},
    {"metrics"},
    {"objectives"},
    {"torch"},
    {"optimizers"},
    {"scoring"},
    {"rankers", "aggregation", "policy"},
    {"models"},
    {"exports"},
    {"mlflow"},
    {"experiments"},
    {"report"},
    {"serve"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
ABOVE = {"__init__", "__main__"}
"""What is above all layers: it imports what it wants, and nothing imports it."""


def name_of(file: Path) -> str:
    """The dotted name of a module; a package's own module ends in `__init__`."""
    return ".".join(("luce", *file.relative_to(SOURCE).with_suffix("").parts))


MODULES = {name_of(file).removesuffix(".__init__") for file in FILES}


def imported_modules(file: Path) -> Iterator[str]:
    """The modules that a file imports anywhere, also inside functions; not those for type checkers alone."""
    tree = ast.parse(file.read_text())
    checks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    typing_only = {id(inner) for node in checks for inner in ast.walk(node)}
    for node in (node for node in ast.walk(tree) if id(node) not in typing_only):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else str(node.module)


def import_graph(package: str) -> dict[str, set[str]]:
    """Which children of a package import which others; `__init__` is the package's own module."""
    graph: dict[str, set[str]] = {}
    for file in FILES:
        if name_of(file).startswith(f"{package}."):
            child = name_of(file).removeprefix(f"{package}.").partition(".")[0]
            inside = {each for each in imported_modules(file) if f"{each}.".startswith(f"{package}.")}
            others = {each.removeprefix(package).removeprefix(".").partition(".")[0] or "__init__" for each in inside}
            graph.setdefault(child, set()).update(others - {child})
    return graph


def test_the_package_imports_nothing_that_the_wheel_lacks():
    beside = ("papers", "benchmarks", "tests", "docs", "examples")
    found = {(file.name, module) for file in FILES for module in imported_modules(file)}
    assert [each for each in found if each[1].partition(".")[0] in beside] == []


def test_every_part_of_the_package_has_its_layer_and_imports_from_lower_ones():
    graph = import_graph("luce")
    assert graph.keys() - ABOVE == LEVEL.keys()
    for name, others in graph.items():
        if name not in ABOVE:
            base = {other for other in others if LEVEL[name] == LEVEL.get(other) == 0}
            upward = {other for other in others - base if other in ABOVE or LEVEL[other] >= LEVEL[name]}
            assert not upward, f"luce.{name} must not import {upward}"


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: str(folder.relative_to(SOURCE)))
def test_no_imports_go_in_a_circle(folder):
    package = name_of(folder / "__init__.py").removesuffix(".__init__")
    graph = import_graph(package)
    if package == "luce":  # whose own module names its children as strings
        graph.pop("__init__")
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"In {package} imports go in a circle: {' → '.join(reversed(error.args[1]))}")


def test_the_layers_are_those_of_the_contributor_guide():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    block = text[text.index("    errors, compilation") :].partition("\n\n")[0]
    assert [{name.strip() for name in layer.split(",")} for layer in block.split("<")] == LAYERS


@pytest.mark.parametrize("file", [*FILES, *OTHERS], ids=lambda file: file.name)
def test_files_are_readable_at_one_sitting(file):
    lines = file.read_text().splitlines()
    assert len(lines) <= 400
    assert not lines or lines[0].startswith('"""'), "a module opens with one sentence"


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_import_loads_nothing_heavy():
    heavy = ("torch", "lightgbm", "sklearn", "numba", "pyarrow", "scipy", "matplotlib", "rich", "typer")
    assert run(f"import sys, luce; print([name for name in {heavy} if name in sys.modules])") == "[]"


def test_data_and_metrics_do_without_scikit_learn():
    code = "import sys, luce; luce.evaluate, luce.read, luce.objective; print('sklearn' in sys.modules)"
    assert run(code) == "False"


def test_objectives_do_without_pytorch():
    assert run("import sys, luce; luce.objective('pl-rank-2'); print('torch' in sys.modules)") == "False"


def test_public_names_are_the_same_for_type_checkers_and_at_run_time():
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    promised = {(node.module, alias.asname) for node in block.body for alias in node.names}
    assert promised == {(home, name) for name, home in luce._HOME.items()}
    for name in luce.__all__:
        assert getattr(luce, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'reed'"):
        luce.reed  # noqa: B018
    assert "read" in dir(luce)


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1] == version
    assert re.search(r"^## (\S+),", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == version
