"""A fitted ranker as what scores a row: weighted parts, each with its transforms and trees, weights or a network."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.arrays import read_only
from luce.data.transforms import Encode, Transform, chain_of
from luce.errors import OptionError


class Part(NamedTuple):
    """A model, the fitted transforms that its features go through, and the factor of its score."""

    kind: str
    """"trees", "linear", "neural" or "labels"."""
    weight: float
    transforms: tuple[Transform, ...]
    model: Any
    """A Forest, the Parameters of a linear ranker, or a torch.nn.Module: of one or several outputs."""
    ranker: Any
    """The ranker that it is of, for its objective: `combine_outputs` makes one score of several outputs."""


def parts_of(ranker: Any) -> list[Part]:
    """The parts whose scores add up to those of a fitted ranker; members of an ensemble that can be added are one.

    >>> import luce
    >>> data = luce.from_arrays([[1.0], [3], [2]], [0, 2, 1], ["q", "q", "q"])
    >>> [part.kind for part in parts_of(luce.LinearRanker().fit(data))]
    ['linear']
    """
    if ranker.kind == "ensemble":
        return [
            part._replace(weight=weight * part.weight)
            for member, model, weight in ranker.summed_members
            for part in (parts_of(member) if model is None else [_sum_part(member, model)])
        ]
    if ranker.kind == "trees":
        own = Part("trees", 1.0, tuple(ranker.transforms_), ranker.forest_, ranker)
        return [own] if ranker.init_model_ is None else [*parts_of(ranker.init_model_), own]
    model = ranker.parameters_ if ranker.kind == "linear" else ranker.network_
    return [Part(ranker.kind, 1.0, tuple(ranker.transforms_), model, ranker)]


def _sum_part(member: Any, model: Any) -> Part:
    """The sum of several members that are linear or trees, with the same transforms as the first."""
    summed = model.parameters if member.kind == "linear" else model.forest
    return Part(member.kind, 1.0, tuple(member.transforms_), summed, member)


def only_part(ranker: Any, kind: str, format_name: str) -> Part:
    """The single part of a ranker that must be of one kind with one score a row."""
    parts = parts_of(ranker)
    if {part.kind for part in parts} != {kind} or (kind != "trees" and len(parts) > 1):
        kinds = " and ".join(dict.fromkeys(part.kind for part in parts))
        raise refused(format_name, f"its scores are a sum of different models ({kinds})", TO_ONNX)
    return parts[0]


def check_one_score(part: Part, format_name: str) -> None:
    """Refuse several scores a row, of which the objective makes one."""
    if part.ranker.get_objective().one_output_per_grade:
        raise refused(format_name, f"{part.ranker.get_objective().name} has one score per grade", TO_ONNX)


def refuse_transforms(transforms: tuple[Transform, ...], known: tuple[str, ...], format_name: str) -> None:
    """Refuse transforms that a format has no form for."""
    for each in chain_of(transforms):
        if each.within_lists:
            raise refused(
                format_name,
                f"{each.name} normalizes features within lists, and the engine scores one document at a time",
                "Train with standardize instead.",
            )
        if each.name not in known:
            useful = ("standardize",) if "standardize" in known else ()
            reason = f"it has no form for the transform {each.name}"
            raise refused(format_name, reason, f"Train with transforms={useful!r}, or use --to onnx.")


def feature_names(ranker: Any, *, one_hot: bool = False) -> list[str]:
    """The names of the features before the transforms, numbered where they have none; `one_hot`: the numbers, and then
    a name for each value of each category, as the features come out of the encoding."""
    count, given = ranker.features
    names = list(given) if given else [f"feature_{number}" for number in range(1, count + 1)]
    return list(_encoder(ranker).feature_names(names)) if one_hot and ranker.categories_ is not None else names


def one_hot_features(ranker: Any, features: NDArray[Any]) -> NDArray[Any]:
    """Features with a column of 0 and 1 for each value of each category, as `feature_names(…, one_hot=True)`."""
    if ranker.categories_ is None:
        return features
    return np.asarray(_encoder(ranker).apply(read_only(features), np.array([0, len(features)])))


def _encoder(ranker: Any) -> Encode:
    return Encode(ranker.categories_, (), one_hot=True)


TO_ONNX = "Use --to onnx, which can."


def refused(format_name: str, what: str, instead: str) -> OptionError:
    """The error for a ranker that a format cannot express: the reason, and what to do.

    >>> raise refused("solr", "it has splits by category", "Encode them as numbers.")
    Traceback (most recent call last):
    luce.errors.OptionError: The format solr cannot express this ranker: it has splits by category. Encode
    them as numbers.
    """
    return OptionError(f"The format {format_name} cannot express this ranker: {what}. {instead}")
