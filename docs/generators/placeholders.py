"""Replacement of the placeholders `<!-- generated: … -->` of a page when the site is built."""

import re
from collections.abc import Callable

from generators.commands import command_sections
from generators.examples import example_sections
from generators.ladder import ladder_diagram
from generators.metrics import metric_plot
from generators.objectives import gradient_plots
from generators.reference import reference_sections

PLACEHOLDER = re.compile(r"<!-- generated: ([\w ]+?)(?: of ([\w-]+))? -->")


def fill_placeholders(page: str) -> str:
    """The page with its placeholders replaced."""
    generators: dict[str, Callable[[str], str]] = {
        "gradient": gradient_plots,
        "metric": metric_plot,
        "ladder": lambda _: ladder_diagram(page),
        "commands": lambda _: command_sections(),
        "reference": lambda _: reference_sections(),
        "examples": lambda _: example_sections(),
    }
    return PLACEHOLDER.sub(lambda match: generators[match[1]](match[2]), page)
