"""Replacement of the placeholders `<!-- generated: … -->` of a page when the site is built."""

import re
from collections.abc import Callable

from generators.commands import command_sections
from generators.examples import example_sections
from generators.ladder import ladder_diagram
from generators.metrics import metric_sections, parameter_table
from generators.objective_pages import objectives_overview
from generators.reference import reference_sections
from luce.metrics import LABEL_METRICS, METRICS

PLACEHOLDER = re.compile(r"<!-- generated: ([\w ]+?) -->")


def fill_placeholders(page: str) -> str:
    """The page with its placeholders replaced."""
    generators: dict[str, Callable[[], str]] = {
        "objectives": objectives_overview,
        "metrics": lambda: metric_sections(METRICS),
        "label metrics": lambda: metric_sections(LABEL_METRICS),
        "metric parameters": parameter_table,
        "ladder": lambda: ladder_diagram(page),
        "commands": command_sections,
        "reference": reference_sections,
        "examples": example_sections,
    }
    return PLACEHOLDER.sub(lambda match: generators[match[1]](), page)
