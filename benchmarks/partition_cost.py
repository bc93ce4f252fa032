"""What pl-partition must cost at least, and what the 2020 paper's uniform grid costs to be as exact."""

from functools import partial

import numpy as np
import torch
from scipy.special import logsumexp

from luce.compiled import compiled
from luce.objectives import objective
from measuring import ScoredLists, make_lists, seconds
from torch_forms import TorchForm
from torch_forms.batch import Batch
from torch_forms.partition import pl_partition

TOLERANCE = 1e-9
OPERATIONS = 4
"""Of an item at a node: the product of w, w ← w (2 − w), q = x (1 − w) / w, the sum of weighted q."""

NODES = (100, 1_000)
MORE_NODES = (100, 200, 500, 1_000, 2_000, 5_000, 10_000)
MAX_ELEMENTS = 2**20


@compiled
def _multiply(values, factor, rounds):
    for _ in range(rounds):
        for i in range(len(values)):
            values[i] = values[i] * factor * factor * factor * factor * factor * factor * factor * factor


def multiplications_per_ns() -> float:
    """Of one thread, by a loop that the compiler turns into vector instructions, its numbers in the nearest cache."""
    values, rounds = np.ones(1_024), 2_000
    return 8 * len(values) * rounds / (seconds(partial(_multiply, values, 1.0, rounds), 9) * 1e9)


def nodes_needed(log_a: np.ndarray) -> float:
    """How many nodes the trapezoidal rule in log time needs: from the width of the peak and where it has died out."""
    grid = np.linspace(-40, 10, 2_501)
    x = np.exp(np.minimum(log_a[:, None] + grid, 700))
    heights = grid - np.exp(grid) + np.log(-np.expm1(-x)).sum(axis=0)
    top = heights.argmax()
    curvature = (2 * heights[top] - heights[top - 1] - heights[top + 1]) / (grid[1] - grid[0]) ** 2
    step = min(0.7 / np.sqrt(curvature), 0.35, 0.5 / np.log(len(log_a) + 1))
    return np.ptp(grid[heights > heights[top] + np.log(TOLERANCE) - 11]) / step


def show_floor(sizes: np.ndarray, ours: float) -> None:
    """`ours`: ns an item on one thread."""
    lists = make_lists(sizes, "pl-partition").first(max(2, 5_000 // sizes.max()))
    visits = nodes = sets = 0.0
    for start, stop in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        scores, labels = lists.scores[start:stop], lists.labels[start:stop]
        for label in np.unique(labels)[1:]:
            chosen = scores[labels == label] - logsumexp(scores[labels < label])
            if len(chosen) > 1:
                needed = nodes_needed(chosen)
                nodes, sets, visits = nodes + needed, sets + 1, visits + needed * len(chosen)
    rate = multiplications_per_ns()
    floor = visits * OPERATIONS / len(lists.labels) / rate
    print(
        f"floor of pl-partition on 1 thread: {nodes / sets:.0f} nodes a set, {visits / len(lists.labels):.1f} an item, "
        f"{OPERATIONS} operations each, {rate:.1f} a ns: {floor:.1f} ns an item; it takes {ours / floor:.1f} × that"
    )


def grid_form(nodes: int, substituted: bool = True) -> TorchForm:
    losses = partial(pl_partition, nodes=nodes, substituted=substituted)
    return TorchForm("pl-partition", losses, lambda length: length * nodes)


def error_of_grid(form: TorchForm, lists: ScoredLists, dtype: torch.dtype) -> float:
    """The largest error of a list's loss."""
    exact = objective("pl-partition", tol=1e-13).value_and_gradient(*lists).loss
    return float(np.abs(form.value_and_gradient(Batch.of(*lists, dtype), MAX_ELEMENTS)[0].numpy() - exact).max())


def show_grid(sizes: np.ndarray, ours: float, repeats: int) -> None:
    """`ours`: ns an item on all threads."""
    n_lists = max(2, 5_000 // sizes.max())
    young, trained = (make_lists(sizes, "pl-partition", learnt).first(n_lists) for learnt in (0.3, 3.0))
    default = objective("pl-partition").value_and_gradient(*young).loss
    exact = objective("pl-partition", tol=1e-13).value_and_gradient(*young).loss
    print(f"the paper's uniform grid in PyTorch, all threads, {n_lists} lists; largest error of a list's loss")
    print(f"(ours, tolerance {TOLERANCE:.0e}: {np.abs(default - exact).max():.0e}); trained = scores of 3 × label")
    heads = "nodes", "on u", "on v", "on v, trained", "on v, float32", "ns an item", "×"
    print("  {:>8}{:>12}{:>12}{:>16}{:>16}{:>12}{:>8}".format(*heads))
    for nodes in NODES:
        form = grid_form(nodes)
        errors = (
            error_of_grid(grid_form(nodes, substituted=False), young, torch.float64),
            error_of_grid(form, young, torch.float64),
            error_of_grid(form, trained, torch.float64),
            error_of_grid(form, young, torch.float32),
        )
        time = time_of_grid(form, young, torch.float32, repeats)
        print("  {:8,}{:12.0e}{:12.0e}{:16.0e}{:16.0e}".format(nodes, *errors) + f"{time:12,.0f}{time / ours:8.1f}")
    for name, lists in (("these", young), ("trained", trained)):
        show_equal_accuracy(name, lists, ours, repeats)


def show_equal_accuracy(name: str, lists: ScoredLists, ours: float, repeats: int) -> None:
    few = lists.first(8 if len(lists.offsets) > 9 else 1)
    for nodes in MORE_NODES:
        form = grid_form(nodes)
        if error_of_grid(form, few, torch.float64) <= TOLERANCE:
            time = time_of_grid(form, few, torch.float64, repeats)
            print(f"  equal accuracy, {name} scores: {nodes:,} nodes in float64, {time:,.0f} ns, {time / ours:.1f} ×")
            return
    print(f"  equal accuracy, {name} scores: not with {MORE_NODES[-1]:,} nodes in float64")


def time_of_grid(form: TorchForm, lists: ScoredLists, dtype: torch.dtype, repeats: int) -> float:
    batch = Batch.of(*lists, dtype)
    return seconds(lambda: form.value_and_gradient(batch, MAX_ELEMENTS), repeats) / len(lists.labels) * 1e9
