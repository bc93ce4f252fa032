"""Policy: the Plackett-Luce distribution over rankings that scores define."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats, Integers, as_floats, check_offsets, read_only
from luce.errors import DataError, OptionError
from luce.kernels import placements
from luce.kernels.placements import Expectation
from luce.kernels.sampled_rankings import Rankings, check_scores, sample_rankings
from luce.metrics.gains import discounts as dcg_discounts
from luce.options import integer, is_integer, number
from luce.policy.expected import expected_metric
from luce.randomness import Draw

SAMPLES = 1_000
"""Rankings drawn from each list that is too long for exact computation."""


class Policy:
    """A Plackett-Luce distribution over the rankings of each of Q lists with N items in total.

    Items are placed one after another, from the first rank down; each remaining item has a probability proportional
    to e^{score / temperature}: P(y) = Π_k e^{s(y_k)/T} / Σ e^{s/T} over the items not placed before k. At a low
    temperature it is close to the order of the scores, at a high one to uniform. An item of score −∞ is never placed.

    Expectations over rankings are returned as (value, standard_error). They are exact, with a standard error of 0,
    if a list is short or only its first ranks count; for other lists they are estimates from `samples` rankings.

    Parameters
    ----------
    scores : array-like of shape (N,)
        Higher is better; −∞ for an item that is never placed.
    offsets : array-like of shape (Q+1,) or None
        List q owns the rows offsets[q]:offsets[q+1]; by default all rows are one list.
    temperature : float
        Above 0.

    Attributes
    ----------
    scores : ndarray of shape (N,)
        As given.
    offsets : ndarray of shape (Q+1,)
        As given.
    temperature : float
        As given.

    Examples
    --------
    >>> policy = Policy([2.0, 1.0, 0.0, 0.5, 0.0], offsets=[0, 3, 5])
    >>> policy
    Policy(5 rows, 2 lists, temperature 1)
    >>> policy.sample(3, seed=1)[0]  # positions in the first list, best first
    array([[0, 1, 2],
           [2, 0, 1],
           [0, 2, 1]], dtype=int32)
    """

    def __init__(self, scores: ArrayLike, offsets: ArrayLike | None = None, temperature: float = 1.0) -> None:
        given = as_floats("scores", scores)
        check_scores(given)
        number(above=0).check("The temperature of a policy", temperature)
        with np.errstate(over="ignore"):
            scaled = given / temperature
        if np.isinf(scaled[np.isfinite(given)]).any():
            raise OptionError(
                f"Scores divided by a temperature of {temperature!r} are beyond float64: use a higher one."
            )
        bounds = [0, len(given)] if offsets is None else offsets
        self.scores: Floats = read_only(given.copy())
        self.offsets: Integers = read_only(check_offsets(bounds, len(given)).copy())
        self.temperature = float(temperature)
        self._scaled = read_only(scaled)

    @classmethod
    def of(cls, ranker: Any, data: Any, temperature: float = 1.0) -> Self:
        """The policy of a ranker for the lists of a dataset.

        Parameters
        ----------
        ranker : Ranker
            A fitted ranker, whose predictions are the scores.
        data : Dataset
            The lists.
        temperature : float
            Above 0.

        Returns
        -------
        Policy

        Examples
        --------
        >>> import luce
        >>> data = luce.from_arrays([[1.0], [3.0], [2.0]], [0, 2, 1], ["q", "q", "q"])
        >>> luce.Policy.of(luce.LinearRanker().fit(data), data, temperature=0.5)
        Policy(3 rows, 1 list, temperature 0.5)
        """
        if not hasattr(data, "offsets"):
            raise DataError(f"Policy.of needs a Dataset. Got {type(data).__name__}.")
        return cls(ranker.predict(data), data.offsets, temperature)

    @property
    def n_lists(self) -> int:
        return len(self.offsets) - 1

    @property
    def longest(self) -> int:
        """The length of the longest list."""
        return int(np.diff(self.offsets).max(initial=0))

    def __repr__(self) -> str:
        rows, lists = len(self.scores), self.n_lists
        words = f"{rows} row{'s' * (rows != 1)}, {lists} list{'s' * (lists != 1)}"
        return f"Policy({words}, temperature {self.temperature:g})"

    def sample(self, n: int = 1, depth: int | None = None, seed: int = 0, *, n_jobs: int | None = None) -> Rankings:
        """Sample rankings.

        Parameters
        ----------
        n : int
            The number of rankings of each list.
        depth : int or None
            The number of ranks; by default, and at most, the length of the longest list.
        seed : int
            The same seed gives the same rankings for any number of threads; a larger `n` adds to them.
        n_jobs : int or None
            The number of threads.

        Returns
        -------
        ndarray of int32 of shape (Q, n, K)
            Positions of items in their list, best first; −1 after the last item.

        Examples
        --------
        >>> Policy([0.0, 1000.0, -np.inf]).sample(1, depth=5)[0, 0]
        array([ 1,  0, -1], dtype=int32)
        """
        samples = _positive_integer("The number of rankings", n)
        draw = Draw(checked_seed(seed))
        return sample_rankings(
            self._scaled, self.offsets, samples=samples, depth=self._depth(depth), draw=draw, n_jobs=n_jobs
        )

    def log_prob(self, rankings: ArrayLike, *, n_jobs: int | None = None) -> Floats:
        """The log-probability of rankings.

        Parameters
        ----------
        rankings : array-like of int of shape (Q, n, K) or (Q, K)
            Several rankings of each list, as `sample` returns them, or one; for a policy of one list also (K,). A
            ranking may have the first items only, followed by −1: its probability is that of beginning so.
        n_jobs : int or None
            The number of threads.

        Returns
        -------
        ndarray of shape (Q, n) or (Q,)
            −∞ for a ranking with an item that is never placed.

        Examples
        --------
        >>> policy = Policy(np.log([2.0, 1.0, 1.0]))
        >>> np.exp(policy.log_prob([0, 2, 1])), np.exp(policy.log_prob([1]))
        (np.float64(0.25), np.float64(0.25))
        >>> policy.log_prob([1, 1, 0])
        Traceback (most recent call last):
        luce.errors.DataError: A ranking of list 1 must contain different items, ... Got [1, 1, 0].
        """
        try:
            given = np.asarray(rankings)
        except ValueError as error:
            raise DataError("rankings must all have the same length: pad shorter ones with −1.") from error
        single = given.ndim == 1 and self.n_lists == 1
        expanded = given[None, None] if single else given[:, None] if given.ndim == 2 else given
        values = placements.log_probabilities(self._scaled, self.offsets, expanded, n_jobs=n_jobs)
        return values.reshape(given.shape[:-1])[()]

    def placement_probabilities(
        self, depth: int | None = None, *, samples: int = SAMPLES, seed: int = 0, n_jobs: int | None = None
    ) -> Expectation:
        """The probability P(item d is at rank k).

        Parameters
        ----------
        depth : int or None
            The number of ranks; by default, and at most, the length of the longest list.
        samples : int
            Rankings drawn from each list that is too long for exact computation.
        seed : int
            The seed of the samples.
        n_jobs : int or None
            The number of threads.

        Returns
        -------
        Expectation
            Of shape (N, K).

        Examples
        --------
        >>> Policy(np.log([2.0, 1.0, 1.0])).placement_probabilities(2).value
        array([[0.5       , 0.33333333],
               [0.25      , 0.33333333],
               [0.25      , 0.33333333]])
        """
        settings = _settings(samples, seed, n_jobs)
        return placements.placement_probabilities(self._scaled, self.offsets, self._depth(depth), **settings)

    def exposure(
        self,
        discounts: ArrayLike | None = None,
        *,
        samples: int = SAMPLES,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> Expectation:
        """The exposure of each item, Σ_k θ_k P(item d is at rank k).

        Parameters
        ----------
        discounts : array-like of shape (K,) or None
            θ of the first ranks; by default 1 / log2(1 + rank) for all ranks, as in dcg.
        samples : int
            Rankings drawn from each list that is too long for exact computation.
        seed : int
            The seed of the samples.
        n_jobs : int or None
            The number of threads.

        Returns
        -------
        Expectation
            Of shape (N,).

        Examples
        --------
        >>> Policy(np.log([2.0, 1.0, 1.0])).exposure([1, 0.6]).value
        array([0.7 , 0.45, 0.45])
        """
        row = dcg_discounts(self.longest) if discounts is None else as_floats("discounts", discounts)
        if not np.isfinite(row).all():
            raise DataError(f"discounts must be finite numbers, one per rank from the first on. Got {row.tolist()}.")
        return placements.exposures(self._scaled, self.offsets, row, **_settings(samples, seed, n_jobs))

    def expected(
        self,
        metric: str,
        labels: ArrayLike,
        *,
        gain: str = "exponential",
        max_grade: float | None = None,
        samples: int = SAMPLES,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> Expectation:
        """The expectation of a metric over the rankings of each list.

        It is exact for lists of up to 16 items, for longer ones if few ranks count, and always for arp,
        kendall-tau, disagreement and sharp-ndcg.

        Parameters
        ----------
        metric : str
            A metric of `METRICS` that measures one order, such as "dcg@5" or "err".
        labels : array-like of shape (N,)
            Relevance labels; items with NaN are left out.
        gain : {"exponential", "linear"}
            As in `luce.evaluate`.
        max_grade : float or None
            As in `luce.evaluate`.
        samples : int
            Rankings drawn from each list that is too long for exact computation.
        seed : int
            The seed of the samples.
        n_jobs : int or None
            The number of threads.

        Returns
        -------
        Expectation
            Of shape (Q,); NaN for a list for which it is undefined.

        Examples
        --------
        >>> Policy(np.log([2.0, 1.0, 1.0])).expected("mrr", labels=[0, 1, 0])
        Expectation(value=array([0.55555556]), standard_error=array([0.]))
        """
        settings = _settings(samples, seed, n_jobs)
        return expected_metric(self._scaled, labels, self.offsets, metric, gain, max_grade, settings)

    def entropy(
        self, depth: int | None = None, *, samples: int = SAMPLES, seed: int = 0, n_jobs: int | None = None
    ) -> Expectation:
        """The entropy −Σ_y P(y) log P(y) of the rankings of each list.

        Parameters
        ----------
        depth : int or None
            The number of ranks from the top; by default all.
        samples : int
            Rankings drawn from each list that is too long for exact computation.
        seed : int
            The seed of the samples.
        n_jobs : int or None
            The number of threads.

        Returns
        -------
        Expectation
            Of shape (Q,).

        Examples
        --------
        >>> np.exp(Policy([0.0, 0.0, 0.0]).entropy().value)  # six rankings, all as likely
        array([6.])
        """
        settings = _settings(samples, seed, n_jobs)
        return placements.entropies(self._scaled, self.offsets, self._depth(depth), **settings)

    def _depth(self, depth: int | None) -> int | None:
        return None if depth is None else _positive_integer("The depth of a ranking", depth)


def _settings(samples: int, seed: int, n_jobs: int | None) -> dict[str, Any]:
    return {"samples": _positive_integer("samples", samples), "draw": Draw(checked_seed(seed)), "n_jobs": n_jobs}


def checked_seed(seed: Any) -> int:
    """The seed, or an error."""
    if not is_integer(seed) or not 0 <= seed < 2**63:
        raise OptionError(f"seed must be an integer from 0 to 2^63 − 1. Got {seed!r}.")
    return int(seed)


def _positive_integer(name: str, value: Any) -> int:
    integer(1).check(name, value)
    return int(value)
