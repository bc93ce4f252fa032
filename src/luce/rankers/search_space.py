"""What may be tuned of a ranker: its own settings and its objective's options, each with what is worth trying."""

from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from luce.objectives.ranges import Tried
from luce.rankers.ranker import Ranker


def search_space(ranker: Ranker) -> dict[str, Tried]:
    """What tuning tries, by the name of a setting or of an option of the objective.

    >>> from luce.rankers import LinearRanker
    >>> for name, tried in search_space(LinearRanker("listmle")).items():
    ...     print(name, tried, sep=": ")
    reg_lambda: 0.001 to 10000, by ratio
    depth: none / 5 / 10 / 20
    """
    idle = ranker.unused_params()
    own = {name: tried for name, tried in ranker.tried.items() if name not in idle}
    options = {} if "objective" in idle else ranker.get_objective().choices
    return own | {name: option.tried for name, option in options.items() if option.tried is not None}


def value_of(ranker: Ranker, name: str) -> Any:
    """The value that a setting, or an option of the objective, has now."""
    parameters = ranker.get_params(deep=False)
    return parameters[name] if name in parameters else ranker.get_objective().options[name]


def with_settings(ranker: Ranker, settings: Mapping[str, Any]) -> Ranker:
    """A ranker like this one, not fitted, with other values of settings and of options of its objective.

    >>> from luce.rankers import LinearRanker
    >>> with_settings(LinearRanker("listmle"), {"reg_lambda": 3.0, "depth": 10})
    LinearRanker(objective=<objective listmle(depth=10)>, reg_lambda=3.0)
    """
    known = ranker.get_params(deep=False)
    own = {name: value for name, value in settings.items() if name in known}
    options = {name: value for name, value in settings.items() if name not in known}
    changed = clone(ranker).set_params(**own)
    return changed.set_params(objective=ranker.get_objective().with_options(**options)) if options else changed
