"""The fitted members of an ensemble: those that add up to one ranker, and those in a model file."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats
from luce.errors import DataError
from luce.rankers import RANKERS
from luce.rankers.explanation import Explainable
from luce.rankers.ranker import Ranker

Member = tuple[str, Ranker]
KINDS = ("linear", "neural", "trees")
"""The kinds of RANKERS that can be members."""


def combined(members: Sequence[Ranker], weights: Floats) -> list[tuple[Ranker, float]]:
    """Rankers and their weights whose weighted sum is that of the members; as few as possible, none of weight 0."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for i in np.flatnonzero(weights).tolist():
        groups[_key(i, members[i])].append(i)
    parts: list[tuple[Ranker, float]] = []
    for group in groups.values():
        first = members[group[0]]
        if len(group) == 1 or not isinstance(first, Explainable):
            parts.append((first, float(weights[group[0]])))
            continue
        whole = first.unfitted_copy()
        whole.combine([members[i] for i in group], weights[group])
        parts.append((whole, 1.0))
    return parts


def _key(number: int, member: Ranker) -> Any:
    """What is equal for members that can be added up: their kind, what they see, and the parameters they learn."""
    objective = member.get_objective()
    if not isinstance(member, Explainable) or objective.ranking_score is not None:
        return number
    states = [transform.state() for transform in member.transforms_]
    seen = [(facts, sorted((name, array.tobytes()) for name, array in arrays.items())) for facts, arrays in states]
    learned = len(objective.nuisance), objective.shift_invariant, repr([*getattr(member, "categorical_feature", ())])
    return type(member), repr(seen), learned


def restore_members(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> list[Member]:
    """The members in a model file; the arrays of the i-th are named member.i.name."""
    own: dict[str, dict[str, NDArray[Any]]] = defaultdict(dict)
    for name, array in arrays.items():
        number, _, rest = name.removeprefix("member.").partition(".")
        own[number][rest] = array
    members = []
    try:
        for i, each in enumerate(manifest["members"]):
            if each["kind"] not in KINDS:
                raise DataError(f"The model file has a member of unknown kind {each['kind']!r}.")
            members.append((each["name"], RANKERS[each["kind"]].from_manifest(each, own[str(i)])))
    except (KeyError, TypeError) as error:
        raise DataError(f"The model file does not contain all members of an EnsembleRanker: {error!r}") from error
    return members
