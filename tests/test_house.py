"""The house keeps its order: imports point one way, files stay short, names load on first use."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import luce

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "luce"
FILES = sorted(SOURCE.rglob("*.py"))
OTHERS = sorted(file for folder in ("papers", "tests") for file in (ROOT / folder).rglob("*.py"))
LAYERS = [
    {"errors", "compiled", "arrays", "threads", "randomness", "files", "lists", "options"},
    {"data", "kernels"},
    {"metrics"},
    {"objectives"},
    {"torch"},
    {"optimizers"},
    {"rankers", "aggregation", "policy"},
    {"experiments"},
    {"report"},
    {"cli"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


def room_of(module: str) -> str:
    return module.removeprefix("luce.").partition(".")[0]


def imported_modules(file: Path) -> set[str]:
    tree = ast.parse(file.read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    return modules | {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}


def imported_rooms(file: Path) -> set[str]:
    return {room_of(module) for module in imported_modules(file) if module.startswith("luce.")}


def test_the_package_imports_nothing_that_the_wheel_lacks():
    beside = ("papers", "benchmarks", "tests", "docs", "examples")
    found = {(file.name, module) for file in FILES for module in imported_modules(file)}
    assert [each for each in found if each[1].partition(".")[0] in beside] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_imports_point_one_way(file):
    room = room_of(".".join(file.relative_to(SOURCE).with_suffix("").parts))
    if room == "__init__":
        return
    for other in imported_rooms(file) - {room}:
        base = LEVEL[room] == 0 and LEVEL[other] == 0
        assert base or LEVEL[other] < LEVEL[room], f"{room} must not import {other}"


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
