"""The space of a tuning: what is varied and over which ranges, checked before any work, and Optuna's form of it."""

from collections.abc import Iterable, Mapping
from typing import Any

from luce.errors import OptionError, unknown_name
from luce.options import Choice, Range, text_of
from luce.rankers.ranker import Ranker
from luce.rankers.search_space import search_space, value_of, with_settings


def space_of(
    ranker: Ranker, vary: Mapping[str, Range | Choice] | None = None, fixed: Iterable[str] = ()
) -> dict[str, Range | Choice]:
    """What the ranker declares worth trying, with other ranges where `vary` has them and without what is `fixed`.

    >>> from luce.rankers import TreeRanker
    >>> space = space_of(TreeRanker(), {"num_leaves": Range(4, 16)}, ["reg_lambda", "subsample", "colsample_bytree"])
    >>> {name: str(candidates) for name, candidates in space.items()}
    {'num_leaves': '4 to 16', 'min_child_samples': '1 to 200, log scale', 'learning_rate': '0.02 to 0.3, log scale'}
    """
    settings = [name for name in ranker.get_params(deep=False) if name not in ("objective", "metric", "n_jobs")]
    known, fixed = {*settings, *ranker.get_objective().option_specs}, set(fixed)
    wanted = {name: _checked(ranker, name, candidates) for name, candidates in (vary or {}).items() if name in known}
    for name in [*(vary or {}), *fixed]:
        if name not in known:
            raise unknown_name(
                f"setting of the {ranker.kind} ranker or option of {ranker.get_objective().name}", name, known
            )
        if name in fixed and name in wanted:
            raise OptionError(f"{name} cannot be both varied and fixed.")
    space = {name: candidates for name, candidates in (search_space(ranker) | wanted).items() if name not in fixed}
    if not space:
        raise OptionError(
            f"There is nothing to tune in {ranker!r}: give a range, such as vary={{'reg_lambda': Range(0.1, 10.0)}}."
        )
    for name, candidates in space.items():
        for end in candidates.ends:
            with_settings(ranker, {name: end}).check_params()
    return space


def _checked(ranker: Ranker, name: str, candidates: Range | Choice) -> Range | Choice:
    """The range in the kind of number that the setting is, its ends in order."""
    if not isinstance(candidates, Range | Choice):
        raise OptionError(f"The values of {name} to try must be a luce.Range or a luce.Choice. Got {candidates!r}.")
    if isinstance(candidates, Choice):
        if len(candidates.values) < 2 or len({text_of(value) for value in candidates.values}) < len(candidates.values):
            raise OptionError(f"The choices of {name} must be at least two different values. Got {candidates}.")
        return candidates
    if not candidates.low < candidates.high or (candidates.log and not candidates.low > 0):
        above = " and, on a log scale, above 0" if candidates.log else ""
        raise OptionError(f"The range of {name} must go from a lower to a higher number{above}. Got {candidates}.")
    if isinstance(value_of(ranker, name), float):
        return Range(float(candidates.low), float(candidates.high), candidates.log)
    return candidates


def suggest(trial: Any, space: Mapping[str, Range | Choice]) -> dict[str, Any]:
    """The parameters of an Optuna trial; choices are suggested by their text, which any storage can hold."""
    for name, candidates in space.items():
        if isinstance(candidates, Choice):
            trial.suggest_categorical(name, [text_of(value) for value in candidates.values])
        else:
            number = trial.suggest_int if candidates.is_integer else trial.suggest_float
            number(name, candidates.low, candidates.high, log=candidates.log)
    return params_of(space, trial.params)


def params_of(space: Mapping[str, Range | Choice], suggested: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters from what Optuna suggested.

    >>> params_of({"hidden_layer_sizes": Choice(((8,), (8, 4)))}, {"hidden_layer_sizes": "8,4"})
    {'hidden_layer_sizes': (8, 4)}
    """
    texts = {
        name: {text_of(value): value for value in candidates.values}
        for name, candidates in space.items()
        if isinstance(candidates, Choice)
    }
    return {name: texts[name][value] if name in texts else value for name, value in suggested.items() if name in space}


def own_values(ranker: Ranker, space: Mapping[str, Range | Choice]) -> dict[str, Any]:
    """What the ranker has now of what is varied, where that is in the range, as Optuna would suggest it."""
    now = {name: value_of(ranker, name) for name in space}
    return {
        name: text_of(value) if isinstance(space[name], Choice) else value
        for name, value in now.items()
        if value in space[name]
    }
