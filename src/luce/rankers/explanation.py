"""Why an item has its score: what each feature adds to it, or to how far it stands from the mean of its list."""

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers, list_of_row
from luce.data.transforms import transformed_names
from luce.errors import OptionError
from luce.rankers.ranker import Ranker


class Explanation(NamedTuple):
    """Contributions (N, F) and base (N,): the score of a row is its base and the sum of its contributions.

    `names` are those of the features after the transforms of the ranker, numbers from 1 where they have none.
    """

    contributions: Floats
    base: Floats
    names: tuple[str, ...]

    @property
    def scores(self) -> Floats:
        """The score of each row."""
        return self.base + self.contributions.sum(axis=1)

    def within_lists(self, offsets: Integers) -> "Explanation":
        """What sets each item apart from the others of its list; the base is then the mean score of the list.

        What a feature adds to all items of a list alike puts none above another, and is gone.

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
    """A ranker whose score is a sum of what its features add."""

    def explain(self, X: Any, qid: Any = None) -> Explanation:
        """What each feature adds to the score of each row, in the order of the rows; X and qid as in `predict`.

        For trees these are Shapley values: the mean, over all orders in which features may become known one after the
        other, of how much the expected score changes with this one. For weights, weight × transformed value.

        >>> import luce
        >>> data = luce.from_arrays([[1.0, 7], [3, 7], [2, 7]], [0, 2, 1], ["q", "q", "q"])
        >>> ranker = luce.TreeRanker(n_estimators=5, min_child_samples=1, n_jobs=1).fit(data)
        >>> why = ranker.explain(data)
        >>> bool(np.allclose(why.scores, ranker.predict(data))), why.contributions[:, 1]
        (True, array([0., 0., 0.]))
        """
        dataset, position = self._given(X, qid)
        if self._objective().ranking_score is not None:
            raise OptionError(
                f"The score of {self._objective().name} is an expected grade, not a sum of contributions: there is "
                "nothing to explain row by row. permutation_importance tells what each feature is worth."
            )
        contributions, base = self._contributions(self._transformed(dataset))
        if position is not None:
            contributions = contributions[position]
        return Explanation(contributions, np.full(len(contributions), base), self._names)

    @abstractmethod
    def _contributions(self, features: Any) -> tuple[Floats, float]:
        """What each transformed feature adds to each row, (N, F), and the score to add it to."""

    @property
    def _names(self) -> tuple[str, ...]:
        """The names of the features after the transforms, numbers from 1 where they have none."""
        count, names = self.features
        found = transformed_names(self.transforms_, names, count)
        return tuple(map(str, range(1, count + 1))) if found is None else found
