"""Results of finished points, stored in a file so that an interrupted run resumes where it stopped."""

import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from luce.errors import DataError
from luce.files import atomic_write, check_target


class ResultCache:
    """Results by the settings of their point, in memory and, with a path, in a JSON file that is always complete.

    A file written by another reproduction or another version of Luce is refused.

    >>> cache = ResultCache("listmle-trees")
    >>> cache.put({"method": "listmle", "seed": 0}, {"ndcg": 0.5})
    >>> cache.get({"seed": 0, "method": "listmle"}), cache.get({"seed": 1, "method": "listmle"})
    ({'ndcg': 0.5}, None)
    """

    def __init__(self, name: str, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._metadata = {"reproduction": name, "luce": version("luce")}
        self._points: dict[str, Any] = {}
        if self.path is not None:
            check_target(self.path)
            self._points = self._read(self.path) if self.path.exists() else {}

    def get(self, settings: Mapping[str, Any]) -> Any:
        """The result of a point, or None."""
        return self._points.get(_key(settings))

    def put(self, settings: Mapping[str, Any], result: Any) -> None:
        """Store the result of a point, which must be serializable as JSON."""
        self._points[_key(settings)] = result
        if self.path is not None:
            with atomic_write(self.path) as partial:
                partial.write_text(json.dumps(self._metadata | {"points": self._points}), encoding="utf-8")

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            metadata, points = {key: content[key] for key in self._metadata}, dict(content["points"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path} does not contain the results of a reproduction; give another file: {error!r}"
            ) from error
        if metadata != self._metadata:
            raise DataError(
                f"{path} contains the results of {metadata}, and this is {self._metadata}; give another file."
            )
        return points


def _key(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)
