"""A plot of the best items: their log worths with comparison intervals."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from luce.aggregation.summary import SummaryMixin
from luce.errors import OptionError, load_package

N_ITEMS = 30
"""Items of a plot, the best ones."""

COLORS = {"point": "black", "best": "C0", "other": "0.6"}
"""Of the estimates, of the intervals of the best tier, and of the other intervals."""


class PlottedItem(NamedTuple):
    """A row of the plot: the name, the estimate with its interval, and whether no item is significantly better."""

    name: Hashable
    estimate: float
    lower: float
    upper: float
    best: bool


class PlotMixin(SummaryMixin):
    """The plot of a fitted PlackettLuce."""

    def plot(self, ax: Any = None, *, n_items: int = N_ITEMS, level: float = 0.95, kind: str | None = None) -> Any:
        """Plot the log worths of the best items with their comparison intervals; needs Matplotlib (`luce[report]`).

        Intervals are based on quasi standard errors: two items whose intervals do not overlap differ significantly.
        Those of the best tier, to which no item is significantly superior, are in color.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        n_items : int, default 30
            How many items, the best ones.
        level : float, default 0.95
            Confidence level of the intervals and of the tier.
        kind : {"observed", "expected", "sandwich"}, optional
            What the standard errors are based on, see `standard_errors`.

        Returns
        -------
        matplotlib.axes.Axes

        Examples
        --------
        >>> from luce.aggregation import PlackettLuce
        >>> model = PlackettLuce().fit([["tea", "rum", "gin"], ["rum", "tea", "gin"], ["gin", "tea", "rum"]])
        >>> [label.get_text() for label in model.plot().get_yticklabels()]
        ['tea', 'rum', 'gin']
        """
        if n_items < 1:
            raise OptionError(f"n_items must be at least 1. Got {n_items!r}.")
        best = self.summary(level=level, kind=kind).slice(0, n_items).to_pylist()
        rows = plotted_items(best, self, level, kind)
        if ax is None:
            pyplot = load_package("matplotlib.pyplot", "report")
            ax = pyplot.subplots(figsize=(8, 1 + 0.25 * len(rows)), layout="constrained")[1]
        draw_items(ax, rows, COLORS)
        ax.grid(axis="x", alpha=0.3)
        ax.set_xlabel(f"log worth, {100 * level:g} % comparison intervals")
        return ax


def plotted_items(
    rows: Iterable[Mapping[str, Any]], model: SummaryMixin, level: float, kind: str | None
) -> list[PlottedItem]:
    """Rows of `summary` as rows of a plot, without the items that cannot be estimated."""
    bounds = dict(zip(map(str, model.names_), model.comparison_intervals(level, kind).tolist(), strict=True))
    items = []
    for row in rows:
        if row["log_worth"] is not None:
            lower, upper = bounds[str(row["item"])]
            items.append(PlottedItem(row["item"], row["log_worth"], lower, upper, row["tier"] == 1))
    return items


def draw_items(
    axes: Any, rows: Sequence[PlottedItem], colors: Mapping[str, str], *, names_above: bool = False, **font: Any
) -> None:
    """A point and a line for each item, from top to bottom, its name beside the axis or above the line."""
    for place, row in enumerate(rows):
        axes.hlines(place, row.lower, row.upper, color=colors["best" if row.best else "other"], linewidth=2.2)
        axes.plot(row.estimate, place, "o", color=colors["point"], markersize=3.5)
    names = [str(row.name) for row in rows]
    axes.set_ylim(len(rows) - 0.4, -0.8 if names_above else -0.6)
    if names_above:
        axes.set_yticks([])
        for place, name in enumerate(names):
            axes.text(0, place - 0.3, name, transform=axes.get_yaxis_transform(), parse_math=False, **font)
    else:
        axes.set_yticks(range(len(rows)), names, parse_math=False, **font)
