"""The sweep over crossings against every interval looked at, and the choice among the intervals."""

import itertools

import numpy as np
import pytest

from luce.kernels import line_search
from luce.kernels.line_search import best_time, changes, reference
from luce.kernels.place_sums import CASCADE, COUNT, PAIRS, SUM, Places
from luce.threads import SMALL


def made(rng, sizes, kind, depth, whole):
    """Lines and worths of some lists; whole numbers make lines that are the same, parallel, or meet in one point."""
    n = sum(sizes)
    lines = rng.integers(-2, 3, size=(2, n)).astype(float) if whole else rng.normal(size=(2, n))
    worths = rng.integers(0, 2, size=n).astype(float) if kind == COUNT or whole else rng.random(n)
    discounts = np.zeros(max(sizes) + 1)
    discounts[:depth] = rng.random(min(depth, len(discounts)))
    scales = rng.random(len(sizes)) + 0.5
    return *lines, np.cumsum([0, *sizes]), Places(kind, worths, scales, discounts, depth)


def expected(heights, slopes, offsets, places):
    steps = []
    for q, (a, b) in enumerate(itertools.pairwise(offsets)):
        parts = [part[a:b].tolist() for part in (heights, slopes, places.worths)]
        found = reference.changes(places.kind, *parts, places.discounts.tolist())
        steps += [(time, places.scales[q] * size) for time, size in found]
    return np.array(sorted(steps)).reshape(-1, 2)


def levels(times, sizes, at):
    """The sum of the steps before each moment."""
    return np.concatenate([[0.0], np.cumsum(sizes)])[np.searchsorted(times, at)]


def between(times):
    """A moment in every interval that is not rounding's own."""
    ends = np.concatenate([[times[0] - 1], times, [times[-1] + 1]]) if len(times) else np.array([-1.0, 1.0])
    return ((ends[1:] + ends[:-1]) / 2)[np.diff(ends) > 1e-9]


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "real"])
@pytest.mark.parametrize("depth", [1, 2, 4, 9])
@pytest.mark.parametrize("kind", [SUM, CASCADE, COUNT, PAIRS])
def test_equals_every_interval_looked_at(kind, depth, whole):
    rng = np.random.default_rng(10 * kind + depth)
    for _ in range(25):
        sizes = rng.integers(0, 7, size=4).tolist()
        heights, slopes, offsets, places = made(rng, sizes, kind, 9 if kind == PAIRS else depth, whole)
        ((times, sizes),) = changes(heights, slopes, offsets, places)
        wanted = expected(heights, slopes, offsets, places)
        at = between(wanted[:, 0])
        np.testing.assert_allclose(levels(times, sizes, at), levels(*wanted.T, at), atol=1e-12)
        assert (np.diff(times) >= 0).all()


@pytest.mark.parametrize(("n", "depth"), [(1_000, 5), (300, 300), (300, 17), (300, 16)])
@pytest.mark.parametrize("kind", [SUM, CASCADE, COUNT])
def test_long_lists_end_in_the_order_of_the_slopes(kind, n, depth):
    rng = np.random.default_rng(n + depth)
    heights, slopes, offsets, places = made(rng, [n, 0, n], kind, depth, whole=False)
    ((_, sizes),) = changes(heights, slopes, offsets, places)
    total = 0.0
    for q in (0, 2):
        rising = places.worths[offsets[q] : offsets[q + 1]][np.argsort(slopes[offsets[q] : offsets[q + 1]])]
        ends = [reference.value(kind, order.tolist(), places.discounts.tolist()) for order in (rising[::-1], rising)]
        total += places.scales[q] * (ends[0] - ends[1])
    np.testing.assert_allclose(sizes.sum(), total, rtol=1e-9)


@pytest.mark.parametrize("kind", [CASCADE, COUNT, PAIRS])
def test_windows_hold_the_same_steps(kind, monkeypatch):
    rng = np.random.default_rng(kind)
    given = made(rng, [40, 1, 0, 60], kind, 60, whole=False)
    ((times, sizes),) = changes(*given)
    monkeypatch.setattr(line_search, "MOST", 300)
    windows = list(changes(*given))
    assert len(windows) > 5
    assert max(len(window[0]) for window in windows) < 900
    np.testing.assert_array_equal(np.concatenate([window[0] for window in windows]), times)
    np.testing.assert_array_equal(np.concatenate([window[1] for window in windows]), sizes)


