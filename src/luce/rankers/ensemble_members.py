"""The fitted members of an ensemble in a model file."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from luce.errors import DataError, OptionError
from luce.rankers import RANKERS
from luce.rankers.ranker import Ranker
from luce.scoring.model_files import MEMBERS, arrays_of_members

Member = tuple[str, Ranker]


def members_manifest(members: Sequence[Member]) -> tuple[list[dict[str, Any]], dict[str, NDArray[Any]]]:
    """The facts and the arrays of the members for a model file; those of the i-th are named member.i.name."""
    facts: list[dict[str, Any]] = []
    arrays: dict[str, NDArray[Any]] = {}
    for i, (name, member) in enumerate(members):
        if member.module_name is not None:
            raise OptionError(
                f"The member {name!r} has a custom module, {member.module_name}, which a model file cannot store: "
                "pickle the whole, or save the members one by one."
            )
        own, own_arrays = member.to_manifest()
        facts.append({"name": name, **own})
        arrays |= {f"member.{i}.{key}": array for key, array in own_arrays.items()}
    return facts, arrays


def restore_members(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> list[Member]:
    """The members in a model file; the arrays of the i-th are named member.i.name."""
    own = arrays_of_members(arrays)
    members = []
    try:
        for i, each in enumerate(manifest["members"]):
            if each["kind"] not in MEMBERS:
                raise DataError(f"The model file has a member of unknown kind {each['kind']!r}.")
            members.append((each["name"], RANKERS[each["kind"]].from_manifest(each, own[str(i)])))
    except (KeyError, TypeError) as error:
        raise DataError(f"The model file does not contain all members: {error!r}") from error
    return members
