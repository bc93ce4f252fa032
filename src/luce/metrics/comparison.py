"""Score vectors compared on the same lists: means, differences with intervals, paired tests, wins and losses."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from numpy.typing import ArrayLike

from luce.data.ragged import Dataset
from luce.errors import OptionError
from luce.metrics.evaluation import evaluate
from luce.metrics.results import Empty, interval, number, text_table
from luce.metrics.significance import Comparison, compare_results
from luce.metrics.table import Metrics

BASELINE = "baseline"


class Comparisons(tuple[Comparison, ...]):
    """The `Comparison` of each ranker in each metric; `print` shows them as a table.

    Their p-values are those of Fisher's randomization test, with Holm's correction where several rankers are compared.
    """

    __slots__ = ()

    def table(self) -> pa.Table:
        """All fields of the comparisons as a table, one row each."""
        return pa.Table.from_pylist([each._asdict() for each in self])

    def __str__(self) -> str:
        level = f"{100 * self[0].confidence:g} % interval"
        head = "metric", "ranker", "mean", "baseline", "difference", level, "p", "better", "worse", "lists"
        rows: list[tuple[str, ...]] = [head]
        for each in self:
            means = (number(value) for value in (each.mean, each.baseline_mean))
            difference = f"{'+' if each.difference > 0 else ''}{number(each.difference)}"
            counts = (f"{count:,}" for count in (each.wins, each.losses, each.n_lists))
            test = interval(each.low, each.high), f"{each.randomization_holm:.2g}"
            rows.append((each.metric, each.name, *means, difference, *test, *counts))
        return text_table(rows)


def compare(
    scores: ArrayLike | Mapping[str, ArrayLike],
    baseline: ArrayLike,
    dataset: Dataset,
    metrics: Metrics = "ndcg@10",
    *,
    empty: Empty = "skip",
    gain: str = "exponential",
    max_grade: float | None = None,
    confidence: float = 0.95,
    n_bootstrap: int = 1000,
    n_permutations: int = 10_000,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Comparisons:
    """Compare scores with those of a baseline, list by list on the same dataset.

    The scores may come from any model or system. They should be of lists that no compared model was trained on.

    Parameters
    ----------
    scores : array-like of shape (N,), or mapping of str to such arrays
        The scores to compare with the baseline; several by name.
    baseline : array-like of shape (N,)
        The scores of the baseline, for example of the ranking that is in use.
    dataset : Dataset
        The labeled lists.
    metrics : str, callable, or iterable of them
        Names such as "ndcg@10, err", or functions, as for `luce.evaluate`.
    empty, gain, max_grade
        As for `luce.evaluate`.
    confidence : float
        The level of the confidence intervals of the differences.
    n_bootstrap : int
        The number of bootstrap samples; 0 for no intervals.
    n_permutations : int
        The number of random sign patterns of the randomization test.
    random_state : int or numpy.random.Generator
        The seed of the bootstrap and of the randomization test.
    n_jobs : int or None
        The number of threads.

    Returns
    -------
    Comparisons
        A tuple with a `Comparison` for each metric and each vector of scores: the means, their difference with its
        interval, the p-values of a paired t-test and of Fisher's randomization test, and the number of lists won and
        lost. An array without a name is called "scores", and the baseline "baseline".

    Notes
    -----
    p-values with Holm's correction account for the number of vectors compared, not for the number of metrics. Intervals
    are not corrected.

    Examples
    --------
    >>> import numpy as np
    >>> import luce
    >>> from luce.data.synthetic import web_search
    >>> test = web_search(200, seed=1).dataset
    >>> noise = np.random.default_rng(0).normal(size=(2, test.n_rows))
    >>> old, new = test.labels + 2 * noise[0], test.labels + noise[1]
    >>> found = luce.compare(new, old, test, "ndcg@10, err")
    >>> print(found)
    metric   ranker    mean  baseline  difference     95 % interval       p  better  worse  lists
    ndcg@10  scores  0.7696    0.5222     +0.2474  0.2206 to 0.2741  0.0001     176     23    199
    err      scores  0.5111    0.3543     +0.1568  0.1281 to 0.1899  0.0001     166     33    199
    >>> [each.name for each in luce.compare({"new": new, "the same": old}, old, test)]
    ['new', 'the same']
    """
    named = dict(scores) if isinstance(scores, Mapping) else {"scores": scores}
    if not named or BASELINE in named:
        raise OptionError(
            f"scores must be an array, or a mapping from names other than {BASELINE!r} to arrays. "
            f"Got {', '.join(map(repr, named)) or 'an empty mapping'}."
        )
    settings: dict[str, Any] = {"empty": empty, "gain": gain, "max_grade": max_grade, "confidence": confidence}
    results = {
        name: evaluate(values, dataset, metrics, n_bootstrap=0, n_jobs=n_jobs, **settings)
        for name, values in {BASELINE: baseline, **named}.items()
    }
    resampling: dict[str, Any] = {
        "n_bootstrap": n_bootstrap, "n_permutations": n_permutations, "random_state": random_state,
    }  # fmt: skip
    return Comparisons(
        each for metric in results[BASELINE].means for each in compare_results(results, metric, BASELINE, **resampling)
    )
