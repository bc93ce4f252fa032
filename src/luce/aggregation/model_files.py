"""What model files hold of models of rankings: the rankings as arrays, parameters and names as JSON in arrays of bytes.

The metadata of a safetensors file may have 100 MB, which the names of millions of items would exceed.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from luce.aggregation.names import python_value
from luce.aggregation.priors import GammaPrior, NormalPrior, PseudoRankings
from luce.aggregation.ranking_arrays import flat_pools
from luce.aggregation.rankings import Rankings
from luce.arrays import Floats, check_offsets, check_rows
from luce.errors import DataError, LuceError
from luce.optimizers.newton import Convergence

Arrays = dict[str, NDArray[Any]]

PRIORS = {prior.__name__: prior for prior in (NormalPrior, PseudoRankings, GammaPrior)}
MAPPING, TABLE = "mapping", "table"
POOL_OFFSETS = "rankings.pool_offsets"
TEXTS = ("names", "ranker_names", "left_out")
"""Fields of `Rankings` that are no arrays; `pools` is written as one."""


def versions() -> dict[str, str]:
    """The packages that a model file was written with."""
    return {name: version(name) for name in ("luce", "numpy")}


def to_text(value: Any) -> NDArray[np.uint8]:
    """Names, parameters of a constructor and what they consist of, as JSON.

    >>> to_value(to_text([1, 1.0, True, "1", NormalPrior(sd={"a": 2})]))
    [1, 1.0, True, '1', NormalPrior(mean=0.0, sd={'a': 2})]
    """
    return np.frombuffer(json.dumps(_encoded(value)).encode(), np.uint8)


def to_value(text: NDArray[np.uint8]) -> Any:
    """The value that `to_text` wrote."""
    return _decoded(json.loads(text.astype(np.uint8, casting="safe").tobytes()))


def _encoded(value: Any) -> Any:
    value = python_value(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if type(value).__name__ in PRIORS:
        return {type(value).__name__: {field.name: _encoded(getattr(value, field.name)) for field in fields(value)}}
    if isinstance(value, Mapping):
        return {MAPPING: [[_name(key), _encoded(inner)] for key, inner in value.items()]}
    if hasattr(value, "__arrow_c_stream__") or hasattr(value, "to_pydict"):
        return {TABLE: _encoded(pa.table(value).to_pydict())}
    if isinstance(value, (Sequence, np.ndarray, set, frozenset)):
        return [_encoded(inner) for inner in value]
    raise _not_stored(value)


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == MAPPING:
        return {key: _decoded(inner) for key, inner in content}
    if kind == TABLE:
        return pa.table(_decoded(content))
    return PRIORS[kind](**{name: _decoded(inner) for name, inner in content.items()})


def _name(value: Any) -> Any:
    value = python_value(value)
    if not isinstance(value, (str, bool, int, float)):
        raise _not_stored(value)
    return value


def _not_stored(value: Any) -> DataError:
    return DataError(
        f"A model file can hold names and parameters that are text, numbers or true and false. Got {value!r}, a "
        f"{type(value).__name__}: give the items and rankers other names, or pickle the model."
    )


def names_to_text(names: Iterable[Any]) -> NDArray[np.uint8]:
    """Names, each of which must be a single value."""
    return to_text([_name(name) for name in names])


def parameters_to_text(model: BaseEstimator, without: Sequence[str] = ("n_jobs",)) -> NDArray[np.uint8]:
    """The parameters of the constructor, except those that are stored elsewhere or belong to a machine."""
    return to_text({name: value for name, value in model.get_params(deep=False).items() if name not in without})


def rankings_to_arrays(rankings: Rankings) -> Arrays:
    """All of the rankings."""
    values = {field.name: getattr(rankings, field.name) for field in fields(rankings)}
    flat, offsets = flat_pools(values.pop("pools"))
    arrays = {f"rankings.{name}": value for name, value in values.items() if isinstance(value, np.ndarray)}
    for name in TEXTS:
        if values.get(name) is not None:
            given = values[name]
            arrays[f"rankings.{name}"] = to_text(given) if isinstance(given, Mapping) else names_to_text(given)
    return {**arrays, "rankings.pools": flat, POOL_OFFSETS: offsets}


def rankings_of_arrays(arrays: Arrays) -> Rankings:
    """The rankings, checked as any others."""
    given: dict[str, Any] = {
        key.removeprefix("rankings."): array for key, array in arrays.items() if key.startswith("rankings.")
    }
    given |= {name: to_value(given[name]) for name in TEXTS if name in given}
    offsets = check_offsets(given.pop("pool_offsets"), len(given["pools"]))
    given["pools"] = tuple(np.split(given["pools"], offsets[1:-1])) if len(offsets) > 1 else ()
    if "names" not in given or ("rankers" in given) != ("ranker_names" in given):
        raise ValueError("the names of the items or rankers are missing")  # without them, codes would make them up
    return Rankings(**given)


def finite(name: str, arrays: Arrays, length: int) -> Floats:
    """An array of so many finite numbers."""
    values = check_rows(name, arrays[name], length)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite")
    return values


def convergence_of(given: dict[str, Any]) -> Convergence:
    """How the search ended."""
    found = Convergence(**given)
    if type(found.converged) is not bool or not all(isinstance(value, (int, float)) for value in given.values()):
        raise ValueError("the convergence must be numbers")
    return found


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Whatever is wrong with the content of a model file as one error."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, pa.ArrowException) as error:
        words = error if isinstance(error, LuceError) else repr(error)
        raise DataError(f"The model file does not contain a complete {name}: {words}") from error
