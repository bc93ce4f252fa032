"""Abandoned names do not come back, and one class name is one class."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import luce
from luce.rankers import RANKERS

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "papers", "benchmarks", "examples")
CODE = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SYNONYM = {
    "ALONE": "SINGLE_MACHINE",
    "Kept": "ResultCache",
    "Keeper": "Checkpointer",
    "Lessons": "TrainingData",
    "Presented": "SummaryMixin",
    "Room": "Workspace",
    "Tried": "search_space",
    "Uncertain": "InferenceMixin",
    "bend": "hessian",
    "free_to_change": "resumable_params",
    "ghost": "pseudo_item",
    "goal": "objective",
    "hear": "update",
    "informative": "has_signal",
    "keeper": "checkpointer",
    "lessons": "training data",
    "list_fraction": "subsample",
    "lists_per_batch": "batch_size",
    "max_iterations": "max_iter",
    "meet": "exchange_metadata",
    "min_rows_in_leaf": "min_child_samples",
    "of_policy": "is_stochastic",
    "of_the_machine": "machine_specific_params",
    "optimiser": "optimizer",
    "patience": "early_stopping_rounds",
    "redraw": "resample_each_round",
    "rows_per_batch": "batch_size",
    "slope": "gradient",
    "teaching": "has_signal",
    "told": "on_progress or describe",
    "_told": "describe",
    "tried": "search_space",
}
"""Names that nothing in the code has any more, and what to use."""
PARAMETERS = {
    "categorical": "categorical_feature",
    "engine": "lightgbm_params",
    "feature_fraction": "colsample_bytree",
    "hidden": "hidden_layer_sizes",
    "l2": "reg_lambda or weight_decay",
    "leaves": "num_leaves",
    "limit": "max_iter_param",
    "monotone": "monotone_constraints",
    "native": "lightgbm_objective",
    "normalisation": "normalization",
    "takes": "nothing",
    "tolerance": "tol",
    "trees": "n_estimators",
}
"""Ordinary words that are no longer parameters or class attributes of rankers."""


def defined_names(file: Path) -> set[str]:
    """Every identifier that a file defines: classes, functions, arguments, variables, attributes, and its own name."""
    names = {file.stem}
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
    return names


@pytest.mark.parametrize("file", CODE, ids=lambda file: str(file.relative_to(ROOT)))
def test_abandoned_names_are_not_defined(file):
    found = {name: SYNONYM[name] for name in defined_names(file) & SYNONYM.keys()}
    assert not found, f"use instead: {found}"


@pytest.mark.parametrize("kind", RANKERS)
def test_parameters_have_the_names_of_the_field(kind):
    ranker = RANKERS[kind]
    names = {*ranker().get_params(), *vars(ranker)}
    assert not names & PARAMETERS.keys()


def test_abandoned_parameters_are_not_documented():
    """Those that are not ordinary words."""
    old = {name for name in (*SYNONYM, *PARAMETERS) if "_" in name or name in ("l2", "optimiser")}
    for page in PAGES:
        assert not old & set(re.findall(r"[\w-]+", page.read_text())), page


def test_a_class_name_is_one_class():
    homes = defaultdict(list)
    for file in CODE:
        if file.is_relative_to(ROOT / "src"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.ClassDef):
                    homes[node.name].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_public_names_have_docstrings_in_numpydoc_form():
    """Sections have underlines, as numpydoc and Sphinx's napoleon read them, and not a colon."""
    for name in luce.__all__:
        value = getattr(luce, name)
        text = getattr(value, "__doc__", None) or ""
        assert not re.search(r"^\s*(Parameters|Attributes|Returns|Raises|Args):$", text, re.MULTILINE), name
