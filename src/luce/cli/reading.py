"""Reading data for a command: with progress, with the user's own options, and with the features that are wanted."""

import os
import warnings
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from luce.cli.options import pairs
from luce.cli.output import progress
from luce.errors import DataError, LuceWarning

COLUMNS = ("query", "label", "features", "categorical", "exclude", "document", "weight", "list_weight", "item_group")
"""The options that name columns of a table."""


class Features(NamedTuple):
    """What is known of the features to read: their number, their names, and the names of those that are categories."""

    n_features: int | None = None
    names: Sequence[str] | None = None
    categorical: Sequence[str] | None = None


def read_for(
    ranker: Any,
    path: str | os.PathLike[str],
    reading: list[str] | None = None,
    like: Any = None,
    judged: bool = True,
) -> Any:
    """The data that a ranker takes, judged lists or tagged rows, with the features of the model, or of other data, if
    known; without a ranker, judged lists.

    Not `judged`: a table may go without a column of labels.
    """
    from luce.rankers import Ranker

    if ranker is not None and not isinstance(ranker, Ranker):
        from luce.data.formats import TAGGED

        return _read(TAGGED, path, pairs(reading, "--read"))
    return read_data(path, reading, ranker if hasattr(ranker, "n_features_in_") else like, judged)


def read_data(
    path: str | os.PathLike[str],
    reading: list[str] | None = None,
    like: Any = None,
    judged: bool = True,
    temp_folder: Path | None = None,
) -> Any:
    """The dataset in a file or several, read for certain features: known ones, of a fitted ranker, or of other data."""
    from luce.data.alignment import missing_features

    chosen, options, feature_names = _chosen_for(path, reading, like, judged)
    try:
        return _read(chosen, path, options, temp_folder)
    except DataError:
        wants_known = options.get("features") is feature_names is not None
        there = columns_of(Path(path), reading) if wants_known else []
        missing = [name for name in feature_names or () if name not in there] if there else []
        if missing:
            raise missing_features(missing, there, str(path)) from None
        raise


def list_stream(ranker: Any, path: Path, reading: list[str] | None) -> Iterator[Any] | None:
    """The lists of Parquet, Arrow or mapped files, many at a time in constant memory; None for what is read whole."""
    from luce.data.list_batches import ScatteredListError, choose, complete_lists, dataset_batches, record_batches
    from luce.data.part_files import part_files

    chosen, options, feature_names = _chosen_for(path, reading, ranker, judged=False)
    files = part_files(path)
    if chosen.name == "mapped":
        return _mapped_stream([chosen.read(file, **options) for file in files], files)
    if chosen.name not in ("parquet", "arrow"):
        return None
    chosen.check_options(options)
    first = next(record_batches(files[0], chosen.name), None)
    if first is None or any(name not in first.schema.names for name in feature_names or ()):
        return None  # reading it says what is missing
    roles = choose(first.schema, **options)
    used = [name for name in dict.fromkeys((roles.query, roles.document, *roles.features)) if name is not None]

    def batches(names: list[str]) -> Iterator[Any]:
        return (batch for file in files for batch in record_batches(file, chosen.name, names))

    try:
        for _ in complete_lists(batches([roles.query]), roles.query):
            pass
    except ScatteredListError:
        return None
    return dataset_batches(batches(used), **options | {"label": None, "exclude": ()})


def _mapped_stream(parts: list[Any], files: list[Path]) -> Iterator[Any]:
    from luce.data.query_hashes import refuse_split_lists

    if len(parts) > 1:
        refuse_split_lists([(str(file), part.query_ids) for file, part in zip(files, parts, strict=True)])
    return (block for part in parts for block in in_blocks(part))


def in_blocks(dataset: Any) -> Iterator[Any]:
    """The lists of a dataset, many at a time; of a mapped one they are read only then."""
    from luce.arrays import list_blocks

    for lists in list_blocks(dataset.offsets):
        yield dataset.take(range(lists.start, lists.stop))


def _features(like: Any) -> Features:
    """The features of a fitted ranker or of data, where they are not given themselves."""
    from luce.data import Dataset

    if like is None or isinstance(like, Features):
        return like or Features()
    given = isinstance(like, Dataset)
    n_features, names = (like.n_features, like.feature_names) if given else like.features
    categories = (like.categories if given else like.categories_) or ()
    coded = [column for column, values in enumerate(categories) if values is not None]
    return Features(n_features, names, [names[column] if names else str(column + 1) for column in coded] or None)


def read_column(path: Path, reading: list[str] | None, column: str) -> Any:
    """The numbers in a column of a table, NaN where there is none, in the order of the rows of its dataset."""
    chosen, options = _chosen(path, reading)
    with warnings.catch_warnings(action="ignore", category=LuceWarning):  # read as labels, which ranks would not be
        return _read(chosen, path, options | {"label": column, "features": [], "exclude": [], "categorical": []}).labels


def columns_of(path: Path, reading: list[str] | None) -> list[str]:
    """The names of the columns of a table, or of the first of several; none where the data are no table."""
    from luce.data.part_files import part_files
    from luce.data.table_files import TABLE_SUFFIXES, column_names

    chosen, options = _chosen(path, reading)
    first = part_files(path)[0]
    if chosen.name not in TABLE_SUFFIXES.values() or not first.is_file():
        return []
    return column_names(first, chosen.name, delimiter=options.get("delimiter"))


def _chosen(path: str | os.PathLike[str], reading: list[str] | None) -> tuple[Any, dict[str, Any]]:
    """The format of a file, and the options to read it with."""
    from luce.data import format_of

    options = pairs(reading, "--read", texts=COLUMNS)
    for several in ("features", "categorical", "exclude"):
        if isinstance(options.get(several), str):
            options[several] = [options[several]]
    return format_of(path, options.pop("format", None)), options


def _chosen_for(
    path: str | os.PathLike[str], reading: list[str] | None, like: Any, judged: bool
) -> tuple[Any, dict[str, Any], Sequence[str] | None]:
    """The format of a file, the options to read it with for certain features, and their names if they have any."""
    from luce.data.columns import LABEL

    chosen, options = _chosen(path, reading)
    n_features, feature_names, categorical = _features(like)
    unwanted = options.get("exclude", ())
    if feature_names and not any(fnmatchcase(name, each) for name in feature_names for each in unwanted):
        options.pop("exclude", None)  # the features are known without it, and other files may lack those columns
    wanted: dict[str, Any] = {"n_features": n_features, "features": feature_names, "categorical": categorical}
    if not judged:
        wanted["label"] = (*LABEL, None)
    if feature_names and feature_names[0] == "0":  # text files number their features, and this one starts at 0
        wanted["first_index"] = 0
    for option, value in wanted.items():
        if option in chosen.options and value is not None:
            options.setdefault(option, value)
    return chosen, options, feature_names


def _read(chosen: Any, path: str | os.PathLike[str], options: dict[str, Any], temp_folder: Path | None = None) -> Any:
    """The data; inside a group of processes, the part of this one."""
    with progress(f"Reading {Path(path).name}") as report:
        if "progress" in chosen.options:
            options["progress"] = lambda done, total: report(done / max(total, 1))
        if temp_folder is not None:
            return chosen.read(path, temp_folder=temp_folder, **options)
        return chosen.read_share(path, **options)
