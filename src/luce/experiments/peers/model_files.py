"""Models saved by Luce or another library, read to score lists; a file holds data and is never run as code."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats
from luce.data import Dataset
from luce.data.categories import Categories, Values, checked_categories
from luce.errors import DataError, LuceError, load_package
from luce.experiments.peers.base import dense
from luce.rankers import Ranker, load_ranker
from luce.scoring.forest import Forest, Tree, constant_tree, text_sections
from luce.threads import thread_count

INSTEAD = "Score the test data with your own code, add the scores as a column, and give its name: --with NAME=COLUMN."
"""What to do with a model that cannot be read."""


class ModelFeatures(NamedTuple):
    """What a saved model is, and the features it takes: how many, and their names and categories where it has them."""

    title: str
    n_features: int
    names: tuple[str, ...] | None
    categories: Categories | None = None


class SavedModel(NamedTuple):
    """A model read from a file, and the function that scores the rows of a dataset with some threads."""

    features: ModelFeatures
    predict: Callable[[Dataset, int], Any]


def _luce(path: Path) -> SavedModel:
    ranker = load_ranker(path)
    if not isinstance(ranker, Ranker):
        raise DataError(f"{path} ranks labels; only rankers of lists can be compared.")
    n_features, names = ranker.features

    def predict(dataset: Dataset, threads: int) -> Any:
        return ranker.set_params(n_jobs=threads).predict(dataset)

    about = ModelFeatures(type(ranker).__name__, n_features, names and tuple(names), ranker.categories_)
    return SavedModel(about, predict)


def _lightgbm(path: Path) -> SavedModel:
    """LightGBM takes whatever its text says, so every number is checked and the text written anew."""
    text = path.read_text("utf-8")
    header = dict(line.partition("=")[::2] for line in text.partition("\n\n")[0].split("\n"))
    _, blocks = text_sections(text)
    names = tuple(header["feature_names"].split(" "))
    if int(header["max_feature_idx"]) != len(names) - 1 or not blocks:
        raise ValueError("it is not complete")
    if header["num_tree_per_iteration"] != "1":
        raise DataError(f"{path} gives {header['num_tree_per_iteration']} scores per row, and a ranking needs one.")
    categories = _pandas_categories(text, header["feature_infos"].split(" "), path)
    if "\nis_linear=1" in text:
        raise DataError(f"{path} has linear trees, which are not supported. {INSTEAD}")
    trees = tuple(map(_tree, blocks))
    for tree in trees:
        tree.check(len(names))
    forest = Forest(trees, 1, ("none",) * len(names))
    unnamed = all(name == f"Column_{column}" for column, name in enumerate(names))
    about = ModelFeatures(f"LightGBM model, {len(trees):,} trees", len(names), None if unnamed else names, categories)
    return SavedModel(about, lambda dataset, threads: forest.scores(dataset.features, threads))


def _pandas_categories(text: str, feature_infos: list[str], path: Path) -> Categories | None:
    """The values of the categorical columns of the data frame that LightGBM was trained on, which end its text.

    The text has them in the order of the columns, and does not name these: they are those whose range is not [a:b].
    """
    _, ending, values = text.rpartition("\npandas_categorical:")
    known = json.loads(values.strip()) if ending else None
    if not known:
        return None
    columns = [column for column, info in enumerate(feature_infos) if not info.startswith("[")]
    plain = all(isinstance(each, list) and all(isinstance(value, str | int) for value in each) for each in known)
    if len(columns) != len(known) or not plain:  # a column that was constant has no range either
        raise DataError(f"{path} was trained on categorical columns of a data frame that it does not name. {INSTEAD}")
    found: list[Values | None] = [None] * len(feature_infos)
    for column, each in zip(columns, known, strict=True):
        found[column] = tuple(map(str, each))
    return checked_categories(found, len(feature_infos))


def _tree(block: str) -> Tree:
    fields = dict(line.partition("=")[::2] for line in block.strip("\n").split("\n"))
    if fields.get("num_leaves") == "1":  # LightGBM leaves its other fields empty
        return constant_tree(float(fields["leaf_value"]), 1)
    return Tree.parse(block if "is_linear" in fields else f"{block}\nis_linear=0")  # before LightGBM 3.2


def _xgboost(path: Path) -> SavedModel:
    package = load_package("xgboost", "peers")
    try:
        booster = package.Booster(model_file=path)
    except package.core.XGBoostError as error:
        raise ValueError(_first_line(error)) from error
    rounds = booster.num_boosted_rounds()
    best = int(booster.attr("best_iteration") or rounds - 1) + 1
    used = f"{rounds:,} rounds" if best == rounds else f"the best {best:,} of {rounds:,} rounds"
    names = booster.feature_names and tuple(booster.feature_names)

    def predict(dataset: Dataset, threads: int) -> Any:
        matrix = package.DMatrix(dense(dataset), feature_names=booster.feature_names, nthread=threads)
        booster.set_param({"nthread": threads})
        return booster.predict(matrix, output_margin=True, iteration_range=(0, best))

    return SavedModel(ModelFeatures(f"XGBoost model, {used}", booster.num_features(), names), predict)


def _catboost(path: Path) -> SavedModel:
    package = load_package("catboost", "peers")
    try:
        model = package.CatBoost().load_model(str(path), format="cbm")
    except package.CatBoostError as error:
        raise ValueError(_first_line(error)) from error
    if model.get_cat_feature_indices() or model.get_text_feature_indices() or model.get_embedding_feature_indices():
        raise DataError(f"{path} was trained on categorical, text or embedding features. {INSTEAD}")
    names = tuple(model.feature_names_)
    unnamed = names == tuple(map(str, range(len(names))))
    about = ModelFeatures(f"CatBoost model, {model.tree_count_:,} trees", len(names), None if unnamed else names)
    return SavedModel(about, lambda dataset, threads: model.predict(dense(dataset), thread_count=threads))


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]


class ModelFormat(NamedTuple):
    """A format of model files: its name, its suffixes (any where there are none), how a file starts, how it is read."""

    title: str
    suffixes: tuple[str, ...]
    start: bytes
    load: Callable[[Path], SavedModel]

    def matches(self, path: Path, start: bytes) -> bool:
        """Whether a file with this path and start is of this format."""
        return start.startswith(self.start) and (not self.suffixes or path.suffix.lower() in self.suffixes)


MODEL_FORMATS = (
    ModelFormat("Luce (.luce)", (".luce",), b"", _luce),
    ModelFormat("LightGBM (text)", (), b"tree", _lightgbm),
    ModelFormat("XGBoost (.json, .ubj)", (".json", ".ubj"), b"{", _xgboost),
    ModelFormat("CatBoost (.cbm)", (".cbm",), b"", _catboost),
)


def model_format(path: Path) -> ModelFormat | None:
    """The format of a model file; None where there is no such file, or it is something else.

    >>> model_format(Path("no-such-file.luce")) is None
    True
    """
    if not path.is_file():
        return None
    with path.open("rb") as file:
        start = file.read(16)
    return next((each for each in MODEL_FORMATS if each.matches(path, start)), None)


def load_model_file(path: Path) -> SavedModel:
    """The model in a file; a DataError where it is damaged or cannot be used."""
    chosen = model_format(path)
    if chosen is None:
        known = ", ".join(each.title for each in MODEL_FORMATS)
        raise DataError(f"{path} is not a model file that can be read: {known}.")
    try:
        return chosen.load(path)
    except LuceError:
        raise
    except (KeyError, ValueError, OverflowError, OSError) as error:
        raise DataError(f"{path} is not a valid {chosen.title.split()[0]} model: {error}.") from error


def features_of(path: Path) -> ModelFeatures:
    """What the model in a file is, and the features it takes."""
    return load_model_file(path).features


def scores_of(path: Path, dataset: Dataset, n_jobs: int | None) -> Floats:
    """The scores of the model in a file for the rows of a dataset that has its features."""
    features, predict = load_model_file(path)
    if dataset.n_features != features.n_features:
        raise DataError(
            f"{path} was trained with {features.n_features} features, and the data have {dataset.n_features}."
        )
    scores = np.asarray(predict(dataset, thread_count(n_jobs)), dtype=np.float64)
    if scores.shape != (dataset.n_rows,):
        raise DataError(
            f"{path} gives {scores.size // max(dataset.n_rows, 1)} scores per row, and a ranking needs one."
        )
    if not np.isfinite(scores).all():
        raise DataError(f"{path} gives scores that are not finite numbers.")
    return scores


@contextmanager
def model_process(isolate: bool = True) -> Iterator[Callable[..., Any]]:
    """Calls functions of this module in a process of its own: a damaged file may crash the library that reads it."""
    if not isolate:
        yield lambda function, *arguments: function(*arguments)
        return
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:

        def call(function: Callable[..., Any], path: Path, *arguments: Any) -> Any:
            try:
                return pool.submit(function, path, *arguments).result()
            except BrokenProcessPool as error:
                raise DataError(f"{path} is damaged: the library that reads it crashed.") from error

        yield call
