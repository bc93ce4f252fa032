"""What does a loss cost in a PyTorch loop, beside the same loss in plain PyTorch, for batches as small as usual?

python benchmarks/torch_loss.py

Padded float32 scores with a mask, loss and backward pass, 1 thread. The forms take turns, and the shortest times are
compared, so that other work on the machine counts as little as possible.
"""

import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from luce.torch import RankingLoss
from measuring import show_machine, verdict
from torch_forms import FORMS
from torch_forms.batch import Batch

OBJECTIVES = ("listmle", "softmax", "listnet", "c-kl", "squared-label", "lambdarank", "pl-partition")
SHAPES = ((16, 40), (64, 120))
ROUNDS, CALLS = 60, 5


def batch_of(n_lists: int, longest: int) -> Batch:
    source = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 5, (n_lists, longest), generator=source).float()
    sizes = torch.randint(longest // 4, longest + 1, (n_lists, 1), generator=source)
    scores = torch.randn(n_lists, longest, generator=source)
    return Batch(scores, labels, torch.arange(longest) < sizes, torch.zeros(()))


def microseconds(works: list[Callable[[], None]]) -> np.ndarray:
    """The shortest time of each call."""
    times = np.empty((ROUNDS, len(works)))
    for turn in times:
        for number, work in enumerate(works):
            work()
            start = time.perf_counter()
            for _ in range(CALLS):
                work()
            turn[number] = (time.perf_counter() - start) / CALLS
    shortest: np.ndarray = times.min(axis=0) * 1e6
    return shortest


def step(loss: Callable[[Batch], Tensor], batch: Batch) -> None:
    loss(batch.part(0, len(batch.mask))).backward()


def compare(name: str, shape: tuple[int, int]) -> None:
    batch, criterion = batch_of(*shape), RankingLoss(name, n_jobs=1)
    forms = [form for form in FORMS if form.objective == name]
    losses = [lambda given: criterion(given.scores, given.labels, given.mask)]
    losses += [lambda given, form=form: form.losses(given).mean() for form in forms]
    ours, *theirs = microseconds([lambda loss=loss: step(loss, batch) for loss in losses])
    for form, other in zip(forms, theirs, strict=True):
        size = " × ".join(map(str, shape))
        print(
            f"{name:14}{form.name:14}{size:>10}{ours:10.0f}{other:10.0f}{ours / other:8.2f}  {verdict(ours <= other)}"
        )


if __name__ == "__main__":
    torch.set_num_threads(1)
    show_machine("luce", "torch")
    print(f"{'objective':14}{'plain form':14}{'scores':>10}{'Luce µs':>10}{'plain µs':>10}{'ratio':>8}  at most 1")
    for each in SHAPES:
        for objective in OBJECTIVES:
            compare(objective, each)
