"""A section for each program of examples/: its docstring, and the source to unfold."""

import ast
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def example_sections() -> str:
    """All programs in alphabetical order."""
    return "\n\n".join(section(file) for file in sorted(EXAMPLES.glob("*.py")))


def section(file: Path) -> str:
    """The docstring of a program, and its folded source."""
    text = file.read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(text)) or ""
    title, _, more = docstring.partition("\n")
    folded = f"<details><summary>The program</summary>\n\n```py\n{text}```\n\n</details>"
    return "\n\n".join(part for part in (f"## {file.name}", title, more.strip(), folded) if part)
