"""The page of a tuning: the best settings, the trials, and which settings matter."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from luce.experiments.trials import TuningResult
from luce.options import Choice, Range, text_of
from luce.rankers.importance import Importance
from luce.report.curves import HEIGHT
from luce.report.explanation import importance_picture
from luce.report.formatting import count, decimal, duration, number, plain
from luce.report.layout import Cell, Facts, PageTable, Pictures, Section, Text, note, write_page
from luce.report.svg import ACCENT, INK, MUTED, SMALL, Picture, picture

SHOWN, SLICED = 10, 6
"""Trials of the table, the best ones; settings with a picture of their own, the most important ones."""
CAUTION = (
    "The best value was selected among many on the same lists, and each fit used early stopping on the lists that "
    "score "
    "it: expect a slightly worse value on new lists. To measure it, evaluate the model on lists that were not used "
    "here."
)


def write_tuning(path: str | os.PathLike[str], tuned: TuningResult, **about: Any) -> Path:
    """Write a page about a tuning; `about` is the title, the command and the settings of `write_page`."""
    sections = {"chosen": _settings_section(tuned), "trials": _trials_section(tuned)}
    if len(tuned.ranked) > 1:
        order = [*tuned.importance, *(name for name in tuned.space if name not in tuned.importance)]
        pictures = Pictures([slice_picture(tuned, name) for name in order[:SLICED]], small=True)
        text = f"{tuned.metric} of each complete trial by the value of one setting; the best trial is dark."
        text += "" if len(order) <= SLICED else " The most important settings are shown."
        sections["slices"] = Section("Trials by setting", [pictures, note(text)])
    return write_page(path, sections, summary=summary_of(tuned), **about)


def _settings_section(tuned: TuningResult) -> Section:
    rows = [
        [name, Cell(_text(tuned.best.params[name]), bold=True), _text(tuned.trials[0].params[name]), str(candidates)]
        for name, candidates in tuned.space.items()
    ]
    columns = ["Setting", "Best", "Initial", "Search space"]
    return Section("Settings", [PageTable("Settings", columns, rows), Text(_rounds(tuned)), note(CAUTION)])


def _trials_section(tuned: TuningResult) -> Section:
    pictures = [history_picture(tuned)]
    if tuned.importance:
        shares = np.array(list(tuned.importance.values()))
        found = Importance(f"share of the variance of {tuned.metric}", tuple(tuned.importance), shares)
        pictures.append(importance_picture(found, "importance", "Importance of settings"))
    notes = (
        ["Means over the folds; the small print is the value of each fold."] if len(tuned.best.fold_scores) > 1 else []
    )
    pruned = sum(trial.state == "pruned" for trial in tuned.trials)
    if pruned:
        notes.append(f"{count(pruned, 'trial')} in the worst quarter {'was' if pruned == 1 else 'were'} pruned.")
    if tuned.importance:
        notes.append(
            "The importance of a setting is the share of the variance between complete trials that it explains on "
            "its own (fANOVA); with few trials it is a rough estimate."
        )
    failed = {f"Trial {trial.number}": plain(trial.error, 300) for trial in tuned.trials if trial.state == "failed"}
    failures = [Facts(failed, "Failed trials")] if failed else []
    return Section("Trials", [Pictures(pictures), trials_table(tuned, SHOWN), note(" ".join(notes)), *failures])


def trials_table(tuned: TuningResult, most: int) -> PageTable:
    """A row for each of the best trials."""
    rows: list[list[Any]] = []
    for trial in tuned.ranked[:most]:
        folds = " · ".join(map(decimal, trial.fold_scores)) if len(trial.fold_scores) > 1 else ""
        value = Cell(decimal(trial.value), folds, bold=not rows)
        params = [_text(trial.params[name]) for name in tuned.space]
        rows.append([str(trial.number), value, *params, duration(trial.seconds)])
    return PageTable("Best trials", ["Trial", tuned.metric, *tuned.space, "Time"], rows, "Best trials")


def summary_of(tuned: TuningResult) -> str:
    """The best trial in a sentence, compared with the first one."""
    best, first = tuned.best, tuned.first
    start = f"Trial {best.number} of {len(tuned.trials):,} has the best {tuned.metric}, {best.value:.4f}"
    if first is None:
        return f"{start}."
    if first.number == best.number:
        return f"{start}: no other trial was better than the initial settings."
    return f"{start}, compared with {first.value:.4f} for the initial settings."


def _rounds(tuned: TuningResult) -> str:
    """How the last fit was ended, in a sentence."""
    ranker = tuned.best_ranker
    if "validation" in (ranker.history_[-1] if ranker.history_ else {}):
        best = f"{ranker.iteration_name} {ranker.best_iteration_}"
        return f"The model was fitted with early stopping on the validation data; {best} was the best."
    rounds = count(tuned.best.mean_iteration, ranker.iteration_name)
    best = ", ".join(f"{iteration:,}" for iteration in tuned.best.best_iterations)
    return (
        f"The model was fitted on all of the data for {rounds}, the mean of the best iterations of the folds ({best})."
    )


def _text(value: Any) -> str:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else text_of(value)


def history_picture(tuned: TuningResult) -> Picture:
    """A dot for each complete trial, a tick for each that was pruned or failed, and a line for the best so far."""
    complete = [trial for trial in tuned.trials if trial.state == "complete"]
    numbers, values = np.array([t.number for t in complete]), np.array([t.value for t in complete])
    ended = [trial.number for trial in tuned.trials if trial.state != "complete"]
    so_far = (np.maximum if tuned.higher_is_better else np.minimum).accumulate(values)
    best = tuned.best

    def draw(axes: Any) -> None:
        axes.step([*numbers, len(tuned.trials)], [*so_far, so_far[-1]], "-", where="post", color=ACCENT, linewidth=1.8)
        axes.plot(numbers, values, "o", color=MUTED, markersize=3.5)
        axes.plot(best.number, best.value, "o", color=INK, markersize=6)
        axes.set_ylim(*_limits(values))
        axes.plot(ended, np.full(len(ended), _limits(values)[0]), "|", color=MUTED, markersize=7, clip_on=False)
        axes.xaxis.get_major_locator().set_params(integer=True, nbins=6)

    xlabel = f"trial (line: best so far{'; ticks: pruned or failed' * bool(ended)})"
    spoken = f"from {decimal(values[0])} to the best, {decimal(best.value)}, in trial {best.number}"
    caption = f"{tuned.metric} of {count(len(complete), 'complete trial')}: {spoken}; {len(ended)} pruned or failed."
    return picture("trials", caption, 210, draw, title=f"{tuned.metric} of each trial", xlabel=xlabel)


def _limits(values: Any) -> tuple[float, float]:
    """The y-limits; the worst tenth is left out where it would flatten the rest."""
    low, high = float(np.quantile(values, 0.1)) if len(values) > 10 else float(values.min()), float(values.max())
    margin = 0.12 * (high - low) or 0.01
    return low - margin, high + margin


def slice_picture(tuned: TuningResult, name: str) -> Picture:
    """The value of each complete trial by one of its settings, the best marked."""
    candidates, trials = tuned.space[name], tuned.ranked
    values = np.array([trial.value for trial in trials])
    words = [text_of(value) for value in candidates.values] if isinstance(candidates, Choice) else []
    settings = [trial.params[name] for trial in trials]
    places = [words.index(text_of(value)) for value in settings] if words else settings

    def draw(axes: Any) -> None:
        axes.plot(places, values, "o", color=MUTED, markersize=3.5)
        axes.plot(places[0], values[0], "o", color=INK, markersize=5.5)
        axes.set_ylim(*_limits(values))
        if words:
            axes.set_xticks(range(len(words)), [plain(word, 9) for word in words])
            axes.set_xlim(-0.5, len(words) - 0.5)
        elif isinstance(candidates, Range) and candidates.log:
            axes.set_xscale("log")
            middle = float(np.sqrt(candidates.low * candidates.high))
            middle = round(middle) if candidates.is_integer else float(f"{middle:.1g}")
            ticks = [candidates.low, middle, candidates.high]
            axes.set_xticks(ticks, list(map(number, ticks)))
            axes.minorticks_off()

    caption = f"{tuned.metric} by {name}: best {decimal(values[0])} at {_text(tuned.best.params[name])}."
    return picture(f"slice-{name}", caption, HEIGHT, draw, title=name, width=SMALL)
