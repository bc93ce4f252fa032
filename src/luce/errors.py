"""The exceptions and warnings of Luce, and the errors of unknown names and missing packages."""

import difflib
import functools
import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any


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


def warn(message: str) -> None:
    """Warn at the line that called Luce, whatever called whom inside it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("luce."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, LuceWarning, stacklevel=level)


_ROUNDS = "n_estimators", "epochs", "max_iter"
_PENALTY = "reg_lambda", "weight_decay"
_NDCG = "approx-ndcg", "pl-rank-2", "lambdaloss"
OTHER_LIBRARIES = {
    **dict.fromkeys((*_ROUNDS, "iterations", "n_epochs", "n_iter", "num_boost_round", "num_iterations"), _ROUNDS),
    **dict.fromkeys((*_PENALTY, "alpha", "C", "l2", "l2_leaf_reg", "lambda_l2"), _PENALTY),
    **dict.fromkeys(("eta", "lr"), ("learning_rate",)),
    **dict.fromkeys(("early_stopping", "early_stopping_round", "patience"), ("early_stopping_rounds",)),
    **dict.fromkeys(("max_leaf_nodes", "max_leaves"), ("num_leaves",)),
    **dict.fromkeys(("min_data_in_leaf", "min_samples_leaf"), ("min_child_samples",)),
    **dict.fromkeys(("bagging_fraction", "row_subsample"), ("subsample",)),
    **dict.fromkeys(("feature_fraction", "rsm"), ("colsample_bytree",)),
    **dict.fromkeys(("eval_at", "eval_metric", "scoring"), ("metric",)),
    **dict.fromkeys(("cat_features", "categorical_features"), ("categorical_feature",)),
    **dict.fromkeys(("lambdamart", "rank:map", "rank:ndcg"), ("lambdarank",)),
    **dict.fromkeys(("pairlogit", "pairwise_logistic_loss", "rank:pairwise"), ("ranknet",)),
    **dict.fromkeys(("mse", "pointwise_rmse", "queryrmse", "rmse"), ("squared-label",)),
    **dict.fromkeys(("querysoftmax", "softmax_loss"), ("softmax",)),
    **dict.fromkeys(("rank_xendcg", "xendcg", "xe-ndcg"), ("softmax", "c-kl")),
    **dict.fromkeys(("binary", "binarycrossentropy", "cross-entropy", "cross_entropy", "logistic"), ("bce",)),
    **dict.fromkeys(("hinge", "pairwise_hinge_loss"), ("ranksvm",)),
    **dict.fromkeys(("plackett-luce", "plackettluce"), ("pl-partition", "listmle")),
    **dict.fromkeys(("neuralndcg", "ndcg", "pirank", "softrank"), _NDCG),
    "approx_ndcg_loss": ("approx-ndcg",),
    **dict.fromkeys(("ndcgloss2", "ndcgloss2++", "ndcg-loss2++"), ("lambdaloss",)),
    **dict.fromkeys(("yetirank", "yetiloss"), ("stochastic", "lambdarank")),
    "list_mle_loss": ("listmle",),
    "ordinal": ("mcrank",),
    "p": ("precision",),
    **dict.fromkeys(("hr", "hit_rate", "hitrate"), ("hit",)),
    "recip_rank": ("mrr",),
    **dict.fromkeys(("model", "net", "network"), ("module",)),
    **dict.fromkeys(("eval_group", "eval_qid", "eval_set"), ("validation",)),
    "sep": ("delimiter",),
    **dict.fromkeys(("usecols", "columns"), ("features",)),
    **dict.fromkeys(("drop", "ignore"), ("exclude",)),
    **dict.fromkeys(("group", "group_id", "qid"), ("query",)),
    **dict.fromkeys(("target", "y"), ("label",)),
    "sample_weight": ("weight",),
}
"""Names that users know from other libraries, and those that may be meant here: the ones that apply are suggested."""


def unknown_name(kind: str, given: str, known: Iterable[str], others: Iterable[str] = ()) -> OptionError:
    """The error for a name that is not in a table, with the nearest names that are, or those of `others`.

    >>> raise unknown_name("metric", "ndgc", ["ndcg", "dcg", "err"])
    Traceback (most recent call last):
    luce.errors.OptionError: There is no metric 'ndgc'. Did you mean 'ndcg'? Known: dcg, err, ndcg.
    """
    names = sorted(known)
    guess = did_you_mean(nearest_names(given, [*names, *others]))
    return OptionError(f"There is no {kind} {given!r}.{guess} Known: {', '.join(names)}.")


def nearest_names(given: str, known: Iterable[str]) -> list[str]:
    """Those of the known names that were probably meant: the same letters, another library's name, or a few typos.

    >>> known = ["listmle", "lambdarank", "max_iter", "ndcg@10"]
    >>> [nearest_names(given, known) for given in ("ListMLE", "rank:ndcg", "n_estimators", "ndcg_at_10", "max_itr")]
    [['listmle'], ['lambdarank'], ['max_iter'], ['ndcg@10'], ['max_iter']]
    """
    names = {name.lower(): name for name in known}
    same = [name for name in names.values() if words_of(name) and "".join(words_of(name)) == "".join(words_of(given))]
    elsewhere = OTHER_LIBRARIES.get(given) or OTHER_LIBRARIES.get(given.lower(), ())
    foreign = [names[name] for name in elsewhere if name in names]
    return same or foreign or [names[name] for name in difflib.get_close_matches(given.lower(), names, n=3)]


def suggest_keywords(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, whose TypeError for an unknown keyword names the one that was probably meant.

    A method that accepts any keyword stays as it is.

    >>> class Model:
    ...     @suggest_keywords
    ...     def fit(self, X, validation=None): ...
    >>> Model().fit([], eval_set=[])
    Traceback (most recent call last):
    TypeError: Model.fit() got an unexpected keyword argument 'eval_set'. Did you mean 'validation'?
    """
    parameters = inspect.signature(method).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return method
    known = [name for name in parameters if name != "self"]

    @functools.wraps(method)
    def checked(self: Any, *arguments: Any, **keywords: Any) -> Any:
        for given in keywords:
            if given not in known:
                name = f"{type(self).__name__}.{method.__name__}()"
                guess = did_you_mean(nearest_names(given, known))
                raise TypeError(f"{name} got an unexpected keyword argument {given!r}.{guess}")
        return method(self, *arguments, **keywords)

    return checked


def did_you_mean(names: Iterable[str]) -> str:
    """The question whether one of these names was meant, after a space; nothing where there are none.

    >>> did_you_mean(["ndcg", "dcg"])
    " Did you mean 'ndcg' or 'dcg'?"
    """
    quoted = [repr(name) for name in names]
    return f" Did you mean {' or '.join(quoted)}?" if quoted else ""


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case: split at punctuation and where the case changes; @ is the word "at".

    >>> words_of("queryID"), words_of("click_count"), words_of("ndcg@10")
    (['query', 'id'], ['click', 'count'], ['ndcg', 'at', '10'])
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name.replace("@", " at "))
    return [word.lower() for word in re.split(r"[\W_]+", spaced) if word]


def load_package(module: str, extra: str) -> ModuleType:
    """Import an optional package; the error where it is missing has the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingPackageError(f"This needs {package}; to install it: pip install 'luce[{extra}]'") from error
