"""Scores of a label network in blocks: the best few labels of each row without ever holding the scores of all."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from luce.arrays import Integers
from luce.rankers.labels.network import LabelNetwork
from luce.rankers.neural.entries import rows_to

ROWS, CELLS = 1_024, 2**24
"""Rows scored together, and scores held at a time."""


def top_labels(network: LabelNetwork, features: Any, k: int) -> tuple[Integers, NDArray[np.float32]]:
    """The k labels of the highest scores of each row, best first, and their scores: (N, k) both.

    >>> network = LabelNetwork(2, 3, hidden_layer_sizes=(4,))
    >>> [found.shape for found in top_labels(network, np.zeros((5, 2), np.float32), 2)]
    [(5, 2), (5, 2)]
    """
    n_labels = network.out.out_features
    k = min(k, n_labels)
    labels, scores = np.empty((features.shape[0], k), np.int64), np.empty((features.shape[0], k), np.float32)
    for rows, hidden in _hidden(network, features):
        best = best_labels(network.scores, n_labels, hidden, k)
        scores[rows], labels[rows] = best[0].cpu().numpy(), best[1].cpu().numpy()
    return labels, scores


def best_labels(
    scores: Callable[[Tensor, slice], Tensor], n_labels: int, hidden: Tensor, k: int
) -> tuple[Tensor, Tensor]:
    """The highest scores of each row and their labels, (B, k) both; `scores(hidden, part)` are those of some labels."""
    step = max(k, CELLS // max(1, len(hidden)))
    best = hidden.new_empty(len(hidden), 0), torch.empty(len(hidden), 0, dtype=torch.int64, device=hidden.device)
    for start in range(0, n_labels, step):
        part = slice(start, min(start + step, n_labels))
        best = _merge(*best, scores(hidden, part), part.start, k)
    return best


def all_scores(network: LabelNetwork, features: Any) -> NDArray[np.float32]:
    """The score of every label for every row, (N, L): for few labels, or few rows."""
    result = np.empty((features.shape[0], network.out.out_features), np.float32)
    for rows, hidden in _hidden(network, features):
        result[rows] = network.scores(hidden).cpu().numpy()
    return result


def _hidden(network: LabelNetwork, features: Any) -> Iterator[tuple[slice, Tensor]]:
    """What the last layer sees, some rows at a time."""
    device = network.out.weight.device
    network.eval()
    with torch.inference_mode():
        for start in range(0, features.shape[0], ROWS):
            rows = slice(start, min(start + ROWS, features.shape[0]))
            yield rows, network.hidden(rows_to(features, rows, device))


def _merge(scores: Tensor, labels: Tensor, more: Tensor, first: int, k: int) -> tuple[Tensor, Tensor]:
    """The best k of those found so far and of the next labels, the first of which has this number."""
    found, places = more.topk(min(k, more.shape[1]), dim=1)
    scores, labels = torch.cat([scores, found], 1), torch.cat([labels, places + first], 1)
    best, order = scores.topk(min(k, scores.shape[1]), dim=1)
    return best, labels.gather(1, order)
