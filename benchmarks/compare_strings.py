"""The text for users that differs between two commits: what a release or a translation has to look at.

python benchmarks/compare_strings.py v0.1.0 HEAD > strings.tsv

String literals with a space in them, of all modules of the package but no docstrings, as rows of file, old and new
text. A new string is paired with the old one of its file that is most like it; what has no such one stands alone.
"""

import argparse
import ast
import difflib
import subprocess
from collections.abc import Iterator

ALIKE = 0.5
"""How similar two strings must be, from 0 to 1, to count as one that was changed."""


def texts_of(source: str) -> list[str]:
    r"""The strings of a module in order, without docstrings; an expression in an f-string is shown as {…}.

    >>> texts_of('"A module."\nraise ValueError(f"Got {x + 1} of " "them.", "a b", "name")')
    ['Got {…} of them.', 'a b']
    """
    tree = ast.parse(source)
    skipped: set[int] = set()
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            text = node.value
        else:
            continue
        if " " in text.strip():
            found.append((node.lineno, node.col_offset, text))
    return [text for _, _, text in sorted(found)]


def changed(before: list[str], after: list[str]) -> Iterator[tuple[str, str]]:
    """Pairs of old and new texts; one of a pair is empty where a text was added or removed.

    >>> list(changed(["Ranks it may have", "the same"], ["the same", "Ranks it has", "New one"]))
    [('Ranks it may have', 'Ranks it has'), ('', 'New one')]
    """
    gone = [text for text in before if text not in after]
    for text in after:
        if text not in before:
            near = difflib.get_close_matches(text, gone, n=1, cutoff=ALIKE)
            gone = [other for other in gone if other not in near]
            yield (near[0] if near else "", text)
    yield from ((text, "") for text in gone)


def git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=False).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("head")
    given = parser.parse_args()
    for path in git("diff", "--name-only", "--no-renames", given.base, given.head, "--", "src").split():
        if path.endswith(".py"):
            versions = [texts_of(git("show", f"{commit}:{path}")) for commit in (given.base, given.head)]
            for old, new in changed(*versions):
                print(path, *(" ".join(text.split()) for text in (old, new)), sep="\t")


if __name__ == "__main__":
    main()
