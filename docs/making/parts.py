"""What stands in for each mark `<!-- made: … -->` of a page when the site is built."""

import re
from collections.abc import Callable

from making.commands import command_sections
from making.gradients import gradient_picture
from making.ladder import ladder_picture
from making.names import name_sections
from making.places import place_picture
from making.programs import program_sections

MARK = re.compile(r"<!-- made: ([\w ]+?)(?: of ([\w-]+))? -->")


def completed(page: str) -> str:
    """A page with what its marks ask for."""
    made: dict[str, Callable[[str], str]] = {
        "gradient": gradient_picture,
        "places": place_picture,
        "ladder": lambda _: ladder_picture(page),
        "commands": lambda _: command_sections(),
        "names": lambda _: name_sections(),
        "examples": lambda _: program_sections(),
    }
    return MARK.sub(lambda mark: made[mark[1]](mark[2]), page)
