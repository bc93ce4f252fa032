"""PRESETS, the one table of the papers' systems: a kind of ranker, an objective and parameters, as printed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from luce.errors import unknown_name
from luce.objectives import objective as objective_of


@dataclass(frozen=True)
class Preset:
    """A system of a paper: which ranker it is, its objective, and every parameter that the paper states.

    Attributes
    ----------
    name, paper, summary : str
    model : str
        The kind of ranker.
    objective : str
        Its objective; `options` are the objective's.
    settings : mapping of str to object
        The parameters of the ranker.
    """

    name: str
    model: str
    objective: str
    paper: str
    summary: str
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """What the record says, ready for JSON."""
        objective = str(objective_of(self.objective, **self.options))
        names = {"name": self.name, "summary": self.summary, "paper": self.paper, "model": self.model}
        return {**names, "objective": objective, **self.settings}

    def parameters(self) -> dict[str, Any]:
        """What the ranker is made with."""
        return {"objective": objective_of(self.objective, **self.options), **self.settings}


_LINEAR = {"transforms": ("fill", "standardize"), "reg_lambda": 1.0}
_L_BFGS = {**_LINEAR, "optimizer": "lbfgs", "max_iter": 100, "tol": 1e-5}
_SAMPLED = {**_LINEAR, "optimizer": "gradient-descent", "max_iter": 1_000, "learning_rate": 0.1}
_TREES = {
    "n_estimators": 1_000,
    "num_leaves": 30,
    "min_child_samples": 10,
    "learning_rate": 0.1,
    "split_hessian": "constant",
    "validation_fraction": None,
}
_LISTMLE_TREES = {**_TREES, "leaf_hessian": "exact", "resample_each_round": False}
_MART = {**_TREES, "leaf_hessian": "diagonal"}
_TAGS = {"hidden_layer_sizes": (256,), "batch_size": 128, "optimizer": "adam", "learning_rate": (1e-4, 1e-3, 1e-2)}
_2011, _2019 = "Tran, Phung and Venkatesh 2011", "Xia, Zhai and Wang 2019"

PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "linear-pmop-fd",
            "linear",
            "pmop-fd",
            _2011,
            "Ordered partitions by full decomposition, L-BFGS until 1e-5 or 100 iterations.",
            settings=_L_BFGS,
        ),
        Preset(
            "linear-pmop-gibbs",
            "linear",
            "pmop-gibbs",
            _2011,
            "Ordered partitions, one Gibbs sweep per step, 1,000 steps with learning rate 0.1.",
            {"steps": 1},
            _SAMPLED,
        ),
        Preset(
            "linear-pmop-mh",
            "linear",
            "pmop-mh",
            _2011,
            "Ordered partitions, three Metropolis-Hastings proposals per step, 1,000 steps with learning rate 0.1.",
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
            _L_BFGS,
        ),
        Preset(
            "coordinate-ascent",
            "linear",
            "listmle",
            _2019,
            "Direct maximization of NDCG@10, one weight at a time with an exact line search.",
            settings={**_LINEAR, "optimizer": "coordinate-ascent", "metric": "ndcg@10"},
        ),
        *(
            Preset(
                "listmle-trees" if count == 1 else f"listmle-trees-{count}",
                "trees",
                "listmle",
                _2019,
                f"PLRank: trees with ListMLE of the top ten; {count} order{'s' * (count > 1)} of equal labels.",
                {"depth": 10, "permutations": count},
                _LISTMLE_TREES,
            )
            for count in (1, 3, 6)
        ),
        Preset(
            "mcrank-trees",
            "trees",
            "mcrank",
            _2019,
            "Trees that predict the grade, one per grade and round; the score is the expected grade.",
            settings={**_MART, "n_estimators": 2_500},
        ),
        Preset(
            "lambdamart",
            "trees",
            "lambdarank",
            _2019,
            "Trees with all pairs, weighted by the change of NDCG if they are swapped.",
            {"truncation_level": None},
            _MART,
        ),
        *(
            Preset(name, "trees", objective, _2019, f"Trees with {loss}.", settings=_MART)
            for name, objective, loss in (
                ("mart-1", "squared-gain", "the squared distance to the gain (Eq. 11)"),
                ("mart-2", "squared-label", "the squared distance to the label (Eq. 12)"),
                ("c-mart-1", "c-squared", "the squared distance to the gain over the ideal DCG (Eq. 10)"),
                ("cosmart", "cosine", "the cosine of gains and scores"),
                ("c-cosmart", "c-cosine", "the cosine of gains and scores, gains over the ideal DCG"),
                ("klmart", "kl", "the cross-entropy of gains and scores"),
                ("c-klmart", "c-kl", "the cross-entropy of gains and scores, gains over the ideal DCG"),
            )
        ),
        *(
            Preset(
                f"tags-{objective}",
                "labels",
                objective,
                "Ma et al. 2020",
                f"Labels ranked by a hidden layer of 256 with {objective}, Adam, learning rate by validation.",
                settings=_TAGS,
            )
            for objective in ("pl-partition", "pl-lb", "ranknet", "ranksvm")
        ),
        Preset(
            "leml",
            "labels",
            "squared-label",
            "Yu et al. 2014, in the setting of Ma et al. 2020",
            "Labels ranked by a linear map of rank 256, least squares.",
            settings={**_TAGS, "activation": "identity"},
        ),
    )
}


def preset_of(name: str) -> Preset:
    """The preset of this name.

    >>> preset_of("l-listmle").settings["reg_lambda"]
    1.0
    """
    if name not in PRESETS:
        raise unknown_name("preset", name, PRESETS)
    return PRESETS[name]
