"""DATASETS, the one table of the public data of the papers: where to get them, where files go, how large they are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from luce.data import Dataset, read
from luce.data.extreme import TaggedData, read_tagged
from luce.errors import DataError


class Layout(NamedTuple):
    """Files as distributed, by part, below a folder of the data folder; {fold} stands for the number of the fold."""

    folder: str
    files: Mapping[str, str]
    splits: Mapping[str, str] = {}
    """Files of row numbers, where one file holds all parts."""


class Size(NamedTuple):
    """Lists and rows of a part as published; tagged rows are lists themselves."""

    lists: int
    rows: int


@dataclass(frozen=True)
class PublicData:
    """A public dataset.

    Attributes:
        name: as a reproduction names it.
        source: where to get it, in words.
        layouts: where its files may lie, in the order they are looked for.
        features, labels: how many there are; labels are None for judged lists.
        sizes: of the parts, by name; with folds, those of fold 1.
        folds: how many, each with parts of its own.
    """

    name: str
    source: str
    layouts: tuple[Layout, ...]
    features: int
    labels: int | None = None
    sizes: Mapping[str, Size] = field(default_factory=dict)
    folds: int = 1

    def files(self) -> list[str]:
        """The files of its first layout, relative to the data folder."""
        first = self.layouts[0]
        names = [*dict.fromkeys(first.files.values()), *first.splits.values()]
        folds = f"{{1…{self.folds}}}"
        return [f"{first.folder}/{name.replace('{fold}', folds)}" for name in names]


_PARTS = {"train": "train.txt", "validation": "vali.txt", "test": "test.txt"}
_FOLDS = {part: f"Fold{{fold}}/{file}" for part, file in _PARTS.items()}
_YAHOO = {"train": "set1.train.txt", "validation": "set1.valid.txt", "test": "set1.test.txt"}
_LETOR = "LETOR 4.0 of Microsoft Research, on request from its page"
_EXTREME = "the Extreme Classification Repository, bag-of-words files"


def _extreme(name: str, folder: str, stem: str, features: int, labels: int, train: int, test: int) -> PublicData:
    files = {"train": f"{stem}_train.txt", "test": f"{stem}_test.txt"}
    sizes = {"train": Size(train, train), "test": Size(test, test)}
    return PublicData(name, _EXTREME, (Layout(folder, files),), features, labels, sizes)


DATASETS = {
    each.name: each
    for each in (
        PublicData(
            "mslr-web30k",
            "Microsoft Learning to Rank Datasets, MSLR-WEB30K, from Microsoft Research",
            (Layout("MSLR-WEB30K", _FOLDS),),
            136,
            sizes={
                "train": Size(18_919, 2_270_296),
                "validation": Size(6_306, 747_218),
                "test": Size(6_306, 753_611),
            },
            folds=5,
        ),
        PublicData(
            "yahoo-set1",
            "Yahoo! Webscope, C14 (Learning to Rank Challenge), set 1, on request",
            (Layout("ltrc_yahoo", _YAHOO), Layout("Yahoo", _YAHOO), Layout(".", _YAHOO)),
            700,
            sizes={"train": Size(19_944, 473_134), "validation": Size(2_994, 71_083), "test": Size(6_983, 165_660)},
        ),
        PublicData(
            "istella",
            "Istella LETOR, the full set, from Istella",
            tuple(Layout(folder, {"train": "train.txt", "test": "test.txt"}) for folder in ("full", "istella/full")),
            220,
            sizes={"train": Size(23_219, 7_325_625), "test": Size(9_799, 3_129_004)},
        ),
        PublicData("mq2007-list", _LETOR, (Layout("MQ2007-list", _FOLDS),), 46, folds=5),
        PublicData("mq2008-list", _LETOR, (Layout("MQ2008-list", _FOLDS),), 46, folds=5),
        PublicData(
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
            {"train": Size(12_920, 12_920), "test": Size(3_185, 3_185)},
        ),
        _extreme("eurlex-4k", "Eurlex", "eurlex", 5_000, 3_993, 15_539, 3_809),
        _extreme("wiki10-31k", "Wiki10", "wiki10", 101_938, 30_938, 14_146, 6_616),
        _extreme("delicious-200k", "DeliciousLarge", "deliciousLarge", 782_585, 205_443, 196_606, 100_095),
    )
}


@dataclass(frozen=True)
class Found:
    """Public data that are there."""

    data: PublicData
    layout: Layout
    folder: Path
    fold: int = 1

    @property
    def name(self) -> str:
        return self.data.name

    def path(self, part: str) -> Path:
        """The file of a part: "train", "test" and, where there is one, "validation"."""
        return self.folder / self.layout.files[part].replace("{fold}", str(self.fold))

    def read(self, part: str, **options: Any) -> Any:
        """The dataset of a part, a `Dataset` or `TaggedData`; its counts must be the published ones."""
        path = self.path(part)
        if self.data.labels is None:
            lists: Dataset = read(path, format="letor", n_features=self.data.features, **options)
            self._check(part, path, lists=lists.n_lists, rows=lists.n_rows)
            return lists
        split = self.layout.splits.get(part)
        tagged: TaggedData = read_tagged(path, split=None if split is None else self.folder / split, **options)
        self._check(part, path, rows=tagged.n_rows, features=tagged.n_features, labels=tagged.n_labels)
        return tagged

    def _check(self, part: str, path: Path, **counts: int) -> None:
        known: dict[str, int | None] = {"features": self.data.features, "labels": self.data.labels}
        if self.fold == 1 and part in self.data.sizes:
            known |= self.data.sizes[part]._asdict()
        wrong = [
            f"{counts[what]:,} {what}, not {known[what]:,}"
            for what in counts
            if known.get(what, counts[what]) != counts[what]
        ]
        if wrong:
            raise DataError(
                f"{path} is not the {part} part of {self.name} as published: it has {'; '.join(wrong)}. "
                f"Get it again from {self.data.source}, or leave --data out to run on made data."
            )


def find(folder: Path | None, name: str, fold: int = 1) -> Found | None:
    """The public data of this name below a folder; None where there is no folder or nothing of it is in there.

    >>> find(None, "mslr-web30k") is None
    True
    """
    data = DATASETS[name]
    if folder is None:
        return None
    if not folder.is_dir():
        raise DataError(f"There is no folder {folder}; --data must name the one that holds the public data.")
    for layout in data.layouts:
        found = Found(data, layout, folder / layout.folder, fold)
        wanted = [found.path(part) for part in layout.files] + [found.folder / each for each in layout.splits.values()]
        missing = [str(path) for path in wanted if not path.exists()]
        if not missing:
            return found
        if len(missing) < len(wanted):
            raise DataError(f"{name} is there in part; missing: {', '.join(missing)}. Get it from {data.source}.")
    return None


def find_folds(folder: Path | None, name: str) -> Found | None:
    """The first fold of public data, where all of them are there: told before the work, not in the midst of it."""
    data = DATASETS[name]
    found = {fold: find(folder, name, fold) for fold in range(1, data.folds + 1)}
    lacking = [str(fold) for fold, one in found.items() if one is None]
    if 0 < len(lacking) < data.folds:
        raise DataError(
            f"All {data.folds} folds of {name} are needed; missing: {', '.join(lacking)}. Get it from {data.source}."
        )
    return found[1]
