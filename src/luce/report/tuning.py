"""The page of a tuning: the best settings, the trials, and which settings matter."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from luce.experiments.trials import Tuned
from luce.options import Choice, text_of
from luce.rankers.importance import Importance
from luce.report.curves import HEIGHT, small
from luce.report.explanation import importance_picture
from luce.report.formatting import count, decimal, number, plain
from luce.report.layout import page_of, repeat_section, write_page
from luce.report.svg import ACCENT, INK, MUTED, SMALL, Picture, picture

SHOWN, SLICED = 10, 6
"""Trials of the table, the best ones; settings with a picture of their own, the most important ones."""


def write_tuning(
    path: str | os.PathLike[str],
    tuned: Tuned,
    *,
    title: str,
    command: str,
    settings: Mapping[str, Any],
) -> Path:
    """Write one self-contained HTML page about a tuning, and give back its path."""
    complete = [trial for trial in tuned.trials if trial.state == "complete"]
    pictures = [history_picture(tuned)]
    if tuned.importance:
        shares = np.array(list(tuned.importance.values()))
        found = Importance(f"share of the differences in {tuned.metric}", tuple(tuned.importance), shares)
        pictures.append(importance_picture(found, "importance", "Which settings matter"))
    order = [*tuned.importance, *(name for name in tuned.space if name not in tuned.importance)]
    sections: dict[str, Any] = {
        "chosen": {"tuned": tuned, "rows": _chosen(tuned), "rounds": _rounds(tuned)},
        "trials": {
            "tuned": tuned,
            "pictures": pictures,
            "counts": {state: sum(t.state == state for t in tuned.trials) for state in ("pruned", "failed")},
            "rows": [(trial, [_cell(trial.params[name]) for name in tuned.space]) for trial in tuned.ranked[:SHOWN]],
            "failed": [trial for trial in tuned.trials if trial.state == "failed"],
        },
    }
    if len(complete) > 1:
        slices = [slice_picture(tuned, name) for name in order[:SLICED]]
        note = f"The {tuned.metric} of each complete trial by one of its settings, the best trial dark."
        note += "" if len(order) <= SLICED else " The most important settings are shown."
        sections["slices"] = {"heading": "By setting", "pictures": slices, "small": True, "note": note}
    sections["repeat"] = repeat_section(command, settings)
    return write_page(path, page_of(title, summary_of(tuned), sections))


def summary_of(tuned: Tuned) -> str:
    """What was found, in a sentence or two."""
    best, first = tuned.best, tuned.first
    start = (
        f"Of {count(len(tuned.trials), 'trial')}, number {best.number} has the best {tuned.metric}: {best.value:.4f}"
    )
    if first is None:
        return f"{start}."
    if first.number == best.number:
        return f"{start}, with the settings as they were given: nothing that was tried is better."
    return f"{start}, against {first.value:.4f} with the settings as they were given."


def _chosen(tuned: Tuned) -> list[dict[str, str]]:
    first = tuned.trials[0].params
    return [
        {
            "name": name,
            "candidates": str(candidates),
            "given": _cell(first[name]),
            "best": _cell(tuned.best.params[name]),
        }
        for name, candidates in tuned.space.items()
    ]


def _rounds(tuned: Tuned) -> str:
    """How the last fit was ended, in a sentence."""
    ranker = tuned.best_ranker
    if "validation" in (ranker.history_[-1] if ranker.history_ else {}):
        best = f"{ranker.iteration_name} {ranker.best_iteration_}"
        return f"The model was stopped by the validation data: {best} is its best."
    rounds = count(tuned.best.mean_iteration, ranker.iteration_name)
    best = ", ".join(f"{iteration:,}" for iteration in tuned.best.best_iterations)
    return f"The model was fitted on all of the data in {rounds}: the mean of the best iterations of the folds, {best}."


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else text_of(value)


def history_picture(tuned: Tuned) -> Picture:
    """A dot for each complete trial, a tick for each that was pruned or failed, and a line for the best so far."""
    complete = [trial for trial in tuned.trials if trial.state == "complete"]
    numbers, values = np.array([t.number for t in complete]), np.array([t.value for t in complete])
    gone = [trial.number for trial in tuned.trials if trial.state != "complete"]
    so_far = (np.maximum if tuned.higher_is_better else np.minimum).accumulate(values)
    best = tuned.best

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        axes.step([*numbers, len(tuned.trials)], [*so_far, so_far[-1]], "-", where="post", color=ACCENT, linewidth=1.8)
        axes.plot(numbers, values, "o", color=MUTED, markersize=3.5)
        axes.plot(best.number, best.value, "o", color=INK, markersize=6)
        low, high = _limits(values)
        axes.set_ylim(low, high)
        if gone:
            axes.plot(gone, np.full(len(gone), low), "|", color=MUTED, markersize=7, clip_on=False)
        axes.set_title(plain(f"{tuned.metric} of each trial"), weight="bold")
        axes.set_xlabel("trial; the line is the best so far" + ("; ticks: pruned or failed" if gone else ""))
        axes.grid(axis="y")
        axes.xaxis.get_major_locator().set_params(integer=True, nbins=6)
        axes.locator_params(axis="y", nbins=5)

    spoken = f"from {decimal(values[0])} to the best, {decimal(best.value)}, in trial {best.number}"
    caption = f"{tuned.metric} of {count(len(complete), 'complete trial')}: {spoken}; {len(gone)} pruned or failed."
    return picture("trials", caption, 210, draw)


def _limits(values: Any) -> tuple[float, float]:
    """From the lowest to the highest value, with room; the worst tenth is left out where it would flatten the rest."""
    low, high = float(np.quantile(values, 0.1)) if len(values) > 10 else float(values.min()), float(values.max())
    room = 0.12 * (high - low) or 0.01
    return low - room, high + room


def slice_picture(tuned: Tuned, name: str) -> Picture:
    """The value of each complete trial by one of its settings, the best marked."""
    candidates = tuned.space[name]
    complete = [trial for trial in tuned.trials if trial.state == "complete"]
    values = np.array([trial.value for trial in complete])
    if isinstance(candidates, Choice):
        words = [text_of(value) for value in candidates.values]
        places = np.array([words.index(text_of(trial.params[name])) for trial in complete], dtype=np.float64)
    else:
        places = np.array([trial.params[name] for trial in complete], dtype=np.float64)
    at = next(i for i, trial in enumerate(complete) if trial.number == tuned.best.number)

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        axes.plot(places, values, "o", color=MUTED, markersize=3.5)
        axes.plot(places[at], values[at], "o", color=INK, markersize=5.5)
        if isinstance(candidates, Choice):
            axes.set_xticks(range(len(words)), [plain(word, 9) for word in words])
            axes.set_xlim(-0.5, len(words) - 0.5)
        elif candidates.log:
            axes.set_xscale("log")
        axes.set_ylim(*_limits(values))
        small(axes, name)
        if not isinstance(candidates, Choice) and candidates.log:
            _plain_ticks(axes, candidates)

    caption = f"{tuned.metric} by {name}: best {decimal(values[at])} at {_cell(tuned.best.params[name])}."
    return picture(f"slice-{name}", caption, HEIGHT, draw, SMALL)


def _plain_ticks(axes: Any, candidates: Any) -> None:
    """The ends of a range and its middle, by ratio, in plain numbers."""
    middle = float(np.sqrt(candidates.low * candidates.high))
    middle = round(middle) if candidates.is_integer else float(f"{middle:.1g}")
    axes.set_xticks(
        [candidates.low, middle, candidates.high], [number(each) for each in (candidates.low, middle, candidates.high)]
    )
    axes.minorticks_off()
