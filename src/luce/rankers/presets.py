"""PRESETS, the one table of the papers' systems: a kind of ranker, an objective and settings, as printed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from luce.errors import unknown_name
from luce.objectives import objective as objective_of


@dataclass(frozen=True)
class Preset:
    """A system of a paper: which ranker it is, what it learns from, and every setting that the paper states."""

    name: str
    model: str
    objective: str
    paper: str
    summary: str
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """What the record says, ready for JSON."""
        goal = str(objective_of(self.objective, **self.options))
        names = {"name": self.name, "summary": self.summary, "paper": self.paper, "model": self.model}
        return {**names, "objective": goal, **self.settings}

    def parameters(self) -> dict[str, Any]:
        """What the ranker is made with."""
        return {"objective": objective_of(self.objective, **self.options), **self.settings}


_L_BFGS = {"optimiser": "lbfgs", "max_iterations": 100, "tolerance": 1e-5}
_SAMPLED = {"optimiser": "gradient-descent", "max_iterations": 1_000, "learning_rate": 0.1}
_2011, _2019 = "Tran, Phung and Venkatesh 2011", "PLRank 2019"

PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "pmop-fd",
            "linear",
            "pmop-fd",
            _2011,
            "Ordered partitions by full decomposition, L-BFGS until 1e-5 or 100 iterations.",
            settings=_L_BFGS,
        ),
        Preset(
            "pmop-gibbs",
            "linear",
            "pmop-gibbs",
            _2011,
            "Ordered partitions, one sweep of Gibbs sampling a step, 1,000 steps of rate 0.1.",
            {"steps": 1},
            _SAMPLED,
        ),
        Preset(
            "pmop-mh",
            "linear",
            "pmop-mh",
            _2011,
            "Ordered partitions, three Metropolis-Hastings proposals a step, 1,000 steps of rate 0.1.",
            {"steps": 3},
            _SAMPLED,
        ),
        Preset(
            "l-listmle",
            "linear",
            "listmle",
            _2019,
            "The linear ListMLE of the top ten, λ = 1, L-BFGS until 1e-5 or 100 iterations.",
            {"depth": 10},
            {**_L_BFGS, "l2": 1.0},
        ),
        Preset(
            "coordinate-ascent",
            "linear",
            "listmle",
            _2019,
            "NDCG@10 itself maximised, one weight at a time with an exact line search.",
            settings={"optimiser": "coordinate-ascent", "metric": "ndcg@10"},
        ),
    )
}


def preset_of(name: str) -> Preset:
    """The preset of this name.

    >>> preset_of("l-listmle").settings["l2"]
    1.0
    """
    if name not in PRESETS:
        raise unknown_name("preset", name, PRESETS)
    return PRESETS[name]
