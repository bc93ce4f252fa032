"""The documentation site builds without a warning, holds every name there is, and loads nothing from elsewhere."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import luce
from luce.cli import COMMANDS
from luce.metrics import LABEL_METRICS, METRICS
from luce.objectives import OBJECTIVES

pytestmark = pytest.mark.slow
DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted([page.stem for page in DOCS.glob("*.md")] + [f"objectives/{name}" for name in OBJECTIVES])
LOADED = {
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "object": "data",
    "use": "href",
}

TOO_WIDE = """() => [...document.querySelectorAll("article *")]
    .filter(each => !each.closest("pre, .formula, .table-wrapper, .headerlink"))
    .filter(each => each.getBoundingClientRect().right > 391)
    .map(each => each.outerHTML.slice(0, 80))"""
"""What reaches beyond the right edge; code, formulas and tables scroll by themselves."""


class SitePage(HTMLParser):
    """The ids, links, loaded resources and pictures of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given["id"]} if given.get("id") else set()
        self.links += [given["href"]] if tag == "a" and given.get("href") else []
        self.loaded += [given[LOADED[tag]]] if given.get(LOADED.get(tag, "")) else []
        self.pictures += [given] if tag == "svg" and "role" in given else []


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for package in ("sphinx", "furo", "myst_parser", "sphinx_copybutton"):
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-E", "-d", str(folder / "trees")]
    built = subprocess.run([*command, str(DOCS), str(folder / "html")], capture_output=True, text=True)
    assert built.returncode == 0 and not built.stderr.strip(), built.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site):
    found = {page.relative_to(site).with_suffix("").as_posix(): page for page in site.rglob("*.html")}
    return {name: SitePage(page.read_text(encoding="utf-8")) for name, page in found.items()}


def test_every_page_is_in_the_contents(pages):
    shown = {urlsplit(link).path.removesuffix(".html") for link in pages["index"].links}
    assert set(PAGES) - {"index"} <= shown
    assert set(PAGES) <= set(pages)


def test_links_and_anchors_inside_the_site_hold(site, pages):
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                assert parts.scheme == "https" and "." in parts.netloc, f"{name}: {link}"
                continue
            page_file = site / f"{name}.html"
            target = (page_file.parent / unquote(parts.path)).resolve() if parts.path else page_file
            assert target.exists(), f"{name}: there is no {link}"
            if parts.fragment and target.suffix == ".html":
                ids = pages[target.relative_to(site.resolve()).with_suffix("").as_posix()].ids
                assert unquote(parts.fragment) in ids, f"{name}: there is no {link}"


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for name, page in pages.items():
        for place in page.loaded:
            parts = urlsplit(place)
            assert not parts.scheme and not parts.netloc, f"{name} loads {place}"
            assert ((site / name).parent / unquote(parts.path)).exists(), f"{name} lacks {place}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet.name


def test_every_name_has_its_place(pages):
    assert set(METRICS) | set(LABEL_METRICS) <= pages["metrics"].ids
    assert set(COMMANDS) <= pages["commands"].ids
    assert {f"luce.{name}" for name in luce._HOME} <= pages["reference"].ids
    programs = [file.stem.replace("_", "-") for file in (DOCS.parent / "examples").glob("*.py")]
    assert programs and {f"{name}-py" for name in programs} <= pages["examples"].ids


def test_options_keep_their_dashes(site):
    assert "--read label=clicks --read" in (site / "commands.html").read_text(encoding="utf-8")


def test_every_objective_has_two_pictures_that_can_be_read_aloud(site, pages):
    said = [picture["aria-label"] for name in OBJECTIVES for picture in pages[f"objectives/{name}"].pictures]
    for name in OBJECTIVES:
        assert len([words for words in said if words.startswith(f"Negative gradient of {name} ")]) == 2
        text = (site / "objectives" / f"{name}.html").read_text(encoding="utf-8")
        assert not re.search(r'"[^"]*\bnan\b[^"]*"/>', text)
    for name, metric in METRICS.items():
        drawn = [p for p in pages["metrics"].pictures if p["aria-label"].startswith(f"{name} by the position")]
        assert len(drawn) == (0 if metric.is_stochastic else 1)
    assert all(len(words) > 20 and "nan" not in words for words in said)


def test_every_objective_has_a_page_with_its_formula_and_an_example(site):
    for name, record in OBJECTIVES.items():
        text = (site / "objectives" / f"{name}.html").read_text(encoding="utf-8")
        titles = re.findall(r"<h2>(.*?)<", text)
        assert titles[:2] == ["When to use it", "What it can do"] and "References" in titles
        assert ("Options" in titles) == bool(record.option_specs)
        assert "<math" in text and 'class="gp">' in text and 'class="go">' in text  # prompts, and output below them
        assert ("even if their order is wrong" in text) == record.saturates


def test_pictures_show_what_the_code_computes(pages):
    """The negative gradient at the scores shown, and the value of the metric at each position."""
    found = spoken(pages["objectives/listnet"], "Negative gradient of listnet for each item. ")
    grades, scores = zip(*re.findall(r"grade (\d) at score (-?[\d.]+): ", found), strict=True)
    gradient = OBJECTIVES["listnet"].value_and_gradient(list(map(float, scores)), list(map(float, grades))).gradient
    assert [float(each) for each in re.findall(r": (-?[\d.]+\d)", found)] == (-gradient).round(2).tolist()
    assert "1: 1, 2: 0.631, 3: 0.5" in spoken(pages["metrics"], "ndcg by the position")


def spoken(page, beginning):
    """The description of the one picture that begins so."""
    (found,) = (each["aria-label"] for each in page.pictures if each["aria-label"].startswith(beginning))
    return found


def test_the_decision_picture_shows_the_questions_of_its_page(site):
    text = (site / "which_objective.html").read_text(encoding="utf-8")
    asked = re.findall(r"^\d+\. \*\*(.+?)\*\*", (DOCS / "which_objective.md").read_text("utf-8"), flags=re.MULTILINE)
    drawn = re.findall(r'<svg class="(?:wide|narrow)".*?</svg>', text)
    assert len(asked) >= 5 and len(drawn) == 2
    for picture in drawn:
        words = re.sub(r"</text><text[^>]*>", " ", picture)
        assert all(each in words for each in asked)
        assert picture.count('class="answer box"') == len(asked)


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_reads_it_from_disk(site, browser, scheme):
    """On a phone's width nothing runs out of a page, search finds, and there is no error and no request elsewhere."""
    page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme=scheme)
    amiss: list[str] = []
    page.on("console", lambda message: amiss.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: amiss.append(str(error)))
    page.on("request", lambda request: amiss.append(request.url) if request.url.startswith("http") else None)
    for name in PAGES:
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate(TOO_WIDE) == [], f"{name} runs out of a phone's screen"
    page.goto((site / "search.html").as_uri() + "?q=listmle")
    page.wait_for_selector("#search-results a")
    assert "objectives/listmle.html" in page.inner_html("#search-results")
    page.close()
    assert not amiss