def test_windows_where_all_lines_meet_in_one_point(monkeypatch):
    monkeypatch.setattr(line_search, "MOST", 300)
    _, slopes, offsets, places = made(np.random.default_rng(0), [50, 60], SUM, 60, whole=False)
    windows = [window for window in changes(np.zeros(110), slopes, offsets, places) if len(window[0])]
    assert [window[0].tolist() for window in windows] == [[0.0, 0.0]]
    parallel = list(changes(slopes, np.ones(110), offsets, places))
    assert [len(times) for times, _ in parallel] == [0]


def test_time_does_not_run_back_where_rounding_says_so(monkeypatch):
    _, slopes, offsets, places = made(np.random.default_rng(1), [50, 60], SUM, 60, whole=False)
    ((_, sizes),) = changes(np.zeros(110), slopes, offsets, places)
    monkeypatch.setattr(line_search, "MOST", 300)
    windows = list(changes(0.3 - 0.1 * slopes, slopes, offsets, places))  # all lines meet at 0.1, or nearly
    assert len(windows) > 2
    times = np.concatenate([window[0] for window in windows])
    np.testing.assert_allclose(times, 0.1, atol=1e-9)
    assert (np.diff(times) >= 0).all()
    np.testing.assert_allclose(sum(window[1].sum() for window in windows), sizes.sum(), rtol=1e-9)


def test_threads_change_no_bit():
    rng = np.random.default_rng(0)
    sizes = [200] * 8 + rng.integers(0, 60, size=SMALL // 25).tolist()  # blocks that take unlike times to sweep
    given = made(rng, sizes, CASCADE, 200, whole=True)  # and many steps at the same times
    assert given[2][-1] > SMALL
    ((times, sizes),) = changes(*given, n_jobs=1)
    ((again, sizes_again),) = changes(*given, n_jobs=3)
    np.testing.assert_array_equal(times, again)
    np.testing.assert_array_equal(sizes, sizes_again)


def test_what_is_given_stays_as_it_is():
    heights, slopes, offsets, places = made(np.random.default_rng(0), [9, 4], SUM, 9, whole=False)
    before = heights.copy(), slopes.copy(), places.worths.copy()
    list(changes(heights, slopes, offsets, places))
    for was, array in zip(before, (heights, slopes, places.worths), strict=True):
        np.testing.assert_array_equal(array, was)


def steps(*pairs):
    return [(np.array([time for time, _ in pairs], dtype=float), np.array([size for _, size in pairs], dtype=float))]


@pytest.mark.parametrize(
    ("given", "now", "wanted"),
    [
        (steps((1, 1), (3, 1), (5, -1)), 0.0, 4.0),
        (steps((1, 1), (3, 1), (5, -1)), 3.5, None),  # already there
        (steps((1, 1), (2, -1), (4, 1), (8, -1)), 0.0, 6.0),  # the wider of two
        (steps((1, 1), (5, -1), (7, 1), (8, -1)), 0.0, 3.0),
        (steps((1, 1), (5, -1), (7, 1), (8, -1)), 7.5, None),  # the narrower of two, but there already
        (steps((2, 1)), 1.0, 3.0),  # without end: on by as much as from 0 to the step
        (steps((2, -1)), 5.0, 0.5),  # … as from now to the step
        (steps((2, -1)), 1.0, None),
        (steps((0, 1)), 0.0, 0.25),  # at a step: neither side says what it is worth; `unit` is all there is to go by
        (steps((1, 2), (1 + 1e-13, -1), (2, -1)), 0.0, 1.5),  # too narrow to be believed
        (steps((1, 0.1), (4, 1e-14), (5, -1)), 0.0, 2.5),  # equal but for rounding: the wider
        (steps((3, 0.5), (4, -0.5), (9, 0.5 + 1e-14)), 3.5, None),  # … the present
        (steps(), 0.0, None),
    ],
)
def test_choice(given, now, wanted):
    found = best_time(given, now, unit=0.5)
    assert found == wanted if wanted is None else found == pytest.approx(wanted, rel=1e-9)


def test_choice_over_windows():
    ((times, sizes),) = steps((1, 1), (2, -1), (4, 1), (8, -1), (9, -1))
    for now, wanted in ((0.0, 6.0), (5.0, None), (10.0, 6.0)):
        parts = list(zip(np.split(times, [1, 3]), np.split(sizes, [1, 3]), strict=True))
        assert best_time([(np.empty(0), np.empty(0)), *parts], now, unit=0.0) == wanted
