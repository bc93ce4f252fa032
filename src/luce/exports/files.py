"""`luce.export`: a fitted ranker as a file of another engine, checked before anything is written."""

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from luce.errors import DataError, OptionError, unknown_name
from luce.exports.check import Check, check_export
from luce.exports.formats import EXPORTS
from luce.exports.parts import refused
from luce.files import atomic_write, check_target
from luce.rankers import RANKERS


@dataclass(frozen=True)
class Prepared:
    """Files that are not written yet, the model first, and what their check found."""

    files: dict[Path, bytes]
    check: Check

    def write(self) -> None:
        """Write all files, each complete or not at all."""
        with ExitStack() as stack:
            for path, content in self.files.items():  # the first one that is opened, the model, is in place last
                stack.enter_context(atomic_write(path)).write_bytes(content)


def prepare(ranker: Any, format: str, path: str | os.PathLike[str], *, data: Any = None) -> Prepared:
    """What `export` would write, and its check.

    Parameters
    ----------
    ranker, format, path, data
        As in `export`.

    Returns
    -------
    Prepared
        With the attributes `files` and `check`, and the method `write`.
    """
    if format not in EXPORTS:
        raise unknown_name("export format", format, EXPORTS)
    chosen, target = EXPORTS[format], Path(path)
    if getattr(ranker, "kind", None) not in RANKERS:
        raise OptionError(f"Only rankers can be exported: {', '.join(RANKERS)}. Got {type(ranker).__name__}.")
    check_is_fitted(ranker)
    check_target(target)
    if ranker.kind not in chosen.kinds:
        known = [name for name, each in EXPORTS.items() if ranker.kind in each.kinds]
        instead = f"Formats that can: {', '.join(known)}." if known else "Serve it with Luce."
        raise refused(format, f"it is a {type(ranker).__name__}", instead)
    content = chosen.write(ranker, target.stem)
    beside = {target.with_suffix(end): text.encode() for end, text in chosen.companions(ranker, target.stem).items()}
    return Prepared({target: content, **beside}, check_export(chosen, ranker, content, data))


def export(
    ranker: Any, format: str, path: str | os.PathLike[str], *, data: Any = None, tolerance: float | None = None
) -> Check:
    """Write a fitted ranker in the format of a search engine or another library, and check that it scores the same.

    Before anything is written, rows are scored from the content of the file by the rule of the engine, in its float32
    arithmetic, and compared with the scores of the ranker.

    Parameters
    ----------
    ranker : Ranker or LabelRanker
        A fitted ranker.
    format : str
        A name of EXPORTS: "elasticsearch", "opensearch", "elasticsearch-native", "solr", "vespa", "ranklib",
        "lightgbm", "treelite" or "onnx".
    path : str or path-like
        The file to write; its name without extension becomes the name of the model. Templates that the engine needs,
        such as the feature set, are written beside it.
    data : Dataset, optional
        The lists to check with; by default rows made from the model, with thresholds, their float32 neighbors, tiny,
        huge and missing values.
    tolerance : float, optional
        The largest difference of a score that is accepted.

    Returns
    -------
    Check
        The number of rows that were compared, how many score differently, and the largest difference.

    Raises
    ------
    OptionError
        If the format cannot express the ranker; the message says why and what to do.
    DataError
        If a score differs by more than `tolerance`; nothing is written then.

    Examples
    --------
    >>> import luce, tempfile
    >>> data = luce.from_arrays([[1.0], [3], [2]], [0, 2, 1], ["q", "q", "q"])
    >>> ranker = luce.TreeRanker(n_estimators=2, min_child_samples=1, n_jobs=1).fit(data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     check = luce.export(ranker, "solr", f"{folder}/shop.json")
    >>> check.rows, check.different_rows
    (1000, 0)
    """
    prepared = prepare(ranker, format, path, data=data)
    if tolerance is not None and not prepared.check.within(tolerance):
        raise DataError(f"{path} was not written: {prepared.check}. The tolerance is {tolerance:g}.")
    prepared.write()
    return prepared.check
