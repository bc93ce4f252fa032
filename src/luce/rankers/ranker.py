"""The base class of the rankers of lists: fitted to judged lists, they score and rank items."""

import os
import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from luce.arrays import Floats, Integers
from luce.data import Dataset, from_arrays
from luce.data.alignment import aligned
from luce.data.in_memory import to_score
from luce.data.transforms import fit_encoded
from luce.distributed import current_group, failing_together, highest, is_first_rank, summed
from luce.errors import DataError, LuceWarning
from luce.metrics import Metric, measure
from luce.metrics import metric as metric_of
from luce.objectives import objective as objective_of
from luce.options import integer, or_none
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.estimator import Callback, Estimator
from luce.rankers.inputs import as_dataset, as_held_out, finite
from luce.rankers.ranking import ranking_table
from luce.rankers.training_data import TrainingData
from luce.scoring import Scorer
from luce.scoring.models import ComputedModel, ScoringModel

HIGHEST_GRADE = 20
"""Above it a gain is a million times that of grade 1."""


class Ranker(Estimator):
    """Base class of the rankers of lists; derive from it to add a ranker.

    A subclass implements `fit` and `compute_scores`, and takes the constructor parameters that `Estimator` names. Its
    `fit` calls `check_params` and `prepare_training_data`, trains, and sets `history_` and `best_iteration_` last.
    `tune` also needs `max_iter_param`. Only the classes of RANKERS can be saved; others can be pickled.

    Examples
    --------
    >>> class Cheapest(Ranker):
    ...     '''Rank by the first feature, the lowest first.'''
    ...     def __init__(self, objective="listmle", metric="ndcg@10", early_stopping_rounds=1, transforms=(),
    ...                  random_state=0, n_jobs=None):
    ...         self.objective, self.metric, self.early_stopping_rounds = objective, metric, early_stopping_rounds
    ...         self.transforms, self.random_state, self.n_jobs = transforms, random_state, n_jobs
    ...     def fit(self, X, y=None, qid=None, *, group=None, validation=None, callback=None, checkpoint=None):
    ...         self.check_params()
    ...         self.prepare_training_data(X, y, qid, group, validation)
    ...         self.history_, self.best_iteration_ = [], 0
    ...         return self
    ...     def compute_scores(self, features, offsets):
    ...         return -features[:, 0]
    >>> Cheapest().fit([[3.0], [1.0]], [0, 1], ["q", "q"]).rank([[5.0], [4.0]])["row"].to_pylist()
    [1, 0]
    """

    # A Pipeline offers sample_weight=None to its last step, which must have heard of it.
    __metadata_request__score: ClassVar[dict[str, Any]] = {"sample_weight": None}

    @abstractmethod
    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        group: Any = None,
        validation: Any = None,
        callback: Callback | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from a dataset, or from features, labels and the query of each row.

        Parameters
        ----------
        X : Dataset, array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The judged lists, or their features.
        y : array-like of shape (n_rows,), optional
            The label of each row, higher is better; NaN is not observed. Not beside a Dataset.
        qid : array-like of shape (n_rows,), optional
            The query of each row; rows of a query need not be adjacent.
        group : array-like of shape (n_lists,), optional
            Instead of `qid`, the sizes of the lists, whose rows are adjacent, as in LightGBM.
        validation : Dataset or tuple (X, y, qid), optional
            Lists to choose the best iteration by and to stop early; `luce.from_arrays` makes a Dataset.
        callback : callable, optional
            Called with the record of each iteration, as it will stand in `history_`.
        checkpoint : Checkpoint or path, optional
            Where the state of the training is saved, to resume it after a crash.

        Returns
        -------
        self
            The fitted ranker. An interrupt (Ctrl-C) leaves it fitted with the best iteration so far.

        Raises
        ------
        OptionError
            If the value of a parameter is not allowed.
        DataError
            If there is nothing to learn from.
        MachineError
            If a rank is lost, or the ranks were given different settings.

        Notes
        -----
        Inside a group of torch.distributed, as torchrun starts one, each rank passes its own lists and, if any, its own
        part of the validation lists. All ranks end with the same model: that of one process with all the lists, but for
        rounding. The first rank alone warns, calls `callback` and saves the `checkpoint`; all resume from it. What
        fails on one rank ends the fit on all.
        """

    @abstractmethod
    def compute_scores(self, features: Any, offsets: Integers) -> Floats:
        """The score of each row of a block of transformed features; of complete lists where `list_context`."""

    def scoring_model(self) -> ScoringModel:
        """What scores rows that are not transformed yet, without the rest of the ranker."""
        return ComputedModel(tuple(self.transforms_), function=self.compute_scores, of_lists=bool(self.list_context))

    def scorer(self) -> Scorer:
        """The fitted model as an object that only scores, as `luce.load_scorer` reads it from a model file.

        Returns
        -------
        Scorer
            Its scores are those of `predict`, bit for bit.

        Examples
        --------
        >>> import luce
        >>> data = luce.from_arrays([[1.0], [3], [2]], [0, 2, 1], ["q", "q", "q"])
        >>> ranker = luce.LinearRanker().fit(data)
        >>> bool((ranker.scorer().score(data.features) == ranker.predict(data)).all())
        True
        """
        count, names = self.features
        return Scorer(self.scoring_model(), count, names, self.categories_, bool(self.list_context))

    @property
    def list_context(self) -> str:
        """How the score of an item depends on the rest of its list, to complete "This ranker …"; "" if not at all."""
        return "normalizes features within lists" if any(t.within_lists for t in self.transforms_) else ""

    def get_metric(self) -> Metric:
        return metric_of(self.metric)

    def predict(self, X: Any, qid: Any = None, *, group: Any = None) -> Floats:
        """Score each row; it is safe to call from several threads.

        Parameters
        ----------
        X : Dataset, array-like, sparse matrix or data frame of shape (n_rows, n_features)
            What to score, with the features of the training data. Where both have names, columns are found by name,
            others are ignored, and values of categories that were not in the training data count as missing.
        qid : array-like of shape (n_rows,), optional
            The query of each row; needed only if the score of an item depends on the rest of its list, as with
            features normalized within lists or attention over the list.
        group : array-like of shape (n_lists,), optional
            Instead of `qid`, the sizes of the lists.

        Returns
        -------
        ndarray of shape (n_rows,)
            The scores in the order of the rows; higher is better.
        """
        dataset, position = self.check_input(X, qid, group)
        scores = np.empty(dataset.n_rows)
        for block in self.transform_blocks(dataset, complete_lists=bool(self.list_context)):
            scores[block.rows] = self.compute_scores(block.features, block.offsets)
        return finite(scores if position is None else scores[position])

    def rank(self, X: Any, qid: Any = None, *, group: Any = None, top: int | None = None) -> pa.Table:
        """Order the items of each list by score, best first; items of equal score keep their order.

        Parameters
        ----------
        X : Dataset, array-like, sparse matrix or data frame of shape (n_rows, n_features)
            What to rank, with the features of the training data, as in `predict`.
        qid : array-like of shape (n_rows,), optional
            The query of each row; without `qid` and `group` all rows are one list.
        group : array-like of shape (n_lists,), optional
            Instead of `qid`, the sizes of the lists.
        top : int, optional
            The number of items per list; all by default.

        Returns
        -------
        pyarrow.Table
            The columns query, rank (from 1), document (if there are ids), score and row, the index in X (from 0).

        Examples
        --------
        >>> import luce
        >>> data = luce.from_arrays([[1.0], [3.0], [2.0]], [0, 2, 1], ["q", "q", "q"])
        >>> luce.LinearRanker().fit(data).rank(data, top=2).select(["query", "rank", "row"]).to_pylist()
        [{'query': 'q', 'rank': 1, 'row': 1}, {'query': 'q', 'rank': 2, 'row': 2}]
        """
        or_none(integer(1)).check("top", top)
        dataset, position = self.check_input(X, qid, group, one_list=True)
        table = ranking_table(self.predict(dataset), dataset, top)
        if position is None:
            return table
        rows = np.argsort(position)[table["row"].to_numpy()]
        return table.set_column(table.schema.get_field_index("row"), "row", pa.array(rows))

    def score(self, X: Any, y: Any = None, qid: Any = None, *, group: Any = None) -> float:
        """The mean of `metric` over the lists, negated where lower is better: what a grid search maximizes.

        scikit-learn passes `qid` on once `sklearn.set_config(enable_metadata_routing=True)` is set and the ranker asks
        for it: `ranker.set_fit_request(qid=True).set_score_request(qid=True)`.

        Parameters
        ----------
        X : Dataset, array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The judged lists, or their features.
        y : array-like of shape (n_rows,), optional
            The label of each row.
        qid : array-like of shape (n_rows,), optional
            The query of each row.
        group : array-like of shape (n_lists,), optional
            Instead of `qid`, the sizes of the lists.

        Returns
        -------
        float
            The mean, weighted by the list weights of a Dataset that has them.
        """
        check_is_fitted(self)
        dataset = as_dataset(X, y, qid, group, "score")
        value = self.validation_score(self.predict(dataset), dataset)
        return value if self.get_metric().higher_is_better else -value

    def check_input(
        self, X: Any, qid: Any = None, group: Any = None, *, one_list: bool = False
    ) -> tuple[Dataset, Integers | None]:
        """What is to be scored as a dataset with the features of the training data, and the row there of each row of
        X; None where it is the same. Without `qid` and `group` all rows are `one_list`, or have nothing in common."""
        _, names = self.features
        if isinstance(X, Dataset):
            return self.aligned(X), None
        if qid is None and group is None and not one_list and self.list_context:
            raise DataError(f"This ranker {self.list_context}: pass qid or group, or a Dataset.")
        dataset, position = to_score(X, qid, group, names, self.categories_)
        return self.aligned(dataset), position

    def aligned(self, dataset: Dataset) -> Dataset:
        """The dataset with the features of the training data; a DataError where it lacks one of them."""
        self.check_features(dataset)
        return aligned(dataset, getattr(self, "feature_names_in_", None), self.categories_)

    def prepare_training_data(self, X: Any, y: Any, qid: Any, group: Any, validation: Any) -> TrainingData:
        """What to learn from; sets the fitted attributes for its features, its highest grade and the transforms."""
        with failing_together():
            dataset = as_dataset(X, y, qid, group, "fit")
            held_out = None if validation is None else as_held_out(validation, Dataset, from_arrays, "X, y, qid")
        self.agree_on_fit(dataset, validated=held_out is not None)
        if not summed(np.count_nonzero(~np.isnan(dataset.labels))):
            raise DataError(f"There is nothing to learn from in {dataset!r}: no item has a label.")
        if not dataset.n_features:
            raise DataError(
                f"There is nothing to learn from in {dataset!r}: 0 feature(s) (shape={dataset.features.shape}) while a "
                "minimum of 1 is required."
            )
        self.n_features_in_ = dataset.n_features
        self.max_grade_ = highest(float(np.fmax.reduce(dataset.labels, initial=-np.inf)))
        if self.get_objective().weights_by_gain and self.max_grade_ > HIGHEST_GRADE and is_first_rank():
            warnings.warn(
                f"{self.get_objective().name} weights an item by the gain 2^y − 1 of its label, and the highest label "
                f"is {self.max_grade_:g}: other items hardly count. For labels that are ranks or counts use "
                "objective='pl-partition', which depends only on their order.",
                LuceWarning,
                stacklevel=4,
            )
        self.categories_ = dataset.categories
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if dataset.feature_names is not None:
            self.feature_names_in_ = np.array(dataset.feature_names, dtype=object)
        self.transforms_ = fit_encoded(self.transforms, dataset, one_hot=self.one_hot)
        with failing_together():
            features, judged_features = self.transform_features(dataset), None
            if held_out is not None:
                held_out = self.aligned(held_out)
                judged_features = self.transform_features(held_out)
        self.record_data(dataset, held_out)
        return TrainingData(dataset, features, held_out, judged_features)

    def validation_score(self, scores: Floats, dataset: Dataset) -> float:
        """The mean of `metric` over the lists that have something to measure, as `luce.evaluate` weights them."""
        values = self._list_scores(scores, dataset)
        weighted_sum, weight = summed(weighted_sums(values, dataset.list_weights))
        if not weight:
            raise DataError(f"{self.metric} is undefined for every list of {dataset!r}: check its labels.")
        return float(weighted_sum / weight)

    def _list_scores(self, scores: Floats, dataset: Dataset) -> Floats:
        """`metric` of each list, NaN where there is nothing to measure."""
        top = highest(max(self.max_grade_, highest_grade(dataset)))
        item_groups = dataset.item_group_numbers() if self.get_metric().needs_item_groups else None
        settings: dict[str, Any] = {"max_grade": top, "item_groups": item_groups, "n_jobs": self.n_jobs}
        name = str(self.get_metric())
        return measure(scores, dataset.labels, dataset.offsets, name, **settings)[name]

    def informative_lists(self, dataset: Dataset) -> NDArray[np.bool_]:
        """Whether each list has something for the objective to learn from."""
        return self.get_objective().has_signal(dataset.labels, dataset.offsets)

    def measurable_lists(self, dataset: Dataset) -> NDArray[np.bool_]:
        """Whether each list counts in a validation score: it has something to measure, and a weight above 0."""
        measurable = ~np.isnan(self._list_scores(np.zeros(dataset.n_rows), dataset))
        return measurable if dataset.list_weights is None else measurable & (dataset.list_weights > 0)

    def finish_fit(self, dataset: Dataset, judged: Dataset | None) -> None:
        """Warn if nothing was learned; set `baseline_score_` by the lists that `best_score_` is measured on."""
        self.baseline_score_ = None
        if judged is not None and not self.get_objective().beyond_relevance:
            self.baseline_score_ = self.validation_score(np.zeros(judged.n_rows), judged)
        reason, group = self.why_nothing_learned(dataset), current_group()
        reasons = [reason] if group is None else group.gather_json(reason)
        if all(reasons) and is_first_rank():
            warnings.warn(reason, LuceWarning, stacklevel=4)

    def why_nothing_learned(self, dataset: Dataset) -> str:
        """Why nothing was learned from a dataset; empty where something was."""
        objective = self.get_objective()
        if not self.informative_lists(dataset).any():
            return objective.no_signal_message(dataset)
        if not objective.pointwise and not objective_of("listmle").has_signal(dataset.labels, dataset.offsets).any():
            return f"No list of {dataset!r} has two items with different labels, so there is no order to learn."
        if self._scores_are_equal(dataset):
            return f"{self.why_equal_scores(dataset)} All items of a list get the same score."
        return ""

    def why_equal_scores(self, dataset: Dataset) -> str:
        """The likely reason."""
        return f"{type(self).__name__} learned nothing from {dataset!r}: check that its features differ within lists."

    def _scores_are_equal(self, dataset: Dataset) -> bool:
        """Whether all items of a list have the same score, in every list."""
        lists = np.flatnonzero(dataset.sizes > 1)
        start, size = 0, 16  # a few lists at a time: mostly the first ones tell
        while start < len(lists):
            some = dataset.take(lists[start : start + size])
            scores = self.predict(some)
            # The products of a network differ in the last bits also for rows that are the same.
            if not np.allclose(scores, np.repeat(scores[some.offsets[:-1]], some.sizes), rtol=1e-6, atol=0.0):
                return False
            start, size = start + size, 4 * size
        return len(lists) > 0

    def combine_outputs(self, outputs: Floats) -> Floats:
        """One score per row, of an objective with one output per grade too."""
        combine = self.get_objective().ranking_score
        return outputs if combine is None else combine(outputs)

    @property
    def nuisance_(self) -> dict[str, float]:
        return dict(zip(self.get_objective().nuisance, self._nuisance.tolist(), strict=True))

    def restore_nuisance(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over the learned parameters of the objective from a file."""
        nuisance = np.asarray(arrays["nuisance"], dtype=np.float64)
        if nuisance.shape != (len(self.get_objective().nuisance),) or not np.isfinite(nuisance).all():
            raise self.wrong_arrays()
        self._nuisance = nuisance

    _nuisance: Floats


def highest_grade(dataset: Dataset) -> float:
    """The highest label, at least 0."""
    return float(np.fmax.reduce(dataset.labels, initial=0.0))


def weighted_sums(values: Floats, list_weights: Floats | None) -> Floats:
    """The weighted sum of the values that are not NaN, and the sum of their weights."""
    weights = np.where(np.isnan(values), 0.0, 1.0 if list_weights is None else list_weights)
    counted = weights > 0
    return np.array([values[counted] @ weights[counted], weights.sum()])
