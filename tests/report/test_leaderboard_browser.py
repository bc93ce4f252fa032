"""The page of a leaderboard in a real browser: it fits a phone, its table is searched, its plot has two forms."""

import numpy as np
import pytest

from luce.aggregation import PlackettLuce, PseudoRankings, Rankings
from luce.report import write_aggregation

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    rng = np.random.default_rng(0)
    names = [f"a-model-with-a-long-name-instruct-preview-2024-05-13-turbo-{i:02d}" for i in range(40)]
    rankings = Rankings.from_orderings([[names[i] for i in rng.permutation(40)] for _ in range(30)])
    model = PlackettLuce(prior=PseudoRankings(0.5), n_jobs=1).fit(rankings)
    path = tmp_path_factory.mktemp("browser") / "page.html"
    return write_aggregation(path, model, elo={"anchor": 1500.0}, categories={"coding": model})


@pytest.fixture(params=["light-1280", "dark-390"])
def seen(request, browser, page_file):
    scheme, _, width = request.param.partition("-")
    context = browser.new_context(color_scheme=scheme, viewport={"width": int(width), "height": 800})
    page = context.new_page()
    page.goto(page_file.as_uri())
    yield page
    context.close()


def test_no_sideways_scrolling(seen):
    assert seen.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_one_form_of_the_plot_and_no_name_is_cut(seen):
    forms = [each for each in seen.locator("figure.full svg").all() if each.is_visible()]
    assert len(forms) == 1
    frame = forms[0].bounding_box()
    assert frame["width"] == pytest.approx(min(seen.viewport_size["width"], 960) - 40, abs=2)
    for name in forms[0].locator("text").all():
        box = name.bounding_box()
        assert box["x"] >= frame["x"] - 1 and box["x"] + box["width"] <= frame["x"] + frame["width"] + 1


def test_a_table_is_searched(seen):
    rows = seen.locator("#leaderboard tbody tr")
    seen.locator("#leaderboard input").fill("TURBO-07")
    assert [row.is_visible() for row in rows.all()].count(True) == 1
    assert seen.locator("#leaderboard .search .note").inner_text() == "1 of 40"
    seen.locator("#leaderboard input").fill("")
    assert rows.last.evaluate("(row) => !row.hidden")


def test_the_rank_sorts(seen):
    seen.locator("#leaderboard thead th").first.locator("button").click()
    assert seen.locator("#leaderboard tbody tr").first.locator("td").first.inner_text() == "40"


def test_printing_shows_the_whole_table(seen):
    seen.emulate_media(media="print")
    assert seen.locator("#leaderboard .search").is_hidden()
    shown, whole = seen.locator("#leaderboard .wide").evaluate("(each) => [each.clientHeight, each.scrollHeight]")
    assert shown >= whole - 1
