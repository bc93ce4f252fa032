"""How every page is put together: templates, number formats, the section on how to repeat it, and the file."""

import os
import platform
import sys
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from luce.errors import load_package
from luce.files import replacing
from luce.report.formatting import amount, count, decimal, duration, number, p_value, plain, share
from luce.threads import thread_count

ENGINES = "torch", "lightgbm", "xgboost", "catboost"
"""Packages whose versions are shown where they were used."""


def environment() -> Any:
    """The templates of the pages and the formats of their numbers."""
    jinja2 = load_package("jinja2", "report")
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("luce.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(decimal=decimal, number=number, count=count, p_value=p_value, plain=plain, share=share)
    templates.filters.update(duration=duration, amount=amount)
    return templates


def page_of(title: str, summary: str, sections: Mapping[str, Any], contents: Mapping[str, str] | None = None) -> str:
    """The HTML of a page: of each section templates/NAME.html.j2.

    `contents` is a line for each section in a table of contents; a page that has one can also sort and open.
    """
    templates = environment()
    context = {
        "title": title,
        "summary": summary,
        "sections": sections,
        "contents": contents,
        "script": _script(templates),
    }
    text: str = templates.get_template("page.html.j2").render(context)
    return text


def _script(templates: Any) -> dict[str, str]:
    """The page's own lines of JavaScript, and the digest by which the browser knows that they are ours."""
    text = templates.loader.get_source(templates, "page.js")[0]
    return {"text": text, "digest": f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"}


def write_page(path: str | os.PathLike[str], page: str) -> Path:
    """Write a page whole or not at all, and give back its path."""
    with replacing(path) as partial:
        partial.write_text(page, encoding="utf-8", newline="\n")
    return Path(path)


def repeat_section(command: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What someone needs to do it again: the command, the settings, the versions and the machine."""
    return {"command": command, "settings": settings, "versions": versions()}


def versions() -> dict[str, str]:
    """Versions of what computes, and the machine."""
    packages = {package: version(package) for package in ("luce", "numpy", "scipy", "numba")}
    packages |= {package: str(sys.modules[package].__version__) for package in ENGINES if sys.modules.get(package)}
    machine = {"platform": platform.platform(), "cores": str(thread_count(-1))}
    return {"python": platform.python_version(), **packages, **machine}
