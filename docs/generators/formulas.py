"""Typeset formulas: the text of a record, such as `Σ_{r ≤ k} Gain(y_r) / log2(1 + r)`, as MathML, which browsers draw.

A formula is the first part of the text, up to a comma, semicolon or colon; what follows explains its symbols. Words of
two or more letters are text, single letters are symbols. `_` and `^` begin a subscript and a superscript.
"""

import re
from html import escape
from itertools import groupby
from typing import NamedTuple

TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<number>\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?(?!\+\+))
    | (?P<function>log[2₂]|(?:log|max|min|softmax|lse|Gain)(?![\w@-]))
    | (?P<name>\w+@\w)
    | (?P<word>[a-z]{2,}_[a-z]{2,}|[A-Za-z][A-Za-z0-9'-]*[A-Za-z0-9](?![_@])|\d\+\+|a(?=\s[A-Za-z]{2}))
    | (?P<symbol>\w)
    | (?P<raised>[²³])
    | (?P<other>.)""",
    re.VERBOSE,
)
LARGE = {"Σ": "∑", "Π": "∏", "∫": "∫"}
CLOSING = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "‖": "‖", "|": "|"}
RAISED = {"²": "2", "³": "3"}
LOWERED = {"₂": "2"}


class Node(NamedTuple):
    """A piece of MathML; `inner` is the same without the parentheses around it."""

    kind: str
    markup: str
    inner: str = ""


def typeset(formula: str) -> str:
    """The formula on a line of its own, and the explanation of its symbols as a paragraph.

    >>> print(typeset("Σ_i s_i, s_i = the score"))
    <div class="formula"><math display="block">...</math></div>
    <BLANKLINE>
    <p class="where"><math><mrow><msub><mi>s</mi><mi>i</mi></msub>...<mo>=</mo></mrow></math> the score.</p>
    """
    nodes = _Parser(formula).nodes("")
    stop = next((i for i, node in enumerate(nodes) if node.kind == "stop"), len(nodes))
    if nodes[0].kind == "text":
        stop = -1  # it begins with words, and is all text
    block = f'<div class="formula"><math display="block">{_row(nodes[:stop])}</math></div>' if stop > 0 else ""
    words = _paragraph(nodes[stop + 1 :])
    return "\n\n".join(filter(None, [block, f'<p class="where">{words}.</p>' if words else ""]))


class _Parser:
    """Nodes of a text, from left to right."""

    def __init__(self, text: str):
        self.tokens = [(match.lastgroup or "", match[0]) for match in TOKEN.finditer(text)]
        self.at = 0

    def nodes(self, end: str, *, small: bool = False) -> list[Node]:
        """The nodes up to a closing sign, which is taken too; in scripts and in text, fractions keep their slash."""
        found: list[Node] = []
        while self.at < len(self.tokens):
            text = self.peek()
            if text == end:
                self.at += 1
                break
            if text == "/" and found and not small:
                self.at += 1
                self.skip_space()
                if found[-1].kind == "space":
                    found.pop()
                above, below = found.pop(), self.atom()
                if below.kind == "large":
                    below = _same("math", f"<mrow>{below.markup}{self.atom().markup}</mrow>")
                found.append(_same("math", f"<mfrac>{above.inner}{below.inner}</mfrac>"))
            else:
                found.append(self.atom(small))
                small = small or (not end and found[-1].kind == "stop")
        return found

    def skip_space(self) -> None:
        while self.at < len(self.tokens) and self.tokens[self.at][0] == "space":
            self.at += 1

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def atom(self, small: bool = False) -> Node:
        """One node with its scripts; a function with its argument."""
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "space":
            return Node("space", "")
        if kind == "word":
            return self.scripted(Node("text", f"<mtext>{escape(text)}</mtext>"), small)
        if text in ",;:." and kind == "other":
            return Node("stop" if self.peek()[:1].isspace() else "sign", f"<mo>{text}</mo>")
        if text in CLOSING and not (text == "|" and self.peek().isspace()):
            return self.scripted(self.fenced(text, small), small)
        if text == "#":
            inside = self.atom(small)
            return _same("math", f"<mrow><mo>#</mo>{inside.markup}</mrow>")
        if text == "∂":
            return _same("math", f"<mrow><mo>∂</mo>{self.atom(small).markup}</mrow>")
        if text == "½":
            return _same("math", "<mfrac><mn>1</mn><mn>2</mn></mfrac>")
        if kind == "function":
            return self.function(text, small)
        if text in LARGE:
            return self.scripted(_same("large", f'<mo movablelimits="true">{LARGE[text]}</mo>'), small)
        if kind in ("symbol", "name"):
            tag = "mi" if kind == "symbol" else "mtext"
            node = self.scripted(_same("math", f"<{tag}>{text}</{tag}>"), small)
            return self.applied(node, small) if text in ("P", "E", "F", "π") or kind == "name" else node
        if kind == "number":
            return self.scripted(_same("number", f"<mn>{text}</mn>"), small)
        return _same("sign", f"<mo>{escape(text)}</mo>")

    def function(self, text: str, small: bool) -> Node:
        name = f"<mi>{text}</mi>"
        if text in ("log2", "log₂"):
            name = "<msub><mi>log</mi><mn>2</mn></msub>"
        return self.applied(self.scripted(_same("math", name), small), small)

    def applied(self, node: Node, small: bool) -> Node:
        """A function with the parentheses after it, if there are any."""
        if self.peek() not in ("(", "[", "{"):
            return node if node.markup[-5:] == "text>" else _same("math", node.markup + '<mspace width="0.17em"/>')
        return self.scripted(_same("math", f"<mrow>{node.markup}{self.atom(small).markup}</mrow>"), small)

    def fenced(self, opening: str, small: bool) -> Node:
        inside = _row(self.nodes(CLOSING[opening], small=small))
        tall = str("<mfrac" in inside).lower()
        marks = (f'<mo stretchy="{tall}">{mark}</mo>' for mark in (opening, CLOSING[opening]))
        return Node("math", inside.join(marks).join(("<mrow>", "</mrow>")), inside if opening == "(" else "")

    def scripted(self, node: Node, small: bool) -> Node:
        """The node with the subscripts and superscripts after it."""
        below = above = ""
        while (sign := self.peek()) and (sign in "_^" or sign in RAISED or sign in LOWERED):
            self.at += 1
            if sign == "_":
                below = self.script(keep=True)
            elif sign == "^":
                above = self.script(keep=False)
            elif sign in RAISED:
                above = f"<mn>{RAISED[sign]}</mn>"
            else:
                below = f"<mn>{LOWERED[sign]}</mn>"
        if not (below or above):
            return node._replace(inner=node.inner or node.markup)
        if node.kind == "large":
            return _same("large", f"<munder>{node.markup}{below}</munder>")
        tag = "msubsup" if below and above else "msub" if below else "msup"
        return _same("math", f"<{tag}>{node.markup}{below}{above}</{tag}>")

    def script(self, keep: bool) -> str:
        """A script: a group in braces, parentheses (kept in a subscript), or one token, with or without a minus."""
        kind, text = self.tokens[self.at]
        self.at += 1
        if text == "{":
            return _row(self.nodes("}", small=True))
        if text == "(":
            inside = _row(self.nodes(")", small=True))
            return f"<mrow><mo>(</mo>{inside}<mo>)</mo></mrow>" if keep else inside
        if text == "−":
            return f"<mrow><mo>−</mo>{self.script(keep)}</mrow>"
        if kind == "word" and len(text) == 2:  # two indices, as in c_ij
            return "<mrow>{}</mrow>".format("".join(f"<mi>{letter}</mi>" for letter in text))
        tag = "mn" if kind == "number" else "mi" if kind == "symbol" else "mtext"
        return f"<{tag}>{escape(text)}</{tag}>"


def _same(kind: str, markup: str) -> Node:
    return Node(kind, markup, markup)


def _row(nodes: list[Node]) -> str:
    """The nodes side by side; a space next to words is kept."""
    parts = []
    for i, node in enumerate(nodes):
        beside = {each.kind for each in nodes[max(i - 1, 0) : i + 2]}
        if node.kind == "space":
            parts.append("<mtext>&nbsp;</mtext>" if "text" in beside else "")
        elif node.kind == "stop":
            parts.append(f'{node.markup}<mspace width="0.2em"/>')
        else:
            parts.append(node.markup)
    return f"<mrow>{''.join(parts)}</mrow>"


def _paragraph(nodes: list[Node]) -> str:
    """Words as text and the rest as formulas within it, so that a line can break between them."""
    parts = []
    for is_text, group in groupby(nodes, key=lambda node: node.kind in ("text", "stop")):
        run = list(group)
        inside = [node for node in run if node.kind != "space"]
        if is_text or all(node.kind in ("number", "space") for node in run):
            parts.append("".join(re.sub("<.*?>", "", node.markup) if node.markup else " " for node in run))
        else:
            before, after = (" " if run[end].kind == "space" else "" for end in (0, -1))
            parts.append(f"{before}<math>{_row(run)}</math>{after}" if inside else " ")
    words = "".join(parts).strip()
    return words[:1].upper() + words[1:]
