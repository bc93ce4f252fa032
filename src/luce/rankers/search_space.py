"""What may be tuned of a ranker: its own parameters and its objective's options, each with the values to search."""

from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from luce.options import Choice, Range
from luce.rankers.ranker import Ranker


def search_space(ranker: Ranker) -> dict[str, Range | Choice]:
    """The values that `luce.tune` searches by default.

    Parameters
    ----------
    ranker : Ranker
        The ranker to be tuned.

    Returns
    -------
    dict of str to Range or Choice
        By the name of a parameter of the ranker or of an option of its objective.

    Examples
    --------
    >>> from luce.rankers import LinearRanker
    >>> for name, values in search_space(LinearRanker("listmle")).items():
    ...     print(name, values, sep=": ")
    reg_lambda: 0.001 to 10000, log scale
    depth: none / 5 / 10 / 20
    """
    idle = ranker.unused_params()
    specs = {name: spec for name, spec in ranker.param_specs.items() if name not in idle}
    if "objective" not in idle:
        specs |= ranker.get_objective().option_specs
    return {name: spec.search_space for name, spec in specs.items() if spec.search_space is not None}


def value_of(ranker: Ranker, name: str) -> Any:
    """The value that a parameter, or an option of the objective, has now."""
    parameters = ranker.get_params(deep=False)
    return parameters[name] if name in parameters else ranker.get_objective().options[name]


def with_settings(ranker: Ranker, settings: Mapping[str, Any]) -> Ranker:
    """A ranker like this one, not fitted, with other values of parameters and of options of its objective.

    >>> from luce.rankers import LinearRanker
    >>> with_settings(LinearRanker("listmle"), {"reg_lambda": 3.0, "depth": 10})
    LinearRanker(objective=<objective listmle(depth=10)>, reg_lambda=3.0)
    """
    known = ranker.get_params(deep=False)
    own = {name: value for name, value in settings.items() if name in known}
    options = {name: value for name, value in settings.items() if name not in known}
    changed = clone(ranker).set_params(**own)
    return changed.set_params(objective=ranker.get_objective().with_options(**options)) if options else changed
