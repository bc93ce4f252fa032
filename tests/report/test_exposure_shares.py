"""Impact ratios, recall by group, and the page that shows them."""

import numpy as np
import pytest

from luce.data import Dataset
from luce.metrics import evaluate
from luce.report import exposure_shares, write_exposure
from luce.report.exposure import impact_table

D2 = 1 / np.log2(3)  # the weight of rank 2


def market():
    """Two lists. Sorted, the first is large, small, small; in the second all three tie."""
    scores, labels = np.array([3.0, 2, 1, 0, 0, 0]), [2, 1, 0, 1, 1, 0]
    groups = ["large", "small", "small", "large", "large", "small"]
    return scores, Dataset(np.zeros((6, 1)), labels, [0, 3, 6], item_groups=groups)


def by_name(found):
    return {row.name: row for row in found.by_group}


def test_impact_ratios_by_hand():
    scores, data = market()
    rows = by_name(exposure_shares(scores, data, cutoff=2))
    exposure = {"large": (1 / (1 + D2) + 2 / 3) / 2, "small": (D2 / (1 + D2) + 1 / 3) / 2}
    merit = {"large": (3 / 4 + 1) / 2, "small": (1 / 4 + 0) / 2}
    for name, row in rows.items():
        assert row.of_items == pytest.approx(1 / 2) and row.of_merit == pytest.approx(merit[name])
        assert row.sorted.of_exposure == pytest.approx(exposure[name])
    assert rows["large"].sorted.impact_ratio == 1
    assert rows["small"].sorted.impact_ratio == pytest.approx(exposure["small"] / exposure["large"])
    assert rows["small"].sorted.merit_impact_ratio == 1, "little merit, so that much exposure for it"
    expected = exposure["large"] / merit["large"] / (exposure["small"] / merit["small"])
    assert rows["large"].sorted.merit_impact_ratio == pytest.approx(expected)
    # Both relevant items of the first list are in the top 2; in the second each item is with probability 2/3.
    assert rows["large"].sorted.recall == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)
    assert rows["small"].sorted.recall == pytest.approx(1)
    assert rows["small"].sampled.recall < 1
    everything = exposure_shares(scores, data, cutoff=3).by_group
    assert all(row.sampled.recall == 1 for row in everything), "what is always seen reads as 100 %"
    grades = exposure_shares(scores, data, cutoff=2).by_grade
    assert all(np.isnan(row.sampled.impact_ratio) for row in grades) and np.isnan(grades[0].sorted.recall)


def test_a_group_is_compared_only_within_its_lists():
    """In long lists each item has little exposure, whatever its group."""
    groups = ["a"] * 2 + ["b"] * 20
    data = Dataset(np.zeros((22, 1)), [1] * 22, [0, 2, 22], item_groups=groups)
    rows = by_name(exposure_shares(np.arange(22.0), data))
    assert rows["a"].sorted.impact_ratio == rows["b"].sorted.impact_ratio == pytest.approx(1)


def test_groups_without_merit_or_exposure():
    data = Dataset(np.zeros((4, 1)), [1, 0, 1, 0], [0, 2, 4], item_groups=["a", "b", "a", "b"])
    rows = by_name(exposure_shares(np.array([1.0, 0, 1, 0]), data, cutoff=1))
    assert rows["b"].sorted.impact_ratio == 0 and np.isnan(rows["b"].sorted.merit_impact_ratio)
    assert rows["a"].sorted.merit_impact_ratio == 1 and np.isnan(rows["b"].sorted.recall)
    equal = exposure_shares(np.zeros(4), data)
    assert by_name(equal)["a"].sorted.merit_impact_ratio == 1, "a group without merit is no reference"
    cells = {row[0].text: [cell.text for cell in row[1:]] for row in impact_table(equal).rows}
    assert cells["b"][2:] == ["–"] * 4


def test_the_error_of_an_impact_ratio_is_that_of_the_jackknife():
    rng = np.random.default_rng(0)
    n, size = 60, 8
    groups, weights = rng.choice(["a", "b", "c"], n * size), rng.uniform(0.5, 2, n)
    labels, scores = rng.integers(0, 3, n * size), rng.normal(size=n * size) + 0.5 * (groups == "a")
    data = Dataset(np.zeros((n * size, 1)), labels, np.arange(n + 1) * size, item_groups=groups, list_weights=weights)
    row = by_name(exposure_shares(scores, data, 5))["b"].sorted
    kept = [np.delete(np.arange(n), q) for q in range(n)]
    alone = [
        by_name(exposure_shares(scores.reshape(n, size)[lists].ravel(), data.take(lists), 5))["b"].sorted
        for lists in kept
    ]
    for name in ("impact_ratio", "merit_impact_ratio"):
        values = np.array([getattr(each, name) for each in alone])
        jackknife = np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum())
        assert getattr(row, f"{name}_error") == pytest.approx(jackknife, rel=0.15)


def test_lists_of_weight_zero_do_not_count():
    scores, data = market()
    weighted = Dataset(data.features, data.labels, data.offsets, item_groups=data.item_groups, list_weights=[1, 0])
    alone = exposure_shares(scores[:3], data.take([0]))
    for one, other in zip(exposure_shares(scores, weighted).rows(), alone.rows(), strict=True):
        assert one == pytest.approx(other, nan_ok=True)


def test_ratios_below_four_fifths_are_marked(tmp_path):
    scores, data = market()
    found = exposure_shares(scores, data, cutoff=2)
    results = {name: evaluate(scores, data, "disparity@2", ranking=name) for name in ("sampled", "sorted")}
    words = {"title": "T", "summary": "S", "command": "C", "settings": {}}
    page = write_exposure(tmp_path / "page.html", found, results, **words).read_text()
    marked = [
        row.name
        for row in found.by_group
        for each in (row.sampled, row.sorted)
        for ratio in (each.impact_ratio, each.merit_impact_ratio)
        if ratio < 0.8
    ]
    table = page.partition('aria-label="Groups compared"')[2].partition("</table>")[0]
    assert 0 < table.count("below 0.8") == len(marked) < 8
    assert "neither a statistical test nor a legal finding" in page.replace("\n", " ")
    assert "Recall@2" in table and "Sorted rankings" in page
