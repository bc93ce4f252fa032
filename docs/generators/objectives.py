"""Plots of the gradient of an objective for a list of five items."""

from functools import cache
from typing import Any

import numpy as np

from generators.drawing import Frame, axes, box, figure, line, number, path, svg, text, ticks_between
from luce.objectives import OBJECTIVES, Objective
from luce.randomness import Draw

GRADES = np.array([3, 2, 1, 0, 0])
SCORES = np.array([0.0, 0.6, -0.6, 1.2, -1.2])
GRID = np.linspace(-4, 4, 81)
"""Scores of the first item in the second plot; the others are fixed."""
DRAWS = 400
"""The number of draws over which a random objective is averaged."""


def gradient_plots(name: str) -> str:
    """The negative gradient of each item as bars, and as curves over the score of the best item."""
    descent, low, high = negative_gradients(name)
    zero = int(np.argmin(abs(GRID)))
    caption = (
        "The negative gradient of the loss with respect to the score of each item of a list with grades 3, 2, 1, 0, 0. "
        "Left: at the scores shown. Right: as a function of the score of the grade 3 item, with the others fixed."
    )
    objective = OBJECTIVES[name]
    if objective.random:
        caption += f" The mean of {DRAWS} draws; shaded: 10 % to 90 % quantiles of single draws for the grade 3 item."
    if objective.one_output_per_grade:
        caption += " An item with score s has the output g · s for grade g."
    return figure([_bars(name, descent[zero]), _curves(name, descent, low, high)], caption)


@cache
def negative_gradients(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean negative gradient of every item at each point of the grid, and 10 % and 90 % quantiles of the first."""
    objective = OBJECTIVES[name]
    draws = DRAWS if objective.random else 1
    lists = len(GRID) * draws
    scores = np.tile(SCORES, (lists, 1))
    scores[:, 0] = np.repeat(GRID, draws)
    labels, offsets = np.tile(GRADES.astype(float), lists), np.arange(lists + 1) * len(GRADES)
    # The same draws at all points, so that curves are smooth.
    draw = Draw(seed=1, lists=np.tile(np.arange(draws), len(GRID)))
    descent = -_gradient(objective, scores.ravel(), labels, offsets, draw).reshape(len(GRID), draws, len(GRADES))
    low, high = np.quantile(descent[:, :, 0], [0.1, 0.9], axis=1)
    return descent.mean(axis=1), low, high


def _gradient(objective: Objective, scores: Any, labels: Any, offsets: Any, draw: Draw) -> np.ndarray:
    if not objective.one_output_per_grade:
        return objective.value_and_gradient(scores, labels, offsets, draw=draw).gradient
    grades = np.arange(GRADES.max() + 1)
    outputs = scores[:, None] * grades
    return objective.value_and_gradient(outputs, labels, offsets).gradient @ grades  # by the chain rule


def _bars(name: str, descent: np.ndarray) -> str:
    """One bar per item in the order of the scores; to the right its score increases."""
    limits = _limits([*descent, 0.0])
    frame = Frame(112, 26, 330, 186, limits, (0, len(descent)))
    ticks = ticks_between(*limits, count=3)
    parts = [line(frame.x(t), frame.top, frame.x(t), frame.bottom, "rule zero" if t == 0 else "rule") for t in ticks]
    parts += [text(frame.x(t), frame.bottom + 18, number(t), "tick", "middle") for t in ticks]
    for row, item in enumerate(np.argsort(-SCORES)):
        middle = frame.y(len(descent) - row - 0.5)
        left, right = sorted((frame.x(0), frame.x(descent[item])))
        parts.append(box(left, middle - 9, right - left, 18, "up" if descent[item] >= 0 else "down", 2))
        parts.append(text(4, middle + 4, f"grade {GRADES[item]}", "strong" if item == 0 else ""))
        parts.append(text(102, middle + 4, number(SCORES[item]), "tick", "end"))
    parts += [text(4, 14, "item", "head"), text(102, 14, "score", "head", "end")]
    parts.append(text(frame.left, frame.bottom + 35, "← score decreases", "tick"))
    parts.append(text(frame.right, frame.bottom + 35, "increases →", "tick", "end"))
    values = ", ".join(f"grade {GRADES[i]} at score {SCORES[i]:g}: {descent[i]:.2f}" for i in np.argsort(-SCORES))
    return svg(340, 226, f"Negative gradient of {name} for each item. {values}.", parts)


def _curves(name: str, descent: np.ndarray, low: np.ndarray, high: np.ndarray) -> str:
    """One curve per item; that of the grade 3 item is thick."""
    limits = _limits([descent.min(), descent.max(), low.min(), high.max(), 0.0])
    frame = Frame(46, 26, 284, 186, (-4, 4), limits)
    parts = [
        text(4, 14, "−gradient", "head"),
        *axes(frame, (-4, -2, 0, 2, 4), ticks_between(*limits), "score of grade 3"),
    ]
    if not np.array_equal(low, high):
        edge = [(frame.x(x), frame.y(y)) for x, y in zip(GRID, high, strict=True)]
        back = [(frame.x(x), frame.y(y)) for x, y in zip(GRID[::-1], low[::-1], strict=True)]
        parts.append(path(edge + back, "band", closed=True))
    for item in range(len(GRADES) - 1, -1, -1):
        points = [(frame.x(x), frame.y(y)) for x, y in zip(GRID, descent[:, item], strict=True)]
        parts.append(path(points, f"curve item{item}"))
    heights = _spread([frame.y(each) for each in descent[-1]], 13, frame.top, frame.bottom)
    names = ["grade 3", *(f"{g} at {number(s)}" for g, s in zip(GRADES[1:], SCORES[1:], strict=True))]
    parts += [text(frame.right + 5, y + 4, names[i], f"name{i}") for i, y in enumerate(heights)]
    first, last = descent[0, 0], descent[-1, 0]
    values = f"For the grade 3 item itself it goes from {first:.2f} at score −4 to {last:.2f} at score 4."
    return svg(340, 226, f"Negative gradient of {name} over the score of the grade 3 item. {values}", parts)


def _limits(values: Any) -> tuple[float, float]:
    """The range of values with some margin at both ends."""
    low, high = float(min(values)), float(max(values))
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def _spread(positions: list[float], gap: float, low: float, high: float) -> list[float]:
    """Heights for the labels at the ends of curves, in their order and without overlaps."""
    order = np.argsort(positions, kind="stable")
    heights = np.array(positions, dtype=float)[order]
    for _ in range(60):
        for lower in range(1, len(heights)):
            short = gap - (heights[lower] - heights[lower - 1])
            if short > 0:
                heights[lower - 1] -= short / 2
                heights[lower] += short / 2
        heights += max(0.0, low - heights[0]) - max(0.0, heights[-1] - high)
    result = np.empty(len(heights))
    result[order] = heights
    return result.tolist()
