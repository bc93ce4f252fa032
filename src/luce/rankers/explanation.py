"""Why an item has its score: what each feature adds to it, or to how far it stands from the mean of its list."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from luce.arrays import Floats, Integers, list_of_row
from luce.data.transforms import transformed_names
from luce.errors import OptionError
from luce.rankers.ranker import Ranker


class Explanation(NamedTuple):
    """How the score of each row comes about: it is the base plus the sum of the contributions.

    Attributes
    ----------
    contributions : ndarray of shape (n_rows, n_features)
        What each transformed feature adds to the score of each row.
    base : ndarray of shape (n_rows,)
        The score without any feature.
    names : tuple of str
        The names of the transformed features; numbers from 1 where they have none.
    """

    contributions: Floats
    base: Floats
    names: tuple[str, ...]

    @property
    def scores(self) -> Floats:
        """The score of each row."""
        return self.base + self.contributions.sum(axis=1)

    def within_lists(self, offsets: Integers) -> "Explanation":
        """The contributions relative to the mean of the list, which becomes the base.

        A feature that adds the same to all items of a list moves none above another, and contributes 0.

        Parameters
        ----------
        offsets : ndarray of shape (n_lists + 1,)
            Where the lists begin and end, `dataset.offsets`.

        Returns
        -------
        Explanation
            The same rows, with other contributions and base.

        Examples
        --------
        >>> alike = Explanation(np.array([[1.0, 5], [3, 5]]), np.zeros(2), ("price", "length of the query"))
        >>> alike.within_lists(np.array([0, 2]))
        Explanation(contributions=array([[-1.,  0.], [ 1.,  0.]]), base=array([7., 7.]), names=(...))
        """
        lists, sizes = list_of_row(offsets), np.maximum(np.diff(offsets), 1)
        means = np.zeros((len(sizes), self.contributions.shape[1]))
        np.add.at(means, lists, self.contributions)
        means /= sizes[:, None]
        base = np.bincount(lists, self.scores, len(sizes)) / sizes
        return Explanation(self.contributions - means[lists], base[lists], self.names)


class Explainable(Ranker):
    """A ranker whose score is a sum of contributions of its features.

    A subclass adds `compute_contributions` and `combine`.
    """

    def explain(self, X: Any, qid: Any = None, *, group: Any = None) -> Explanation:
        """What each feature adds to the score of each row.

        For trees these are Shapley values: the mean, over all orders in which features may become known one after the
        other, of how much the expected score changes with this one. For a linear ranker, weight × transformed value.

        Parameters
        ----------
        X : Dataset, array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The rows to explain, as in `predict`.
        qid : array-like of shape (n_rows,), optional
            The query of each row, as in `predict`.
        group : array-like of shape (n_lists,), optional
            Instead of `qid`, the sizes of the lists.

        Returns
        -------
        Explanation
            Contributions in the order of the rows.

        Raises
        ------
        OptionError
            If the objective has one output per grade: its score is not a sum of contributions.

        Examples
        --------
        >>> import luce
        >>> data = luce.from_arrays([[1.0, 7], [3, 7], [2, 7]], [0, 2, 1], ["q", "q", "q"])
        >>> ranker = luce.TreeRanker(n_estimators=5, min_child_samples=1, n_jobs=1).fit(data)
        >>> why = ranker.explain(data)
        >>> bool(np.allclose(why.scores, ranker.predict(data))), why.contributions[:, 1]
        (True, array([0., 0., 0.]))
        """
        dataset, position = self.check_input(X, qid, group)
        if self.get_objective().ranking_score is not None:
            raise OptionError(
                f"The score of {self.get_objective().name} is an expected grade, not a sum of contributions: it cannot "
                "be explained row by row. Use permutation_importance."
            )
        contributions, base = self.compute_contributions(self.transform_features(dataset), dataset.offsets)
        if position is not None:
            contributions = contributions[position]
        return Explanation(contributions, np.full(len(contributions), base), self.transformed_feature_names)

    @abstractmethod
    def compute_contributions(self, features: Any, offsets: Integers) -> tuple[Floats, float]:
        """What each transformed feature adds to each row, (N, F), and the score to add it to."""

    @abstractmethod
    def combine(self, parts: Sequence[Self], weights: Floats) -> None:
        """Become the weighted sum of fitted rankers of this kind that have the transforms of this one."""

    @property
    def transformed_feature_names(self) -> tuple[str, ...]:
        """The names of the features after the transforms, numbers from 1 where they have none."""
        count, names = self.features
        found = transformed_names(self.transforms_, names, count)
        return tuple(map(str, range(1, count + 1))) if found is None else found
