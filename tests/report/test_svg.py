"""Pictures: colours belong to the page, text stays text, nothing reaches outside the picture."""

import numpy as np
import pytest

from luce.report.curves import RankerCurve, curves
from luce.report.data_card import bars, histogram
from luce.report.results import Whisker, whiskers
from luce.report.svg import picture


def curve(values, best):
    (made,) = curves("b", [RankerCurve("ranker", "loss", np.arange(float(len(values))), values, best)])
    return made


COLOURS = "--ink", "--muted", "--line", "--accent", "--loss", "--third", "--fourth"
PICTURES = [
    whiskers("a", "ndcg", [Whisker("x", 0.5, 0.4, 0.6, True), Whisker("y", 0.3, 0.2, 0.4, False)], "95 %"),
    curve(1 / np.arange(1.0, 31.0), 29),
    bars("c", "Rows by grade", ["0", "1"], np.array([3, 1]), "grade"),
    histogram("d", "Lists by length", np.array([0.0, 1.0, 2.0]), np.array([5, 2]), "rows"),
]


@pytest.mark.parametrize("made", PICTURES, ids=lambda made: made.description[:5])
def test_every_colour_is_one_of_the_page(made):
    assert "var(--ink)" in made.svg and "var(--accent)" in made.svg
    for property in ("fill", "stroke"):
        values = {part.split(";")[0].split('"')[0] for part in made.svg.split(f"{property}: ")[1:]}
        assert values <= {"none", *(f"var({name})" for name in COLOURS)}
    texts = made.svg.split("<text")[1:]
    assert texts and all("fill: var(" in text.partition(">")[0] for text in texts), "black text vanishes in the dark"


@pytest.mark.parametrize("made", PICTURES, ids=lambda made: made.description[:5])
def test_a_picture_keeps_to_itself(made):
    assert made.svg.startswith(('<svg viewBox="0 0 360 ', '<svg viewBox="0 0 172 ')) and 'role="img"' in made.svg
    assert f'aria-label="{made.description}"' in made.svg
    for outside in ("http", "<style", "DejaVu", "xmlns", "<!"):
        assert outside not in made.svg
    assert "width" not in made.svg.partition(">")[0], "the page sets the size"


def test_a_colour_that_the_page_does_not_have_is_a_mistake():
    with pytest.raises(KeyError, match="#ff0000"):
        picture("x", "red", 50, lambda axes: axes.plot([0, 1], color="#ff0000"))


def test_a_curve_joins_what_was_measured():
    now_and_then = np.where(np.arange(20) % 2, np.nan, np.arange(20.0))
    made = curve(now_and_then, 0)
    assert max(path.partition('"')[0].count("L") for path in made.svg.split('<path d="')) == 9


def test_ticks_show_whole_values():
    made = curve(100_000 + np.array([0.3, 0.2, 0.1]), 2)
    ticks = [text.partition("<")[0] for text in made.svg.split('">')]
    assert "100000.2" in " ".join(ticks) and not [tick for tick in ticks if tick.startswith("+")]
