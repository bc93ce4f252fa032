"""The stochastic treatment of a loss: its mean over scores with Gumbel noise, in the order of a drawn ranking."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from luce.arrays import Integers, offsets_of_sizes
from luce.errors import OptionError
from luce.kernels.device import device_kernels
from luce.kernels.sampled_rankings import gumbel_scores
from luce.lists import DeviceEvaluation, DeviceLists, Evaluation, Lists
from luce.objectives import OBJECTIVES, objective
from luce.objectives.base import Objective, record
from luce.objectives.expected import FAMILY, at_rows, samples_at, samples_option
from luce.objectives.linear_metrics import best_first
from luce.options import Option

if TYPE_CHECKING:
    from torch import Tensor

EXAMPLE = {"name": "lambdaloss", "metric": "dcg@5"}
KEPT = (
    "hessian",
    "nuisance",
    "pointwise",
    "uses_ties",
    "weights_by_gain",
    "item_weights",
    "no_item_weights",
    "shift_invariant",
    "saturates",
    "gradient_only",
)
"""What holds of the mean because it holds of the loss. Exact leaf values and probabilities do not."""

ODD = 0x9E3779B1
"""Added to the seed, and its multiples to the numbers of lists: a random loss draws apart from the noise."""

ROWS = 50_000
"""Rows that are evaluated together at most, unless one copy of all lists has more."""

DEVICE_ROWS = 1 << 22
"""The same on a device."""


def treated_loss(loss: Any) -> Objective:
    """The objective that the option `loss` stands for: a name, a mapping with its name and options, or an objective.

    >>> print(treated_loss({"name": "lambdaloss", "metric": "dcg@5"}))
    lambdaloss(metric='dcg@5')
    """
    if isinstance(loss, Mapping):
        name, options = loss.get("name"), {key: value for key, value in loss.items() if key != "name"}
        if not isinstance(name, str):
            raise OptionError(f"A loss with options is a mapping such as {EXAMPLE}. Got {dict(loss)!r}.")
        return objective(name, **options)
    return objective(loss)


def _is_loss(value: Any) -> bool:
    """Whether this stands for a loss; where it stands for one that cannot be treated, the error says why."""
    if not isinstance(value, str | Mapping | Objective):
        return False
    loss = treated_loss(value)
    if loss.one_output_per_grade:
        raise OptionError(f"The loss of stochastic must have one score per item; {loss.name} has one per grade.")
    if loss.family == FAMILY:
        raise OptionError(f"{loss.name} is already a mean over sampled rankings; stochastic needs another loss.")
    return True


def _traits(options: Mapping[str, Any]) -> dict[str, Any]:
    """What the loss decides, and the loss as a model file can hold it: its name, with its options if any is changed."""
    loss = treated_loss(options["loss"])
    kept = {name: getattr(loss, name) for name in KEPT}
    stored: Any = {"name": loss.name, **loss.changed_options} if loss.changed_options else loss.name
    in_table = loss.name in OBJECTIVES and OBJECTIVES[loss.name].compute is loss.compute
    return {**kept, "options": {**options, "loss": stored if in_table else loss}}


def _on_device(lists: DeviceLists, *, loss: Any, samples: Any) -> DeviceEvaluation:
    treated = treated_loss(loss)
    if treated.device_lists is None:
        return NotImplemented
    evaluate = partial(treated.device_lists, **treated.options)
    n_samples = samples_at(samples, lists.draw)
    return device_mean_over_noise(evaluate, lists, n_samples, shift_invariant=treated.shift_invariant)


def device_mean_over_noise(
    evaluate: Callable[[DeviceLists], DeviceEvaluation],
    lists: DeviceLists,
    samples: int,
    *,
    shift_invariant: bool = True,
) -> DeviceEvaluation:
    """As `mean_over_noise`, of copies of all lists; NotImplemented where `evaluate` returns it."""
    import torch

    from luce.kernels.padded import best_first, list_of_row
    from luce.kernels.torch_random import numbers_of

    scores, offsets = lists.scores.double(), lists.offsets
    of_row, rows = list_of_row(offsets, len(scores)), torch.arange(len(scores), device=scores.device)
    labels = torch.where(rows < offsets[-1], lists.labels, torch.nan)  # rows of no list are a list of their own
    order, numbers = best_first(labels, offsets), numbers_of(lists.numbers, offsets)
    numbers, begin = torch.cat([numbers, numbers.new_zeros(1)]), offsets[of_row]
    places = torch.empty_like(order).scatter(0, order, rows - begin)
    if shift_invariant:  # as on the CPU
        scores = scores - scores[order[begin]]
    kernels = device_kernels("sampled_rankings", scores.device.type)
    together, totals = max(1, DEVICE_ROWS // max(1, len(scores))), []
    for first in range(0, samples, together):
        count = min(together, samples - first)
        noisy = kernels.gumbel_scores(scores, places, numbers[of_row], lists.stream, first, count)
        found = evaluate(_device_copies(lists._replace(labels=labels), noisy, numbers, first))
        if found is NotImplemented:
            return NotImplemented
        totals.append(
            [None if each is None else each.unflatten(0, (count, len(each) // count)).sum(0) for each in found]
        )
    means: list[Any] = [None if each[0] is None else sum(each) / samples for each in zip(*totals, strict=True)]
    losses, gradient, by_nuisance = means
    return DeviceEvaluation(losses[:-1], gradient, None if by_nuisance is None else by_nuisance[:-1])


def _device_copies(lists: DeviceLists, noisy: "Tensor", numbers: "Tensor", first: int) -> DeviceLists:
    """A copy of all lists, and of what follows, for each row of noisy scores; a random loss draws anew for each."""
    import torch

    count, n_rows = noisy.shape
    copy = torch.arange(count, device=noisy.device)[:, None]

    def copies(rows: Any) -> Any:
        return None if rows is None else rows.repeat(count)

    return lists._replace(
        scores=noisy.flatten(),
        labels=copies(lists.labels),
        offsets=torch.cat([(lists.offsets + n_rows * copy).flatten(), lists.offsets.new_full((1,), n_rows * count)]),
        item_weights=copies(lists.item_weights),
        item_groups=copies(lists.item_groups),
        stream=torch.stack([lists.stream[0] + ODD & 2**63 - 1, lists.stream[1]]),
        numbers=((numbers + ODD * (first + copy)) % 2**32).flatten(),
    )


@record(
    "stochastic",
    family=FAMILY,
    formula="the mean over samples of a loss at s + g, g independent Gumbel(0, 1) noise: their order is a ranking "
    "drawn from the policy; derivatives treat the noise as constant, and the ranks if the loss does",
    paper="Bruch et al. 2020; with lambdaloss the baseline of Oosterhuis 2021",
    cost="samples · that of the loss",
    option_specs={
        "loss": Option(
            f"an objective with one score per item: a name, luce.objective(…), or a mapping such as {EXAMPLE}",
            _is_loss,
            "lambdaloss",
            "the loss that is averaged; with options, luce.objective(…) or a mapping of its name and options, on the "
            "command line --option loss=lambdaloss --option loss__metric=dcg@5",
        ),
        "samples": samples_option(10, auto=False),
    },
    traits=_traits,
    random=True,
    device_lists=_on_device,
    **{name: value for name, value in _traits({"loss": "lambdaloss"}).items() if name != "options"},
)
def stochastic(lists: Lists, *, loss: Any, samples: Any) -> Evaluation:
    """The stochastic treatment of any loss: averaged over scores with Gumbel noise, it trains a policy of rankings.

    Use it where rankings are drawn from the scores and the loss has no expected form; for a metric, pl-rank-2 is faster
    and exact. It takes as many evaluations of the loss as samples. With lambdaloss it bounds 1 − expected NDCG.
    """
    treated = treated_loss(loss)

    def evaluate(noisy: Lists) -> Evaluation:
        return treated.compute(noisy, **treated.options)

    return mean_over_noise(evaluate, lists, samples_at(samples, lists.draw), shift_invariant=treated.shift_invariant)


def mean_over_noise(
    evaluate: Callable[[Lists], Evaluation], lists: Lists, samples: int, *, shift_invariant: bool = True
) -> Evaluation:
    """The mean of what `evaluate` gives for the lists with Gumbel noise added to their scores."""
    # Items stand from the highest label down, so that the order of the rows changes no noise.
    order, offsets = best_first(lists.labels, lists.offsets, lists.n_jobs)
    sizes, scores = np.diff(offsets), lists.scores[order]
    if shift_invariant:  # less the score of one item of the list, so that large scores do not round the noise away
        scores = scores - np.repeat(scores[offsets[:-1][sizes > 0]], sizes[sizes > 0])
    observed = lists._replace(
        scores=scores,
        labels=lists.labels[order],
        offsets=offsets,
        item_weights=None if lists.item_weights is None else lists.item_weights[order],
        item_groups=None if lists.item_groups is None else lists.item_groups[order],
    )
    totals: list[Any] = [None] * len(Evaluation._fields)
    together = max(1, ROWS // max(1, len(order)))
    for first in range(0, samples, together):
        numbers = np.arange(first, min(first + together, samples))
        found = evaluate(_noisy_copies(observed, numbers))
        for field, values in enumerate(found):
            if values is not None:
                total = values.reshape(len(numbers), -1, *values.shape[1:]).sum(axis=0)
                totals[field] = total if totals[field] is None else totals[field] + total
    means: list[Any] = [None if total is None else total / samples for total in totals]
    loss, gradient, hessian, nuisance = means
    return Evaluation(
        loss,
        at_rows(order, gradient, lists.scores),
        None if hessian is None else at_rows(order, hessian, lists.scores),
        nuisance,
    )


def _noisy_copies(lists: Lists, samples: Integers) -> Lists:
    """A copy of all lists for each of some samples, with its noise; a random loss draws anew for each copy."""
    n_lists, count = len(lists.offsets) - 1, len(samples)
    offsets = offsets_of_sizes(np.tile(np.diff(lists.offsets), count))
    own, of_list = np.tile(lists.draw.list_numbers(n_lists), count), np.repeat(samples, n_lists)

    def copies(rows: Any) -> Any:
        return None if rows is None else np.tile(rows, count)

    draw = lists.draw._replace(lists=own)
    noisy = gumbel_scores(copies(lists.scores), offsets, sample=of_list, draw=draw, n_jobs=lists.n_jobs)
    return lists._replace(
        scores=noisy,
        labels=copies(lists.labels),
        offsets=offsets,
        item_weights=copies(lists.item_weights),
        item_groups=copies(lists.item_groups),
        draw=draw._replace(seed=(draw.seed + ODD) % 2**63, lists=(own + ODD * of_list) % 2**32),
    )
