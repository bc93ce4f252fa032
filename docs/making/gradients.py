"""The picture of an objective: how it pushes the five items of one small list, computed by the objective itself."""

from functools import cache
from typing import Any

import numpy as np

from luce.objectives import OBJECTIVES, Objective
from luce.randomness import Draw
from making.drawing import Frame, axes, box, figure, line, number, path, round_steps, svg, text

GRADES = np.array([3, 2, 1, 0, 0])
SCORES = np.array([0.0, 0.6, -0.6, 1.2, -1.2])
MOVES = np.linspace(-4, 4, 81)
"""Scores of the first item in the second picture; the others keep theirs."""
DRAWS = 400
"""Over how many draws a random objective is averaged."""


def gradient_picture(name: str) -> str:
    """The push on each item as bars, and as curves while the best item moves."""
    pushes, low, high = pushes_of(name)
    here = int(np.argmin(abs(MOVES)))
    caption = (
        "The push on each item of a list with grades 3, 2, 1, 0, 0: minus the derivative of the loss in its score. "
        "Left: at the scores shown. Right: as the score of the grade 3 item moves and the others stay."
    )
    objective = OBJECTIVES[name]
    if objective.random:
        caption += f" The mean of {DRAWS} draws; shaded, where eight of ten single draws push the grade 3 item."
    if objective.one_output_per_grade:
        caption += " An item of score s has the output g · s for grade g."
    return figure([_bars(name, pushes[here]), _curves(name, pushes, low, high)], caption)


@cache
def pushes_of(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each place of the moving item the mean push on every item, and the 10 % and 90 % points of the first's."""
    objective = OBJECTIVES[name]
    draws = DRAWS if objective.random else 1
    lists = len(MOVES) * draws
    scores = np.tile(SCORES, (lists, 1))
    scores[:, 0] = np.repeat(MOVES, draws)
    labels, offsets = np.tile(GRADES.astype(float), lists), np.arange(lists + 1) * len(GRADES)
    same = Draw(seed=1, lists=np.tile(np.arange(draws), len(MOVES)))  # of all places, so that curves are smooth
    pushes = -_gradient(objective, scores.ravel(), labels, offsets, same).reshape(len(MOVES), draws, len(GRADES))
    low, high = np.quantile(pushes[:, :, 0], [0.1, 0.9], axis=1)
    return pushes.mean(axis=1), low, high


def _gradient(objective: Objective, scores: Any, labels: Any, offsets: Any, draw: Draw) -> np.ndarray:
    if not objective.one_output_per_grade:
        return objective.value_and_gradient(scores, labels, offsets, draw=draw).gradient
    grades = np.arange(GRADES.max() + 1)
    outputs = scores[:, None] * grades
    return objective.value_and_gradient(outputs, labels, offsets).gradient @ grades  # by the chain rule


def _bars(name: str, pushes: np.ndarray) -> str:
    """An item a row, in the order of the scores; a bar to the right pushes it up the list."""
    ends = _room([*pushes, 0.0])
    frame = Frame(112, 26, 330, 186, ends, (0, len(pushes)))
    ticks = round_steps(*ends, about=3)
    parts = [line(frame.x(t), frame.top, frame.x(t), frame.bottom, "rule zero" if t == 0 else "rule") for t in ticks]
    parts += [text(frame.x(t), frame.bottom + 18, number(t), "tick", "middle") for t in ticks]
    for row, item in enumerate(np.argsort(-SCORES)):
        middle = frame.y(len(pushes) - row - 0.5)
        left, right = sorted((frame.x(0), frame.x(pushes[item])))
        parts.append(box(left, middle - 9, right - left, 18, "up" if pushes[item] >= 0 else "down", 2))
        parts.append(text(4, middle + 4, f"grade {GRADES[item]}", "strong" if item == 0 else ""))
        parts.append(text(102, middle + 4, number(SCORES[item]), "tick", "end"))
    parts += [text(4, 14, "item", "head"), text(102, 14, "score", "head", "end")]
    parts.append(text(frame.left, frame.bottom + 35, "← down the list", "tick"))
    parts.append(text(frame.right, frame.bottom + 35, "up →", "tick", "end"))
    said = ", ".join(f"grade {GRADES[i]} at score {SCORES[i]:g}: {pushes[i]:.2f}" for i in np.argsort(-SCORES))
    return svg(340, 226, f"Push of {name} on each item. {said}.", parts)


def _curves(name: str, pushes: np.ndarray, low: np.ndarray, high: np.ndarray) -> str:
    """A curve an item; the moving one is thick."""
    ends = _room([pushes.min(), pushes.max(), low.min(), high.max(), 0.0])
    frame = Frame(46, 26, 284, 186, (-4, 4), ends)
    parts = [text(4, 14, "push", "head"), *axes(frame, (-4, -2, 0, 2, 4), round_steps(*ends), "score of grade 3")]
    if not np.array_equal(low, high):
        edge = [(frame.x(x), frame.y(y)) for x, y in zip(MOVES, high, strict=True)]
        back = [(frame.x(x), frame.y(y)) for x, y in zip(MOVES[::-1], low[::-1], strict=True)]
        parts.append(path(edge + back, "band", closed=True))
    for item in range(len(GRADES) - 1, -1, -1):
        points = [(frame.x(x), frame.y(y)) for x, y in zip(MOVES, pushes[:, item], strict=True)]
        parts.append(path(points, f"curve item{item}"))
    ending = _apart([frame.y(each) for each in pushes[-1]], 13, frame.top, frame.bottom)
    names = ["grade 3", *(f"{g} at {number(s)}" for g, s in zip(GRADES[1:], SCORES[1:], strict=True))]
    parts += [text(frame.right + 5, y + 4, names[i], f"name{i}") for i, y in enumerate(ending)]
    first, last = pushes[0, 0], pushes[-1, 0]
    said = f"On the grade 3 item itself it goes from {first:.2f} at score −4 to {last:.2f} at score 4."
    return svg(340, 226, f"Push of {name} as the score of the grade 3 item moves. {said}", parts)


def _room(values: Any) -> tuple[float, float]:
    """The range of values with some air at both ends."""
    low, high = float(min(values)), float(max(values))
    air = 0.06 * (high - low) or 1.0
    return low - air, high + air


def _apart(places: list[float], gap: float, low: float, high: float) -> list[float]:
    """Heights for names beside the ends of curves, in their order and not on top of each other."""
    order = np.argsort(places, kind="stable")
    heights = np.array(places, dtype=float)[order]
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
