"""The programs of examples/ as sections: what each says of itself, and its text to unfold."""

import ast
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def program_sections() -> str:
    """Every program by the order of names."""
    return "\n\n".join(section(file) for file in sorted(EXAMPLES.glob("*.py")))


def section(file: Path) -> str:
    """The docstring of a program in the open, the rest folded."""
    text = file.read_text(encoding="utf-8")
    told = ast.get_docstring(ast.parse(text)) or ""
    title, _, more = told.partition("\n")
    folded = f"<details><summary>The program</summary>\n\n```py\n{text}```\n\n</details>"
    return "\n\n".join(part for part in (f"## {file.name}", title, more.strip(), folded) if part)
