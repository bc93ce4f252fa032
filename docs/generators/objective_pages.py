"""A page for each objective, written into docs/objectives/ when the site is built, and their overview by family."""

import doctest
import re
from collections.abc import Iterable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from generators.bibliography import works_cited
from generators.formulas import typeset
from generators.objectives import gradient_plots
from luce.objectives import OBJECTIVES, Objective

FAMILIES = {
    "Plackett-Luce likelihood": (
        "Plackett-Luce likelihoods",
        "A ranking is drawn item by item, each with probability proportional to e^s.",
    ),
    "ordered partitions": (
        "Ordered partitions",
        "All items of a grade are chosen together as a subset.",
    ),
    "softmax": (
        "Softmax losses",
        "The scores define a distribution over the items of a list, which is compared with one defined by the labels.",
    ),
    "cosine": ("Cosine losses", "Only the direction of the score vector matters, not its length."),
    "pointwise": ("Pointwise losses", "The loss is a sum over items; lists do not matter."),
    "listwise regression": (
        "Listwise regression",
        "Each score has a target that depends on the list.",
    ),
    "pairwise": ("Pairwise losses", "Every pair of items with different labels should be ordered correctly."),
    "pairwise with ties": (
        "Pairwise losses with ties",
        "Every pair counts, and a tie is an outcome of its own.",
    ),
    "pairwise, metric-weighted": (
        "Pairwise losses weighted by a metric",
        "Pairs are weighted by their effect on NDCG.",
    ),
    "expected metric": (
        "Expected metrics",
        "The expectation of a metric over rankings drawn from the policy, estimated from samples.",
    ),
    "smooth metric": (
        "Smooth metrics",
        "A metric whose ranks are sums of sigmoids over the pairs, and so have a derivative.",
    ),
}
"""The heading and the description of each family."""
SYMBOLS = (
    "*s* are the scores and *y* the labels of the *n* items of a list, *w* the item weights, 1 by default; lse is "
    "log-sum-exp."
)
SATURATES = (
    "The loss is bounded: where scores are far apart, its gradient vanishes, even if their order is wrong. Keep scores "
    "small when training starts (standardize the features, choose a small learning rate), or start from a model "
    "trained with a likelihood."
)
EXAMPLE = """
>>> import luce
>>> from luce.data.synthetic import web_search
>>> train = web_search(100, n_features=10, mean_length=12, seed=1).dataset
>>> test = web_search(100, n_features=10, mean_length=12, seed=2).dataset
>>> ranker = luce.LinearRanker("{name}").fit(train)
>>> round(luce.evaluate(ranker.predict(test), test, "ndcg@10").means["ndcg@10"], 2)
"""
FULL_ORDER_EXAMPLE = """
>>> import luce
>>> import numpy as np
>>> features = np.random.default_rng(1).normal(size=(40, 10, 3))  # 40 lists of 10 items
>>> places = (-features @ [2, 1, 0]).argsort(axis=1).argsort(axis=1)
>>> labels = np.maximum(3 - places, 0)  # 3, 2 and 1 for the first three, 0 for the others
>>> lists = luce.Dataset(features.reshape(-1, 3), labels=labels.ravel(), offsets=np.arange(0, 401, 10))
>>> ranker = luce.LinearRanker("pl-topk").fit(lists)
>>> round(luce.evaluate(ranker.predict(lists), lists, "ndcg@3").means["ndcg@3"], 2)
"""
LIST_EXAMPLE = """
>>> found = luce.objective("{name}").value_and_gradient({scores}, [2, 1, 0])
>>> found.loss.round(3), found.gradient.round(3)
"""


def write_objective_pages(folder: Path) -> None:
    """Write the page of every objective, and remove those of objectives that are no more."""
    folder.mkdir(exist_ok=True)
    for page in folder.glob("*.md"):
        if page.stem not in OBJECTIVES:
            page.unlink()
    for name, one in OBJECTIVES.items():
        (folder / f"{name}.md").write_text(objective_page(one), encoding="utf-8")


def objectives_overview() -> str:
    """The objectives by family, with a link to the page of each."""
    parts = []
    for family, (title, shared) in FAMILIES.items():
        members = [one for one in OBJECTIVES.values() if one.family == family]
        rows = [[f"[{one.name}](objectives/{one.name}.md)", one.summary] for one in members]
        parts += [f"## {title}", shared, table(["objective", "loss"], rows)]
    names = "\n".join(f"objectives/{name}" for name in OBJECTIVES)
    return joined([*parts, f"```{{toctree}}\n:hidden:\n\n{names}\n```"])


