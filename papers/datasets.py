"""DATASETS, public datasets, the papers' and a few small ones: where to get them, where their files go, their sizes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from luce.data import Dataset, concatenate, read, split
from luce.data.extreme import TaggedData, read_tagged
from luce.errors import DataError


class Layout(NamedTuple):
    """Files as distributed, by part, relative to a subfolder of the data folder.

    {fold} is the number of the fold, {fold+1} that of the next one, where the first follows the last. Several files
    of a part are separated by spaces.
    """

    folder: str
    files: Mapping[str, str]
    splits: Mapping[str, str] = {}
    """Files of row numbers, for a dataset whose parts share one file."""


class PartSize(NamedTuple):
    """Published numbers of lists and rows of a part; in a multi-label dataset every row is a list."""

    lists: int
    rows: int


@dataclass(frozen=True)
class PublicDataset:
    """A public dataset.

    Attributes
    ----------
    name
        The name that reproductions use.
    source
        Where to get it, in words.
    layouts
        Where its files may be, in the order of the search.
    features, labels
        Their numbers; `labels` is None for lists with relevance grades.
    sizes
        The sizes of the parts by name; with folds, those of fold 1.
    folds
        The number of folds, each with its own parts.
    validation
        The share of the training lists that is the validation part, where none is distributed.
    """

    name: str
    source: str
    layouts: tuple[Layout, ...]
    features: int
    labels: int | None = None
    sizes: Mapping[str, PartSize] = field(default_factory=dict)
    folds: int = 1
    validation: float = 0.0

    def files(self) -> list[str]:
        """The files of its first layout, relative to the data folder."""
        first = self.layouts[0]
        names = [*" ".join(first.files.values()).split(), *first.splits.values()]
        folds = f"{{1…{self.folds}}}"
        return [f"{first.folder}/{name}" for name in dict.fromkeys(_FOLD.sub(folds, name) for name in names)]


_FOLD = re.compile(r"\{fold(?:\+(\d))?\}")
_PARTS = {"train": "train.txt", "validation": "vali.txt", "test": "test.txt"}
_FOLDS = {part: f"Fold{{fold}}/{file}" for part, file in _PARTS.items()}
_ROTATED = {"train": "S{fold}.txt S{fold+1}.txt S{fold+2}.txt", "validation": "S{fold+3}.txt", "test": "S{fold+4}.txt"}
_YAHOO = {"train": "set1.train.txt", "validation": "set1.valid.txt", "test": "set1.test.txt"}
_LETOR = "LETOR 4.0 of Microsoft Research, on request from its page"
_EXTREME = "the Extreme Classification Repository, bag-of-words files"


def _extreme(name: str, folder: str, stem: str, features: int, labels: int, train: int, test: int) -> PublicDataset:
    files = {"train": f"{stem}_train.txt", "test": f"{stem}_test.txt"}
    sizes = {"train": PartSize(train, train), "test": PartSize(test, test)}
    return PublicDataset(name, _EXTREME, (Layout(folder, files),), features, labels, sizes)


DATASETS = {
    each.name: each
    for each in (
        PublicDataset(
            "mslr-web30k",
            "Microsoft Learning to Rank Datasets, MSLR-WEB30K, from Microsoft Research",
            (Layout("MSLR-WEB30K", _FOLDS),),
            136,
            sizes={
                "train": PartSize(18_919, 2_270_296),
                "validation": PartSize(6_306, 747_218),
                "test": PartSize(6_306, 753_611),
            },
            folds=5,
        ),
        PublicDataset(
            "yahoo-set1",
            "Yahoo! Webscope, C14 (Learning to Rank Challenge), set 1, on request",
            (Layout("ltrc_yahoo", _YAHOO), Layout("Yahoo", _YAHOO), Layout(".", _YAHOO)),
            700,
            sizes={
                "train": PartSize(19_944, 473_134),
                "validation": PartSize(2_994, 71_083),
                "test": PartSize(6_983, 165_660),
            },
        ),
        PublicDataset(
            "istella",
            "Istella LETOR, the full set, from Istella",
            tuple(Layout(folder, {"train": "train.txt", "test": "test.txt"}) for folder in ("full", "istella/full")),
            220,
            sizes={"train": PartSize(23_219, 7_325_625), "test": PartSize(9_799, 3_129_004)},
        ),
        PublicDataset("mq2007-list", _LETOR, (Layout("MQ2007-list", _FOLDS),), 46, folds=5),
        PublicDataset("mq2008-list", _LETOR, (Layout("MQ2008-list", _FOLDS),), 46, folds=5),
        PublicDataset(
            "delicious",
            _EXTREME,
            (
                Layout(
                    "Delicious",
                    {"train": "Delicious_data.txt", "test": "Delicious_data.txt"},
                    {"train": "delicious_trSplit.txt", "test": "delicious_tstSplit.txt"},
                ),
                Layout("delicious-983", {"train": "train.txt", "test": "test.txt"}),
            ),
            500,
            983,
            {"train": PartSize(12_920, 12_920), "test": PartSize(3_185, 3_185)},
        ),
        _extreme("eurlex-4k", "Eurlex", "eurlex", 5_000, 3_993, 15_539, 3_809),
        _extreme("wiki10-31k", "Wiki10", "wiki10", 101_938, 30_938, 14_146, 6_616),
        _extreme("delicious-200k", "DeliciousLarge", "deliciousLarge", 782_585, 205_443, 196_606, 100_095),
        PublicDataset(
            "mq2008",
            _LETOR,
            (Layout("mq2008", _ROTATED),),
            46,
            sizes={"train": PartSize(471, 9_630), "validation": PartSize(157, 2_707), "test": PartSize(156, 2_874)},
            folds=5,
        ),
        PublicDataset(
            "mslr-sample",
            "the first 5,000 rows of train.txt and of test.txt of Fold1 of MSLR-WEB30K",
            (Layout("mslr-sample", {"train": "train.txt", "test": "test.txt"}),),
            136,
            sizes={"train": PartSize(43, 5_000), "test": PartSize(43, 5_000)},
            validation=0.2,
        ),
        PublicDataset(
            "lightgbm-rank",
            "the example lambdarank in the repository of LightGBM, with the .query files",
            (Layout("lightgbm-rank", {"train": "rank.train", "test": "rank.test"}),),
            300,
            sizes={"train": PartSize(201, 3_005), "test": PartSize(50, 768)},
            validation=0.2,
        ),
    )
}

REAL_DATA = ("mq2008", "mslr-sample", "lightgbm-rank")
"""Small sets of judged lists, of no paper: they show whether what holds on synthetic data holds on real ones."""


@dataclass(frozen=True)
class DatasetFiles:
    """The files of a public dataset that was found in a folder."""

    dataset: PublicDataset
    layout: Layout
    folder: Path
    fold: int = 1

    def paths(self, part: str) -> list[Path]:
        """The files of a part: "train", "test" and, where it is distributed, "validation"."""

        def number(found: re.Match[str]) -> str:
            return str((self.fold - 1 + int(found[1] or 0)) % self.dataset.folds + 1)

        return [self.folder / _FOLD.sub(number, name) for name in self.layout.files[part].split()]

    def read(self, part: str, **options: Any) -> Any:
        """Read a part, a `Dataset` or `TaggedData`, and check its counts against the published ones."""
        if self.dataset.labels is None:
            share = self.dataset.validation if part != "test" else 0.0
            if not share:
                return self._read_lists(part, **options)
            train, validation = split(self._read_lists("train", **options), (1 - share, share))
            return validation if part == "validation" else train
        (path,), rows = self.paths(part), self.layout.splits.get(part)
        tagged: TaggedData = read_tagged(path, split=None if rows is None else self.folder / rows, **options)
        self._check(part, rows=tagged.n_rows, features=tagged.n_features, labels=tagged.n_labels)
        return tagged

    def _read_lists(self, part: str, **options: Any) -> Dataset:
        features = self.dataset.features
        files = [read(path, format="letor", n_features=features, **options) for path in self.paths(part)]
        lists = files[0] if len(files) == 1 else concatenate(files)  # which copies
        self._check(part, lists=lists.n_lists, rows=lists.n_rows)
        return lists

    def _check(self, part: str, **counts: int) -> None:
        expected: dict[str, int | None] = {"features": self.dataset.features, "labels": self.dataset.labels}
        if self.fold == 1 and part in self.dataset.sizes:
            expected |= self.dataset.sizes[part]._asdict()
        wrong = [
            f"{count:,} {name}, not {expected[name]:,}"
            for name, count in counts.items()
            if expected.get(name, count) != count
        ]
        if wrong:
            files = ", ".join(map(str, self.paths(part)))
            raise DataError(
                f"{files} is not the {part} part of {self.dataset.name} as published: it has {'; '.join(wrong)}. "
                f"Get it again from {self.dataset.source}, or omit --data to run on synthetic data."
            )


def find(folder: Path | None, name: str, fold: int = 1) -> DatasetFiles | None:
    """The files of a public dataset in a folder; None without a folder or where none of its files is in there.

    >>> find(None, "mslr-web30k") is None
    True
    """
    dataset = DATASETS[name]
    if folder is None:
        return None
    if not folder.is_dir():
        raise DataError(f"There is no folder {folder}; --data must be the folder of the public data.")
    for layout in dataset.layouts:
        files = DatasetFiles(dataset, layout, folder / layout.folder, fold)
        paths = [path for part in layout.files for path in files.paths(part)]
        paths += [files.folder / each for each in layout.splits.values()]
        missing = [str(path) for path in paths if not path.exists()]
        if not missing:
            return files
        if len(missing) < len(paths):
            raise DataError(f"{name} is incomplete; missing: {', '.join(missing)}. Get it from {dataset.source}.")
    return None


def find_folds(folder: Path | None, name: str) -> DatasetFiles | None:
    """The first fold of a public dataset of which all folds are required: a missing one is reported before the run."""
    dataset = DATASETS[name]
    folds = {fold: find(folder, name, fold) for fold in range(1, dataset.folds + 1)}
    missing = [str(fold) for fold, files in folds.items() if files is None]
    if 0 < len(missing) < dataset.folds:
        raise DataError(
            f"All {dataset.folds} folds of {name} are needed; missing: {', '.join(missing)}. "
            f"Get it from {dataset.source}."
        )
    return folds[1]


class SyntheticShape(NamedTuple):
    """The size of synthetic data: rows or lists of each part, features, mean documents of a list, labels."""

    train: int
    features: int
    validation: int = 0
    test: int = 0
    documents: float = 0
    labels: int = 0


class DatasetSpec(NamedTuple):
    """What an experiment runs on: a public dataset in a folder, or synthetic data of a shape."""

    name: str
    folder: str | None
    shape: SyntheticShape | None
    seed: int = 0

    @classmethod
    def locate(
        cls, folder: Path | None, name: str, shape: SyntheticShape, *, seed: int = 0, all_folds: bool = False
    ) -> "DatasetSpec":
        """The public dataset if it is in the folder, else synthetic data of this shape.

        >>> print(DatasetSpec.locate(None, "istella", SyntheticShape(60, 220)))
        synthetic data in the shape of istella
        """
        files = (find_folds if all_folds else find)(folder, name)
        return cls(name, None, shape, seed) if files is None else cls(name, str(folder), None, seed)

    def read(self, part: str, fold: int = 1, **options: Any) -> Any:
        """Read a part of the public dataset."""
        files = None if self.folder is None else find(Path(self.folder), self.name, fold)
        if files is None:
            raise DataError(f"{self.name} was in {self.folder} when this run started and is missing now.")
        return files.read(part, **options)

    def __str__(self) -> str:
        return self.name if self.shape is None else f"synthetic data in the shape of {self.name}"


def real_data(folder: Path | None) -> list[DatasetSpec]:
    """The small real sets, see REAL_DATA, that are in the folder.

    >>> real_data(None)
    []
    """
    found = (name for name in REAL_DATA if find_folds(folder, name) is not None)
    return [DatasetSpec(name, str(folder), None) for name in found]
