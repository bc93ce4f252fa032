"""What users read: abandoned phrases do not come back, and rows are counted from 1."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import luce
from luce.errors import DataError

ROOT = Path(__file__).parent.parent
CODE = [file for folder in ("src", "papers", "examples") for file in sorted((ROOT / folder).rglob("*.py"))]
TEXTS = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "examples" / "README.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "src" / "luce" / "report" / "templates").iterdir()),
]
ABANDONED = {
    r"To repeat it": "Reproduce",
    r"Chance misplaced": "Calibration error",
    r"Range of ranks|Ranks it may have": "Rank range (95 %)",
    r"\bmade data\b": "synthetic data",
    r"\bmend(s|ed)?\b": "fix",
    r"\b(one|a) (row|column|line|score|id|entry|array|weight|record|value) an? \w+": "one row per item",
    r"\bCPU \w+ a row\b|\btrees a round\b|\blists a step\b": "per row, per round, per step",
    r"counted from 0|\bat row 0\b": "rows are counted from 1",
    r"has (anything|nothing) for .* to measure": "is undefined for every list",
    r"has no place for|There is no (room|memory) for": "cannot store; there is not enough space for",
    r"\b(does not|must|cannot) hold (a|an|the|one|some|different|trees|what|numbers)\b": "contain, have, be",
    r"Name another|name another": "choose another",
    r"\b(takes|take) (no (?!longer|more|extra)|KEY|names|two numbers|a Dataset)": "does not allow, must be, needs",
    r"\bsays? so\b": "a note is printed",
    r"\bout of step\b|do not hang together|no way back": "out of sync, connected",
    r"\bis the name of the data\b|\bmeans no format\b": "would overwrite the data; unknown extension",
    r"\byou may not write\b": "no permission to write",
    r"\bwhatever the ending\b|\bits ending says\b|\bsuffix says\b": "its extension determines the format",
    r"\b(after|for|Draw|draw|every) so many\b": "this many",
    r"\bworked out once\b|\bgo on from\b": "computed once; resume",
}
"""Phrases that no user reads any more, and what is written instead."""


def strings(file: Path) -> list[str]:
    """The text in the code of a file without the values in f-strings; of docstrings, those of public names."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    comments = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    inside |= {id(text) for text in comments if isinstance(text, ast.Constant) and "\n    ----" not in str(text.value)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
            found.append("".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            found.append(node.value)
    return found


@pytest.mark.parametrize("file", [*CODE, *TEXTS], ids=lambda file: str(file.relative_to(ROOT)))
def test_abandoned_phrases_are_not_written(file):
    texts = strings(file) if file.suffix == ".py" else [file.read_text(encoding="utf-8")]
    for text in (" ".join(text.split()) for text in texts):
        for phrase, instead in ABANDONED.items():
            found = re.search(phrase, text)
            assert not found, f"{found[0]!r} in {text[max(found.start() - 60, 0) : found.end() + 60]!r}: {instead}"


NAN = float("nan")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: luce.from_arrays([[1.0]] * 2, [0, 1], [None, "a"]), "at row 1 "),
        (lambda: luce.evaluate([NAN, 0.0], luce.from_arrays([[1.0]] * 2, [0, 1], [1, 1])), "at row 1 "),
        (lambda: luce.Policy([NAN, 0.0]), "at row 1."),
        (lambda: luce.objective("listmle").value_and_gradient([0.0, -np.inf], [1, 0]), "at row 2."),
        (lambda: luce.objective("mcrank").value_and_gradient(np.zeros((2, 3)), [5, 0]), "at row 1."),
        (lambda: luce.objective("pl-topk").value_and_gradient(np.zeros(3), [1, 1, 0]), "list 1 has"),
        (lambda: luce.Rankings.from_orderings([["a", "a"]]), "Ranking 1 has"),
        (lambda: luce.Rankings.from_pairs(["a", "b"], ["b", None]), "Pair 2 has"),
        (lambda: luce.Rankings.from_orderings([["a", "b"]], weights=[-1]), "for ranking 1."),
    ],
)
def test_rows_are_counted_from_one(call, words):
    with pytest.raises(DataError) as caught:
        call()
    assert words in str(caught.value)