def objective_page(one: Objective) -> str:
    """All that is known of an objective."""
    facts = one.facts()
    family, shared = FAMILIES[one.family]
    others = [each.name for each in OBJECTIVES.values() if each.family == one.family and each is not one]
    options = [
        [f"`{name}`", f"{sentence(each['meaning'])} Values: {escaped(each['allowed'])}; default `{each['default']!r}`."]
        for name, each in facts["options"].items()
    ]
    return joined(
        [
            f"# {one.name}",
            one.summary,
            f"Also called {', '.join(one.synonyms)}." if one.synonyms else "",
            typeset(one.formula),
            SYMBOLS,
            gradient_plots(one.name),
            "## When to use it",
            linked(one.use_when, one.name),
            SATURATES if one.saturates else "",
            "## What it can do",
            table(["", ""], abilities(one)),
            *(["## Options", table(["option", "meaning"], options)] if options else []),
            "## Cost",
            f"O({one.cost}) time for a list of n items.",
            "## Example",
            f"```python\n{example(one)}\n```",
            "## References",
            f"{escaped(one.paper[0].upper() + one.paper[1:])}.",
            "\n".join(f"- {work}" for work in works_cited(one.paper)),
            "## See also",
            f"{family}: {shared}" + linked(f" The others are {', '.join(others)}." if others else "", one.name),
        ]
    )


def abilities(one: Objective) -> list[list[str]]:
    """What an objective can and cannot do, with which labels, weights, models and devices."""
    fused = "" if one.label_rows is None else "; with the last layer in one by `luce.torch.fused_linear_loss`"
    newton = "the sum of the second derivatives of its rows"
    if one.leaf_sums is not None:
        newton = "its exact second derivative"
    elif not one.hessian:
        newton = "the size of its gradients in place of a second derivative"
    probability = one.loss_is_log_probability or one.log_probability is not None
    rows = [
        ["Lists whose labels are all equal", "are learned from" if one.uses_ties else "have no effect"],
        ["Lists of one item", "are learned from" if one.pointwise else "have no effect"],
        ["Item weights", "yes" if one.item_weights else f"no: {one.no_item_weights.rstrip('.')}"],
        ["Linear models", "trained by gradient descent" if one.gradient_only else "trained by L-BFGS"],
        ["Boosted trees", f"the step of a leaf uses {newton}"],
        ["PyTorch", "on a CPU and on a GPU" + fused],
        ["Log-probabilities", "`luce.log_prob`" if probability else "none"],
        ["Random numbers", "yes; the same seed gives the same model" if one.random else "none"],
        ["A constant added to all scores of a list", "changes nothing" if one.shift_invariant else "changes the loss"],
    ]
    if one.one_output_per_grade:
        rows.append(["Outputs", "one per grade; items are ranked by their expected grade"])
    if one.nuisance:
        rows.append(["Learned with the model", ", ".join(f"`{name}`" for name in one.nuisance)])
    return rows


def example(one: Objective) -> str:
    """A ranker trained with the objective, and the loss of one list, with the results of this build."""
    outputs = [[0.0, 0.5, 1.0], [0.0, 0.5, 0.0], [0.5, 0.0, 0.0]]
    scores = outputs if one.one_output_per_grade else [1.0, 0.5, 0.0]
    code = FULL_ORDER_EXAMPLE if one.name == "pl-topk" else EXAMPLE
    return with_results((code + LIST_EXAMPLE.strip()).format(name=one.name, scores=scores).strip())


def with_results(code: str) -> str:
    """The code of a doctest, with the result of each expression below it.

    >>> with_results(">>> x = 2\\n>>> x + 1").splitlines()
    ['>>> x = 2', '>>> x + 1', '3']
    """
    names: dict[str, object] = {}
    lines = []
    for each in doctest.DocTestParser().get_examples(code):
        with redirect_stdout(StringIO()) as shown:
            exec(compile(each.source, "<example>", "single"), names)
        first, *more = each.source.splitlines()
        lines += [f">>> {first}", *(f"... {line}" for line in more), *shown.getvalue().splitlines()]
    return "\n".join(lines)


def linked(words: str, own: str) -> str:
    """Text in which the names of other objectives are links to their pages."""
    names = sorted((name for name in OBJECTIVES if name != own), key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, names))})(?![\w-])")
    return pattern.sub(lambda match: f"[{match[1]}]({match[1]}.md)", escaped(words))


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def escaped(words: str) -> str:
    """Text without markup."""
    return re.sub(r"([*_\[\]<>^])", r"\\\1", words)


def sentence(words: str) -> str:
    return escaped(f"{words[0].upper()}{words[1:]}.")


def joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"
