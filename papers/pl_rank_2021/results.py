"""Results of the 2021 paper: learning curves, the learning rate chosen on validation lists, and paired differences."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from luce.arrays import Floats
from papers.datasets import DATASETS, DatasetSpec
from papers.outcome import Trial
from papers.pl_rank_2021.learning import INCREASING, LearningCurve

SHORT = {"yahoo-set1": "Yahoo", "mslr-web30k": "MSLR", "istella": "Istella", "mq2008": "MQ2008"}


class Setting(NamedTuple):
    """What is run on some data: see `EstimatorExperiment`; a size of 0 is all lists."""

    dataset: DatasetSpec
    sizes: tuple[int, ...]
    rates: tuple[float, ...]
    seeds: int
    samples: tuple[int, ...]
    epochs: tuple[float, ...]
    seconds: tuple[float, ...]
    fair_seconds: tuple[float, ...]

    @property
    def is_papers(self) -> bool:
        """Whether these are the data of the paper."""
        return self.dataset.shape is None and self.sizes == (0,)


class Group(NamedTuple):
    """Trainings that differ only in their learning rate and seed."""

    data: str
    size: int
    method: str
    samples: int | str
    fair: bool = False


Curves = dict[Group, dict[float, dict[int, LearningCurve]]]
"""Learning curves by learning rate and seed."""


class EstimatorResults(NamedTuple):
    """All results.

    Attributes
    ----------
    settings
        What was run, by dataset.
    curves
        Figures 1 to 3.
    seconds
        Table 1: seconds of a step by method, number of samples and whether as published, one value per repetition.
    gradient_differences
        The difference between PL-Rank-1 and the placement policy gradient as published.
    """

    settings: Mapping[str, Setting]
    curves: Curves
    seconds: Mapping[str, Mapping[tuple[str, int, bool], Floats]] = {}
    gradient_differences: Mapping[str, float] = {}

    def name(self, data: str) -> str:
        """A dataset in words."""
        synthetic = self.settings[data].dataset.shape is not None
        return f"synthetic {SHORT.get(data, data)}" if synthetic else SHORT.get(data, data)

    def checkpoints(self, group: Group) -> Sequence[float]:
        """The lengths of training after which there are values."""
        setting = self.settings[group.data]
        return (
            setting.fair_seconds if group.fair else setting.seconds if group.samples == INCREASING else setting.epochs
        )

    def rate(self, group: Group, place: int) -> float:
        """The learning rate with the best mean validation value at a checkpoint."""
        sign = -1 if group.fair else 1
        means = {
            rate: sign * float(np.mean([curve.validation[place] for curve in curves.values()]))
            for rate, curves in self.curves[group].items()
        }
        return max(means, key=lambda rate: means[rate])

    def ends(self, group: Group, place: int) -> dict[int, float]:
        """The test values at a checkpoint by seed (0 is before training), with the chosen learning rate."""
        chosen = self.curves[group][self.rate(group, place)]
        return {seed: curve.test[place] for seed, curve in chosen.items()}

    def mean(self, group: Group, place: int = -1) -> float:
        """The mean of the test values; NaN where this was not trained."""
        return float(np.mean([*self.ends(group, place).values()])) if group in self.curves else np.nan

    def differences(self, pairs: Iterable[tuple[Group, Group]]) -> dict[Trial, float]:
        """One minus other at every checkpoint and seed; in disparity other minus one, so that above 0 is better."""
        found, compared = {}, list(pairs)
        several = len({(one.data, one.samples) for one, _ in compared}) > len({one.data for one, _ in compared})
        for one, other in compared:
            at = f", N = {one.samples:,}" if several else ""
            if one not in self.curves or other not in self.curves:
                continue
            for place, length in enumerate(self.checkpoints(one), start=1):
                ours, theirs = self.ends(one, place), self.ends(other, place)
                size = one.size or DATASETS[one.data].sizes["train"].lists
                for seed, value in ours.items():
                    trial = Trial(f"{self.name(one.data)}{at}", size, length, seed)
                    found[trial] = (theirs[seed] - value) if one.fair else (value - theirs[seed])
        return found

    def groups(self, method: str, samples: int | str, fair: bool = False, data: Iterable[str] = ()) -> list[Group]:
        """The trainings of a method, on all data or some."""
        return [
            Group(name, size, method, samples, fair)
            for name in data or self.settings
            if name in self.settings
            for size in self.settings[name].sizes
        ]
