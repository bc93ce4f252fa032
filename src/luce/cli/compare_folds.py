"""The folds that `luce compare` goes through: a file cut by list, parts that take turns, or splits as given."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from luce.cli.compare_output import is_results
from luce.cli.features import warn_of_leakage
from luce.cli.options import pairs
from luce.cli.output import say
from luce.cli.reading import read_data
from luce.errors import DataError, OptionError

ROLES = {"train": re.compile("train"), "validation": re.compile("vali|dev"), "test": re.compile("test")}
"""What the name of a file says about it: train.txt, vali.txt, set1.valid.txt, testset.txt, …"""
FOLD = re.compile(r"fold[ _-]?(\d+)", re.IGNORECASE)


class SplitFiles(NamedTuple):
    """The files of one split; without validation lists a fifth of the training lists is held out for that."""

    train: Path
    validation: Path | None
    test: Path


def folds_of(
    data: list[Path],
    validation: Path | None,
    test: Path | None,
    count: int | None,
    seed: int,
    reading: list[str] | None,
    excluded: Collection[str] = (),
) -> tuple[Iterator[Any], str]:
    """The folds, read when needed, and how many there are, as text; given splits have no `excluded` features."""
    splits = _split_files(data, validation, test, reading)
    if splits and count is not None and count != len(splits):
        raise OptionError("--folds is for a single file, and DATA is already split: omit it.")
    if splits:
        missing = [split for split in splits if split.validation is None]
        if missing:
            say(f"{missing[0].train} has no validation lists: a fifth of its lists is held out for early stopping.")
        return _read_splits(splits, seed, reading, excluded), _folds(len(splits))
    from luce.data import rotations

    parts = _parts(data, count, seed, reading)
    if len(parts) == 2:
        say(
            "Two folds leave no lists for validation: rankers with a validation_fraction hold out a part of the "
            "training lists, the others are trained without early stopping."
        )
    return rotations(parts), _folds(len(parts))


def _folds(count: int) -> str:
    return f"{count} folds" if count > 1 else "one test set"


def _split_files(
    data: list[Path], validation: Path | None, test: Path | None, reading: list[str] | None
) -> list[SplitFiles]:
    """The splits that were given, if any."""
    if test is not None or validation is not None:
        if test is None:
            raise OptionError("--validation needs --test; DATA is then the file with the training lists.")
        if len(data) != 1 or data[0].is_dir():
            raise OptionError("With --test, DATA must be a single file, with the training lists.")
        return [SplitFiles(data[0], validation, test)]
    if len(data) != 1 or not data[0].is_dir():
        return []
    folders = [path for path in data[0].iterdir() if path.is_dir() and FOLD.fullmatch(path.name)]
    folders.sort(key=lambda path: int(FOLD.fullmatch(path.name).group(1)))  # type: ignore[union-attr]
    if not folders:
        found = _split_in(data[0], reading)
        return [] if found is None else [found]
    splits = [_split_in(folder, reading) for folder in folders]
    if None in splits:
        raise DataError(f"{folders[splits.index(None)]} must contain the files of a fold: train, vali and test.")
    return splits  # type: ignore[return-value]


def _split_in(folder: Path, reading: list[str] | None) -> SplitFiles | None:
    """The split by the names of a folder's files."""
    files = _files(folder, reading)
    found = {role: [path for path in files if pattern.search(path.name.lower())] for role, pattern in ROLES.items()}
    if not (found["train"] and found["test"]):
        return None
    for role, paths in found.items():
        if len(paths) > 1:
            names = ", ".join(path.name for path in paths)
            raise DataError(
                f"{folder} has several {role} files: {names}. Give the training file as DATA, and the others with "
                "--validation and --test."
            )
    return SplitFiles(found["train"][0], next(iter(found["validation"]), None), found["test"][0])


def _files(folder: Path, reading: list[str] | None) -> list[Path]:
    """The data files of a folder: those whose ending means a format, or all where the format is named."""
    from luce.data import format_of
    from luce.data.letor.assemble import LIST_SIZE_SUFFIXES

    named = "format" in pairs(reading, "--read")

    def is_data(path: Path) -> bool:
        if not path.is_file() or path.name.startswith(".") or path.suffix in LIST_SIZE_SUFFIXES:
            return False
        if path.suffix == ".parquet" and is_results(path):  # of a comparison in the folder of its data
            return False
        try:
            return named or format_of(path) is not None
        except OptionError:
            return False

    return sorted(path for path in folder.iterdir() if is_data(path))


def _read_splits(
    splits: list[SplitFiles], seed: int, reading: list[str] | None, excluded: Collection[str]
) -> Iterator[Any]:
    from luce.data import split as split_lists
    from luce.data.splits import Fold

    first: Any = None

    def read(path: Path) -> Any:
        known = () if first is None else (first.n_features, first.feature_names)
        return _without(read_data(path, reading, *known), excluded)

    for split in splits:
        train = read(split.train)
        if first is None:
            first = train
            warn_of_leakage(train, split.train, reading)
        test = read(split.test)
        if split.validation is None:
            most, held_out = split_lists(train, (0.8, 0.2), seed)
            yield Fold(most, held_out, test)
        else:
            yield Fold(train, read(split.validation), test)


def _without(dataset: Any, excluded: Collection[str]) -> Any:
    """The dataset without features of these names."""
    names = dataset.feature_names or ()
    kept = [column for column, name in enumerate(names) if name not in excluded]
    if len(kept) == len(names):
        return dataset
    return dataset.with_features(dataset.features[:, kept], [names[column] for column in kept])


def _parts(data: list[Path], count: int | None, seed: int, reading: list[str] | None) -> list[Any]:
    """The parts that take turns: files as given, the files of a folder, or one file cut by list."""
    from luce.data import parts

    if len(data) == 1 and data[0].is_dir():
        folder = data[0]
        data = _files(folder, reading)
        if len(data) < 2:
            raise DataError(
                f"{folder} must contain at least two data files, one for each part; or train, vali and test files; or "
                "folders Fold1, Fold2, …"
            )
    if len(data) > 1 and count is not None and len(data) != count:
        raise DataError("--folds is for a single file, and DATA is already split: omit it.")
    first = read_data(data[0], reading)
    warn_of_leakage(first, data[0], reading)
    if len(data) == 1:
        return list(parts(first, count or 5, seed))
    return [first, *(read_data(path, reading, first.n_features, first.feature_names) for path in data[1:])]
