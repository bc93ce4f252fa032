"""What `luce aggregate` prints and writes: the table and the choices behind it, JSON, and the rows of categories."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from luce.cli.output import plain_text, say, show, show_json, show_page_table

PRINTED = 100
"""Items of the printed table, the best ones."""
MANY = 100_000
"""Rows of rankings beyond which the test of the fit takes more than seconds."""
DEVIATIONS = 20
"""First choices, and pairs, of the test of fit in JSON, those that deviate most."""


def check_fit(model: Any) -> Any:
    """Whether the model describes the rankings; it takes a while for many of them."""
    if model.rankings_.n_rows > MANY:
        say("Testing the fit …", style="dim")
    return model.goodness_of_fit()


def print_leaderboard(
    model: Any, fit: Any, table: Any, title: str, categories: Mapping[str, Any], boards: Mapping[str, Any]
) -> None:
    """The table, what changes its numbers, how well the model describes the rankings, and the categories."""
    from luce.report.aggregation import categories_table, choices
    from luce.report.formatting import count
    from luce.report.leaderboard import items_table, weighted_count

    rankings = model.rankings_
    heading = f"{title}: {weighted_count(rankings.weights.sum())} of {count(rankings.n_items, 'item')}"
    show_page_table(items_table(table.slice(0, PRINTED).to_pylist()), heading, numeric=2)
    if table.num_rows > PRINTED:
        show(f"… {table.num_rows - PRINTED:,} more: --csv writes all items.")
    for name, words in choices(model, table).items():
        show(f"{name}: {plain_text(words)}")
    show(fit)
    if categories:
        show_page_table(categories_table(boards, categories), "Categories (ranks in each: --csv, --json, report)")
    ties = "".join(f", {name} {value:.4f}" for name, value in model.tie_parameters_.items())
    say(f"log-likelihood {model.log_likelihood_:.4f}, AIC {model.aic_:.2f}, BIC {model.bic_:.2f}{ties}", style="dim")


def show_facts(
    model: Any, kind: str | None, fit: Any, table: Any, categories: Mapping[str, Any], boards: Mapping[str, Any]
) -> None:
    """Everything as JSON."""
    tables = {name: getattr(fit, name).slice(0, DEVIATIONS).to_pylist() for name in ("first_choices", "pairs")}
    facts = _facts(model, kind, table)
    facts["goodness_of_fit"] = vars(fit) | {"describes_data": fit.describes_data, **tables}
    if categories:
        facts["categories"] = {name: _facts(each, kind, boards[name]) for name, each in categories.items()}
    show_json(facts)


def _facts(model: Any, kind: str | None, table: Any) -> dict[str, Any]:
    from luce.report.aggregation import choices

    return {
        "n_rankings": model.rankings_.weights.sum(),
        "ties": model.ties_,
        "prior": None if model.prior_ is None else {"type": type(model.prior_).__name__, **asdict(model.prior_)},
        "errors": kind or model.error_kind_,
        "unused": dict(model.unused_),
        "notes": choices(model, table),
        "log_likelihood": model.log_likelihood_,
        "aic": model.aic_,
        "bic": model.bic_,
        "tie_parameters": model.tie_parameters_,
        "worst_quasi_error": list(model.quasi_standard_errors(kind).worst),
        "converged": model.convergence_.converged,
        "items": table.to_pylist(),
    }


def with_categories(table: Any, boards: Mapping[str, Any]) -> Any:
    """The rows of all leaderboards, by category; those of all rankings have none."""
    import pyarrow as pa

    if not boards:
        return table
    named = [(None, table), *boards.items()]
    parts = [each.add_column(0, "category", pa.array([name] * each.num_rows, pa.string())) for name, each in named]
    return pa.concat_tables(parts, promote_options="permissive")
