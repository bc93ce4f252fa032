"""The scorer: a model that is ready to score, and nothing else."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats, Integers, check_offsets, is_sparse, read_only
from luce.data.categories import Categories, check_codes
from luce.errors import DataError, OptionError
from luce.scoring.models import ScoringModel


@dataclass(frozen=True, eq=False, slots=True)
class Scorer:
    """A fitted model that only scores: immutable, quick to load, and safe to use from several threads.

    `luce.load_scorer` reads one from a model file, and `ranker.scorer()` makes one of a fitted ranker.

    Attributes
    ----------
    n_features : int
        The number of features of a row.
    feature_names : tuple of str or None
        Their names, in the order of the columns.
    categories : tuple or None
        For each feature that is a category its values, whose numbers from 0 a row holds, NaN where it has none of
        them; for a number None. None where all features are numbers.
    needs_lists : bool
        Whether the score of an item depends on the rest of its list, so that `score` needs `offsets`.

    Examples
    --------
    >>> import luce
    >>> data = luce.from_arrays([[1.0], [3], [2]], [0, 2, 1], ["q", "q", "q"])
    >>> scorer = luce.LinearRanker().fit(data).scorer()
    >>> scorer.score([[5.0], [7]]).argmax()
    np.int64(1)
    """

    model: ScoringModel
    n_features: int
    feature_names: tuple[str, ...] | None
    categories: Categories | None
    needs_lists: bool

    def score(self, features: Any, offsets: ArrayLike | None = None) -> Floats:
        """Score each row, as `predict` of the ranker does.

        The values are not checked: a row with a missing or infinite feature, where the model cannot handle it, has a
        score that is not finite.

        Parameters
        ----------
        features : array-like or sparse array of shape (n_rows, n_features)
            The features, converted to float32; NaN is missing.
        offsets : array-like of shape (n_lists + 1,), optional
            Where each list begins, and at last the number of rows; needed only where `needs_lists`.

        Returns
        -------
        ndarray of shape (n_rows,)
            The scores; higher is better.

        Raises
        ------
        DataError
            If the number of features is another, or a category has a number that it cannot have.
        OptionError
            If offsets are needed and not given.
        """
        rows = _float32_rows(features)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise DataError(f"features must have shape (n_rows, {self.n_features}). Got {tuple(rows.shape)}.")
        if self.categories is not None:
            check_codes(rows, self.categories)
        if not self.needs_lists:
            bounds = _one_list(rows.shape[0])
        elif offsets is None:
            raise OptionError(
                "The score of an item depends on the rest of its list with this model: pass offsets, where each list "
                "begins, such as [0, 10, 25] for lists of 10 and 15 rows; [0, n_rows] for one list."
            )
        else:
            bounds = check_offsets(offsets, rows.shape[0])
        return self.model.scores(rows, bounds)


@lru_cache(maxsize=16)
def _one_list(n_rows: int) -> Integers:
    return read_only(np.array([0, n_rows]))


def _float32_rows(features: Any) -> Any:
    if is_sparse(features):
        from scipy import sparse

        return sparse.csr_array(features, dtype=np.float32)
    try:
        return np.ascontiguousarray(features, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"features must be numbers in rows of equal length. {error}") from error
