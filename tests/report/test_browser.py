"""The page in a real browser: nothing fails, nothing is asked for, links lead to lists, tables sort, phones suffice."""

from io import BytesIO

import numpy as np
import pytest
from matplotlib.image import imread

from luce.data.synthetic import web_search
from luce.metrics import compare_results, evaluate
from luce.rankers.importance import Importance
from luce.report import Cost, write_report

LONG = "a-ranker-with-a-name-that-no-phone-has-room-for, layers=256,128,64"

# Playwright's own loop and pipes are closed when its process ends, which pytest would report as ours.
pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    """A page with every section, two of its rankers with a long name."""
    data = web_search(40, n_features=6, mean_length=15, seed=0, missing=0.02).dataset
    rng = np.random.default_rng(0)
    scores = {"random order": rng.random(data.n_rows), "good": data.labels + rng.normal(size=data.n_rows)}
    scores |= {f"{LONG}, {i}": 0.5 * data.labels + rng.normal(size=data.n_rows) for i in range(2)}
    metrics = "ndcg@10, ndcg@5, ndcg@1, err, map, arp"
    results = {name: evaluate(values, data, metrics, n_bootstrap=50) for name, values in scores.items()}
    history = [{"iteration": i, "loss": 1 / i, "validation": 0.6 - 0.3 / i} for i in range(1, 30)]
    names = tuple(f"a feature with a long name {i}" for i in range(6))
    return write_report(
        tmp_path_factory.mktemp("browser") / "page.html",
        title="Rankers compared",
        summary="The good one is best.",
        command="luce compare " + "a-long-file-name " * 20,
        dataset=data,
        results=results,
        comparisons={metric: compare_results(results, metric, n_permutations=100) for metric in ("ndcg@10", "arp")},
        costs={name: Cost(1.5, 0.2, 3e8) for name in list(results)[1:]},
        histories=dict.fromkeys(list(results)[1:], history),
        validation_metric="ndcg@10",
        scores=scores,
        importances={name: Importance("gain", names, rng.random(6)) for name in ("good",)},
        settings={LONG: LONG * 3},
    )


@pytest.fixture(params=["light-1280", "dark-390"])
def seen(request, browser, page_file):
    """The page, opened; at the end nothing has failed and nothing but the file was asked for."""
    scheme, _, width = request.param.partition("-")
    context = browser.new_context(color_scheme=scheme, viewport={"width": int(width), "height": 800})
    page, failures, asked = context.new_page(), [], []
    page.on("console", lambda message: failures.append(message.text))
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_file.as_uri())
    yield page
    context.close()
    assert failures == []
    assert {url.partition("#")[0] for url in asked} == {page_file.as_uri()}


def test_no_sideways_scrolling_even_with_all_open(seen):
    seen.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    assert seen.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.parametrize("section", ["results", "calibration"])
def test_a_table_shows_at_its_edge_that_there_is_more(seen, section):
    """A shadow at the right edge, until the table is scrolled to its end; none where everything fits."""
    table = seen.locator(f"#{section} .wide").first
    table.scroll_into_view_if_needed()
    hidden = table.evaluate("(each) => each.scrollWidth - each.clientWidth")

    def shade() -> float:
        """How far the color of the last column of pixels, above the text, is from that of the page."""
        paper = imread(BytesIO(seen.screenshot()))[0, 0, :3]
        return float(np.abs(imread(BytesIO(table.screenshot()))[2, -1, :3] - paper).max())

    assert (shade() > 0.1) is (hidden > 1)
    table.evaluate("(each) => { each.scrollLeft = each.scrollWidth; }")
    assert shade() < 0.02


def test_light_and_dark(seen):
    shades = (
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('svg text')).fill]"
    )
    paper, ink = (sum(map(int, colour[4:-1].split(","))) for colour in seen.evaluate(shades))
    dark = seen.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert (paper < 150 and ink > 500) if dark else (paper > 700 and ink < 350)


def test_contents_lead_to_their_sections(seen):
    for link in seen.locator("nav a").all():
        link.click()
        place = seen.locator(link.get_attribute("href")).bounding_box()
        height, bottom = seen.evaluate("[innerHeight, document.documentElement.scrollHeight - innerHeight - scrollY]")
        assert -2 <= place["y"] <= (60 if bottom > 2 else height), link.inner_text()


def test_a_list_opens_and_closes(seen):
    one = seen.locator("details.list").first
    for visible in (True, False):
        one.locator("summary").click()
        assert one.locator("tbody tr").first.is_visible() is visible


def test_a_click_on_a_heading_sorts(seen):
    table = seen.locator("#results table").first
    before = table.locator("tbody tr").all_inner_texts()
    head = table.locator("thead th").nth(1)
    for order, sign in (("descending", -1), ("ascending", 1)):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == order
        values = [float(cell.get_attribute("data-value")) for cell in table.locator("tbody td:nth-child(2)").all()]
        assert values == sorted(values, key=lambda value: sign * value) and len(set(values)) == 4
    fits = table.locator("thead th", has_text="Fit")
    fits.locator("button").click()
    assert table.locator("tbody th").last.inner_text() == "random order", "what is not known comes last"
    table.locator("thead th").first.locator("button").click()
    names = table.locator("tbody th").all_inner_texts()
    assert names == sorted(names)
    assert sorted(table.locator("tbody tr").all_inner_texts()) == sorted(before)


def test_what_is_endless_sorts_as_the_greatest(seen):
    table = seen.locator("#calibration table")
    name = table.locator("tbody th").nth(1).inner_text()
    table.locator("tbody tr").nth(1).locator("td").nth(1).evaluate("cell => { cell.dataset.value = 'inf'; }")
    table.locator("thead th", has_text="temperature").locator("button").click()
    assert table.locator("tbody th").first.inner_text() == name


def test_the_keyboard_reaches_everything_and_shows_where_it_is(seen):
    for wanted in ("A", "DIV", "BUTTON", "SUMMARY"):
        for _ in range(200):
            seen.keyboard.press("Tab")
            if seen.evaluate("document.activeElement.tagName") == wanted:
                break
        assert seen.evaluate("document.activeElement.tagName") == wanted
        style = "getComputedStyle(document.activeElement)"
        assert seen.evaluate(f"{style}.outlineStyle === 'solid' && parseFloat({style}.outlineWidth) >= 2")
    seen.keyboard.press("Enter")
    assert seen.evaluate("document.activeElement.parentElement.open")


def test_the_page_is_whole_without_javascript(browser, page_file):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_file.as_uri())
    assert page.locator("#results tbody tr").first.is_visible()
    assert page.locator("button").count() == 0
    page.locator("details.list summary").first.click()
    assert page.locator("details.list article").first.is_visible()
    context.close()


def test_printing_opens_every_list(browser, page_file):
    context = browser.new_context()
    page = context.new_page()
    page.goto(page_file.as_uri())
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("[...document.querySelectorAll('details')].every((each) => each.open)")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("[...document.querySelectorAll('details')].every((each) => !each.open)")
    context.close()
