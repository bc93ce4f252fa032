"""The record of an objective: the loss of each list and its gradient, as a function of scores and labels."""

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats, as_floats, check_offsets, check_rows, selected_offsets
from luce.compiled import compiled
from luce.errors import DataError, NumericalError, OptionError, unknown_name
from luce.lists import NO_ROWS, Evaluation, Lists
from luce.options import Option
from luce.randomness import Draw


@dataclass(frozen=True, repr=False)
class Objective:
    """An objective and the values of its options; made by `luce.objective(name, **options)`.

    Attributes
    ----------
    name, family, summary, use_when, formula, paper : str
        The description of the objective.
    cost : str
        The time for a list of n items.
    compute : callable
        `(lists, **options) → Evaluation`.
    synonyms : tuple of str
        Other names of the objective, which `luce.objective` also accepts.
    option_specs : mapping of str to Option
        The specifications of the options.
    options : mapping of str to object
        The values of the options.
    traits : callable or None
        `(options) → mapping` of the fields of this record that depend on the options.
    random : bool
        Whether it uses random numbers; the same `draw` gives the same result.
    hessian : bool
        Whether it has a diagonal second derivative.
    nuisance : mapping of str to float
        Parameters learned together with the model, and their initial values.
    one_output_per_grade : bool
        Whether scores have shape (N, grades); `ranking_score` then combines them into one.
    pointwise : bool
        Whether it can learn from a list of one item.
    uses_ties : bool
        Whether it can learn from a list whose labels are all equal.
    weights_by_gain : bool
        Whether an item counts by the gain 2^y − 1 of its label, so that under high labels the others count nothing.
    beyond_relevance : bool
        Whether it trades relevance for what metrics of relevance do not see: no lists are then held out to stop early.
    item_weights : bool
        Whether it accepts item weights; `no_item_weights` is the reason if not.
    shift_invariant : bool
        Whether adding a constant to all scores of a list changes nothing.
    saturates : bool
        Whether the loss is bounded, so that the gradient vanishes where scores are far apart, even in the wrong order.
    loss_is_log_probability : bool
        Whether the loss is minus the log of a normalized probability.
    log_probability : callable or None
        `(lists, **options) → (Q,)`, if the model has a probability and the loss is not minus its log.
    gradient_only : bool
        Whether the gradient is not the derivative of the loss; the formula then states the loss.
    estimate : callable or None
        `(lists, *, variance, **options) → Estimate`, if it is estimated from samples with a known variance.
    leaf_sums : callable or None
        `(lists, leaves, n_leaves, list_weights, **options) → (2, n_leaves)`, if the second derivative along the leaves
        of a tree is known exactly: for each leaf, the total size of its gradient terms, and that derivative.
    device_lists : callable or None
        `(DeviceLists, **options) → DeviceEvaluation`, if it runs on a GPU. Without one, or where it returns
        NotImplemented for these options, the CPU computes the loss of tensors on a GPU too.
    label_rows : int or None
        The loss of a row of ungraded labels, one of the constants of `luce.kernels.partition_likelihood`, if it has
        kernels; others run as lists of all labels.
    """

    name: str
    family: str
    summary: str
    use_when: str
    formula: str
    paper: str
    cost: str
    compute: Callable[..., Evaluation]
    synonyms: tuple[str, ...] = ()
    option_specs: Mapping[str, Option] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    traits: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    random: bool = False
    hessian: bool = False
    nuisance: Mapping[str, float] = field(default_factory=dict)
    one_output_per_grade: bool = False
    ranking_score: Callable[[Floats], Floats] | None = None
    pointwise: bool = False
    uses_ties: bool = False
    weights_by_gain: bool = False
    beyond_relevance: bool = False
    item_weights: bool = True
    no_item_weights: str = ""
    shift_invariant: bool = True
    saturates: bool = False
    loss_is_log_probability: bool = False
    log_probability: Callable[..., Floats] | None = None
    gradient_only: bool = False
    estimate: Callable[..., Any] | None = None
    leaf_sums: Callable[..., Floats] | None = None
    device_lists: Callable[..., Any] | None = None
    label_rows: int | None = None

    def with_options(self, **options: Any) -> "Objective":
        """The same objective with these options, each checked."""
        if not options:
            return self
        for name, value in options.items():
            if name not in self.option_specs:
                raise unknown_name(f"option of {self.name}", name, self.option_specs)
            self.option_specs[name].check(f"The {name!r} option of {self.name}", value)
        fields: dict[str, Any] = {"options": {**self.options, **options}}
        return replace(self, **fields | dict(self.traits(fields["options"]) if self.traits is not None else {}))

    def value_and_gradient(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        offsets: ArrayLike | None = None,
        *,
        item_weights: ArrayLike | None = None,
        nuisance: ArrayLike | None = None,
        draw: Draw | None = None,
        hessian: bool = False,
        n_jobs: int | None = None,
        item_groups: ArrayLike | None = None,
    ) -> Evaluation:
        """The loss of each list and its gradient in the scores.

        Parameters
        ----------
        scores : array-like of shape (N,), or (N, grades) where there is one output per grade
        labels : array-like of shape (N,)
            NaN means not observed: the item is left out of its list and gets gradient 0.
        offsets : array-like of shape (Q + 1,), optional
            List q owns the rows offsets[q]:offsets[q + 1]; all rows are one list by default.
        item_weights : array-like of shape (N,), optional
        nuisance : array-like of shape (P,), optional
            Values of the nuisance parameters; the initial ones by default.
        draw : Draw, optional
            The random numbers of a random objective.
        hessian : bool, default=False
            Also compute the diagonal of the second derivative.
        n_jobs : int, optional
            Threads; LUCE_THREADS, or all cores, by default.
        item_groups : array-like of shape (N,), optional
            The group of each item as an integer, for fairness to groups.

        Returns
        -------
        Evaluation

        Examples
        --------
        >>> from luce.objectives import objective
        >>> objective("listnet").value_and_gradient([0.0, 0.0], [5.0, 5.0]).gradient
        array([0., 0.])
        """
        given: Any = scores, labels, offsets, item_weights, nuisance, draw or Draw(), hessian, n_jobs, item_groups
        return self.evaluate(self.check(Lists(*given)))

    def evaluate(self, lists: Lists) -> Evaluation:
        """The loss of each list and its gradient, for lists that `check` returned.

        A trainer checks its lists once and evaluates them at every step, with new scores, nuisance values or another
        draw by `lists._replace`. That scores and results are finite is still checked; nothing else is.

        Parameters
        ----------
        lists : Lists
            As `check` returns them; replaced scores and nuisance are contiguous float64 arrays of the same shape.

        Returns
        -------
        Evaluation

        Raises
        ------
        NumericalError
            Where a score, the loss or a derivative is not finite.

        Examples
        --------
        >>> from luce.objectives import objective
        >>> listnet = objective("listnet")
        >>> lists = listnet.check(Lists([0.0, 0.0], [5.0, 5.0], [0, 2]))
        >>> listnet.evaluate(lists._replace(scores=np.array([1.0, 1.0]))).gradient
        array([0., 0.])
        """
        check_finite(lists.scores)
        evaluation = self.compute(lists, **self.options)
        if not all(values is None or _all_finite(values) for values in evaluation):
            ranges = (f"{np.nanmin(values):g} to {np.nanmax(values):g}" for values in (lists.scores, lists.labels))
            raise NumericalError(
                "The loss or a derivative of {} is beyond float64 with scores from {} and labels from {}. "
                "Scale them to an ordinary range.".format(self.name, *ranges)
            )
        return evaluation

    def check(self, lists: Lists) -> Lists:
        """The lists as the arrays that `evaluate` needs, or an error that describes what is wrong with them.

        Parameters
        ----------
        lists : Lists
            Its fields as `value_and_gradient` takes them; without offsets all rows are one list. That scores are
            finite is checked by `evaluate`.

        Returns
        -------
        Lists
        """
        scores = self._checked_scores(lists.scores)
        labels = as_floats("labels", lists.labels, len(scores))
        if not _all_finite(labels) and np.isinf(labels).any():
            row = np.flatnonzero(np.isinf(labels))[0]
            raise DataError(f"labels must be finite. Got an infinite one at row {row + 1}.")
        offsets = check_offsets([0, len(scores)] if lists.offsets is None else lists.offsets, len(scores))
        numbered = lists.draw.lists
        if numbered is not None and len(numbered) != len(offsets) - 1:
            raise DataError(f"draw.lists must have {len(offsets) - 1} entries, one per list. Got {len(numbered)}.")
        if lists.hessian and not self.hessian:
            raise OptionError(f"{self.name} has no diagonal second derivative.")
        weights = self._checked_weights(lists.item_weights, len(scores))
        nuisance: Any = NO_ROWS
        if lists.nuisance is not None or self.nuisance:
            given = [*self.nuisance.values()] if lists.nuisance is None else lists.nuisance
            nuisance = check_rows("nuisance", given, len(self.nuisance))
        groups = lists.item_groups
        groups = None if groups is None else check_rows("item_groups", groups, len(scores)).astype(np.int64)
        return Lists(scores, labels, offsets, weights, nuisance, lists.draw, lists.hessian, lists.n_jobs, groups)

    def has_signal(self, labels: ArrayLike, offsets: ArrayLike) -> np.ndarray:
        """Which lists this objective can learn from: (Q,) booleans.

        >>> from luce.objectives import objective
        >>> objective("listmle").has_signal([1, 0, 2, 2, 1], [0, 2, 4, 5])
        array([ True, False, False])
        """
        y = as_floats("labels", labels)
        bounds = check_offsets(offsets, len(y))
        observed = np.diff(selected_offsets(~np.isnan(y), bounds))
        differ = np.zeros(len(observed), dtype=bool)
        filled = np.diff(bounds) > 0
        starts = bounds[:-1][filled]
        differ[filled] = np.fmin.reduceat(y, starts) < np.fmax.reduceat(y, starts)  # false where all are NaN
        several = (observed > 1) & (self.uses_ties | differ)
        return several | (self.pointwise & (observed > 0))

    def no_signal_message(self, dataset: Any) -> str:
        """Why no list of a dataset has signal, for errors and warnings."""
        if self.pointwise:
            lacking = "an item with a label"
        else:
            lacking = f"two items with {'' if self.uses_ties else 'different '}labels"
        return (
            f"No list of {dataset!r} has {lacking}, so {self} has nothing to learn from (one sample has no order). "
            "Check the labels, and that the rows of a list have the same query."
        )

    def _checked_scores(self, scores: ArrayLike) -> Floats:
        if not self.one_output_per_grade:
            return as_floats("scores", scores)
        s = np.ascontiguousarray(scores, dtype=np.float64)
        if s.ndim != 2:
            raise DataError(f"{self.name} needs scores of shape (rows, grades). Got shape {s.shape}.")
        return s

    def _checked_weights(self, item_weights: ArrayLike | None, n_rows: int) -> Floats | None:
        if item_weights is None:
            return None
        if not self.item_weights:
            raise OptionError(
                f"{self.name} does not support item weights: {self.no_item_weights} Choose another objective, such as "
                "softmax for clicks or lambdarank for grades."
            )
        weights = check_rows("item_weights", item_weights, n_rows)
        if weights.size and not (weights.min() >= 0 and weights.max() < np.inf):
            raise DataError(f"item_weights must be finite and not negative. Got {weights.min()} to {weights.max()}.")
        return weights

    def facts(self) -> dict[str, Any]:
        """The record as JSON values, as the command line and the documentation show it."""
        options = {
            name: {"default": spec.default, "allowed": spec.allowed, "meaning": spec.summary}
            for name, spec in self.option_specs.items()
        }
        return {
            "name": self.name,
            **({"also called": ", ".join(self.synonyms)} if self.synonyms else {}),
            "family": self.family,
            "summary": self.summary,
            "when to use": self.use_when,
            "formula": self.formula,
            "paper": self.paper,
            "time complexity": f"O({self.cost})",
            "random": self.random,
            "Hessian": "diagonal" if self.hessian else "none",
            "nuisance parameters": ", ".join(self.nuisance) or "none",
            "outputs per item": "one per grade" if self.one_output_per_grade else "1",
            "uses ties": self.uses_ties,
            "saturates": self.saturates,
            "item weights": "yes" if self.item_weights else f"no: {self.no_item_weights}",
            "log-probability": self.loss_is_log_probability or self.log_probability is not None,
            "exact Hessian of tree leaves": self.leaf_sums is not None,
            "on a GPU": "computed on the CPU" if self.device_lists is None else "yes",
            "options": options,
        }

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle an objective of the table as its module, name and options."""
        module, name = self.compute.__module__, self.compute.__name__
        if getattr(getattr(sys.modules[module], name, None), "compute", None) is not self.compute:
            return super().__reduce_ex__(protocol)
        return _from_module, (module, name, self.changed_options)

    @property
    def changed_options(self) -> dict[str, Any]:
        """The options that are not at their defaults."""
        return {k: v for k, v in self.options.items() if v is not self.option_specs[k].default}

    def __str__(self) -> str:
        changed = ", ".join(f"{k}={getattr(v, '__name__', None) or repr(v)}" for k, v in self.changed_options.items())
        return f"{self.name}({changed})" if changed else self.name

    def __repr__(self) -> str:
        return f"<objective {self}>"


def _all_finite(values: Floats) -> bool:
    """In one pass, without another array."""
    return bool(_count_not_finite(values.ravel()) == 0)


@compiled
def _count_not_finite(values):
    """Of infinity and NaN the difference from itself is NaN."""
    count = 0
    for i in range(values.size):
        count += values[i] - values[i] != 0.0
    return count


def check_finite(scores: Floats) -> None:
    """An error that names the first score that is not finite."""
    if not _all_finite(scores):
        row = int(np.flatnonzero(~np.isfinite(scores).reshape(len(scores), -1).all(axis=1))[0])
        raise NumericalError(f"scores must be finite. Got {scores[row]} at row {row + 1}.")


def _from_module(module: str, name: str, options: dict[str, Any]) -> Objective:
    objective: Objective = getattr(importlib.import_module(module), name)
    return objective.with_options(**options)


def record(
    name: str,
    *,
    family: str,
    formula: str,
    paper: str,
    cost: str,
    option_specs: Mapping[str, Option] | None = None,
    synonyms: tuple[str, ...] = (),
    **traits: Any,
) -> Any:
    """Make the decorated function an objective; its docstring is the summary and, after it, when to use it."""

    def make(compute: Callable[..., Evaluation]) -> Objective:
        summary, _, advice = (inspect.getdoc(compute) or "").partition("\n\n")
        words = summary, " ".join(advice.split()), formula, paper, cost
        specs = dict(option_specs or {})
        defaults = {key: spec.default for key, spec in specs.items()}
        return Objective(name, family, *words, compute, synonyms, specs, defaults, **traits)

    return make
