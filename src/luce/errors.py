"""The exceptions and warnings of Luce, and the errors of unknown names and missing packages."""

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType


class LuceError(Exception):
    """Base class of all errors; the message says what was given, what was expected and what to do."""


class DataError(LuceError, ValueError):
    """Data that cannot be read or does not fit together."""


class NumericalError(DataError):
    """Scores or labels with which an objective overflows float64; in a training, scores that have diverged."""


class OptionError(LuceError, ValueError):
    """An option, a name or an argument outside what is allowed."""


class MissingPackageError(LuceError, ImportError):
    """An optional package is needed and not installed."""


class MachineError(LuceError):
    """Another machine of a training ended, cannot be reached, or trains something else."""


class LuceWarning(UserWarning):
    """Something that is allowed but probably not intended."""


def unknown_name(kind: str, given: str, known: Iterable[str]) -> OptionError:
    """The error for a name that is not in a table, with the nearest names that are.

    >>> raise unknown_name("metric", "ndgc", ["ndcg", "dcg", "err"])
    Traceback (most recent call last):
    luce.errors.OptionError: There is no metric 'ndgc'. Did you mean 'ndcg'? Known: dcg, err, ndcg.
    """
    names = sorted(known)
    nearest = [repr(name) for name in difflib.get_close_matches(given, names, n=3)]
    guess = f" Did you mean {' or '.join(nearest)}?" if nearest else ""
    return OptionError(f"There is no {kind} {given!r}.{guess} Known: {', '.join(names)}.")


def load_package(module: str, extra: str) -> ModuleType:
    """Import an optional package; the error where it is missing has the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingPackageError(f"This needs {package}; to install it: pip install 'luce[{extra}]'") from error
