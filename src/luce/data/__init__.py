"""Data: files, tables and arrays become one frozen dataset of ragged lists; each name loads on first use."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from luce.data.concatenation import concatenate as concatenate
    from luce.data.formats import FORMATS as FORMATS
    from luce.data.formats import format_of as format_of
    from luce.data.formats import read as read
    from luce.data.formats import read_share as read_share
    from luce.data.formats import write as write
    from luce.data.grouping import group_rows as group_rows
    from luce.data.in_memory import from_arrays as from_arrays
    from luce.data.preferences import rank_breaking as rank_breaking
    from luce.data.ragged import Dataset as Dataset
    from luce.data.splits import parts as parts
    from luce.data.splits import rotations as rotations
    from luce.data.splits import split as split
    from luce.data.tables import from_table as from_table
    from luce.data.transforms import TRANSFORMS as TRANSFORMS
    from luce.data.transforms import apply_transforms as apply_transforms
    from luce.data.transforms import fit_transforms as fit_transforms
    from luce.data.transforms import make_transform as make_transform
    from luce.data.trec import read_run as read_run
    from luce.data.trec import write_run as write_run

_HOMES = {
    "luce.data.concatenation": ("concatenate",),
    "luce.data.formats": ("FORMATS", "format_of", "read", "read_share", "write"),
    "luce.data.grouping": ("group_rows",),
    "luce.data.in_memory": ("from_arrays",),
    "luce.data.preferences": ("rank_breaking",),
    "luce.data.ragged": ("Dataset",),
    "luce.data.splits": ("parts", "rotations", "split"),
    "luce.data.tables": ("from_table",),
    "luce.data.transforms": ("TRANSFORMS", "apply_transforms", "fit_transforms", "make_transform"),
    "luce.data.trec": ("read_run", "write_run"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'luce.data' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
