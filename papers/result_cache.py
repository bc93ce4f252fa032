"""Results of finished points, stored in a file so that an interrupted run resumes where it stopped."""

import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from luce.errors import DataError
from luce.files import atomic_write, check_target
from papers.datasets import DatasetSpec
from papers.environment import Environment


class ResultCache:
    """Results by the settings of their point, in memory and, with a path, in a JSON file that is always complete.

    A file written by another reproduction or another version of Luce is refused. Every result is stored with the
    environment in which it was computed, so that a run may be continued on another machine.

    >>> cache = ResultCache("listmle-trees")
    >>> cache.put({"method": "listmle", "seed": 0}, {"ndcg": 0.5})
    >>> cache.get({"seed": 0, "method": "listmle"}), cache.get({"seed": 1, "method": "listmle"})
    ({'ndcg': 0.5}, None)
    """

    def __init__(self, name: str, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._metadata = {"reproduction": name, "luce": version("luce")}
        self._points: dict[str, dict[str, Any]] = {}
        self._environments: list[Environment] = []
        self._used: dict[str, Mapping[str, Any]] = {}
        if self.path is not None:
            check_target(self.path)
            if self.path.exists():
                self._read(self.path)
        self.here = Environment.here()
        self._environments += [] if self.here in self._environments else [self.here]
        self._here = self._environments.index(self.here)

    def get(self, settings: Mapping[str, Any]) -> Any:
        """The result of a point, or None."""
        key = _key(settings)
        if key not in self._points:
            return None
        self._used[key] = settings
        return self._points[key]["result"]

    def put(self, settings: Mapping[str, Any], result: Any) -> None:
        """Store the result of a point, which must be serializable as JSON."""
        self._points[_key(settings)] = {"environment": self._here, "result": result}
        if self.path is not None:
            environments = [each._asdict() for each in self._environments]
            content = self._metadata | {"environments": environments, "points": self._points}
            with atomic_write(self.path) as partial:
                partial.write_text(json.dumps(content), encoding="utf-8")

    def environments(self) -> list[Environment]:
        """Those of the results that were asked for, or the present one if none was."""
        numbers = sorted({self._points[key]["environment"] for key in self._used}) or [self._here]
        return [self._environments[number] for number in numbers]

    def seeds(self) -> list[int]:
        """The seeds of the results that were asked for, those of synthetic data among them."""
        specs = [
            each for settings in self._used.values() for each in settings.values() if isinstance(each, DatasetSpec)
        ]
        return sorted({spec.seed for spec in specs if spec.shape is not None} | self._numbers("seed", "train_seed"))

    def folds(self) -> list[int]:
        """The folds of the results that were asked for."""
        return sorted(self._numbers("fold"))

    def _numbers(self, *names: str) -> set[int]:
        return {settings[name] for settings in self._used.values() for name in names if name in settings}

    def _read(self, path: Path) -> None:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            metadata = {key: content[key] for key in self._metadata}
            self._points = dict(content["points"])
            self._environments = [Environment(**each) for each in content["environments"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path} does not contain the results of a reproduction; give another file: {error!r}"
            ) from error
        if metadata != self._metadata:
            raise DataError(
                f"{path} contains the results of {metadata}, and this is {self._metadata}; give another file."
            )


def _key(settings: Mapping[str, Any]) -> str:
    """The settings as text, without the folder of the data, which is another one on another machine."""
    without_folder = {
        name: each._replace(folder=None) if isinstance(each, DatasetSpec) else each for name, each in settings.items()
    }
    return json.dumps(without_folder, sort_keys=True)
