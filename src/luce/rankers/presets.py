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
_ASCENT = {**_LINEAR, "optimizer": "gradient-descent", "max_iter": 1_000, "learning_rate": 0.1, "batch_size": 1}
_BY_L_BFGS = "L-BFGS until 1e-5 or 100 iterations", _L_BFGS
_BY_ASCENT = "1,000 passes, one list per step, learning rate 0.1", _ASCENT
_FEATURES = {"first": ("fill", "standardize"), "second": ("fill", "standardize", "second-order")}
_SGD = {
    "transforms": ("fill", "standardize"),
    "reg_lambda": 0.0,
    "optimizer": "gradient-descent",
    "max_iter": 500,
    "batch_size": 1,
    "learning_rate": 1e-3,
}
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
_POLICY = {
    "transforms": ("fill", "standardize"),
    "hidden_layer_sizes": (32, 32),
    "activation": "sigmoid",
    "optimizer": "sgd",
    "learning_rate": 0.01,
    "weight_decay": 0.0,
    "batch_size": 1,
    "epochs": 40,
    "validation_fraction": None,
}
_LAMBDALOSS = {"name": "lambdaloss", "metric": "dcg@5", "truncation_level": None}
_GROWING = (10, 100, 40)
_2011, _2019, _2021 = "Tran, Phung and Venkatesh 2011", "Xia, Zhai and Wang 2019", "Oosterhuis 2021"

PRESETS = {
    preset.name: preset
    for preset in (
        *(
            Preset(
                f"{order}-order-{objective}",
                "linear",
                objective,
                _2011,
                f"{summary}, {order}-order features, {training}.",
                options,
                {**settings, "transforms": transforms},
            )
            for order, transforms in _FEATURES.items()
            for objective, summary, options, training, settings in (
                ("rankregress", "Squared loss of pairs", {}, *_BY_L_BFGS),
                ("ranknet", "Logistic loss of pairs", {}, *_BY_L_BFGS),
                ("ranksvm", "Hinge loss of pairs", {}, *_BY_L_BFGS),
                ("listmle", "The likelihood of one order of equal labels", {}, *_BY_L_BFGS),
                ("pairties-davidson", "Pairs with Davidson's ties", {}, *_BY_L_BFGS),
                ("pairties-rao-kupper", "Pairs with Rao and Kupper's ties", {}, *_BY_L_BFGS),
                ("pmop-fd", "Ordered partitions by full decomposition", {}, *_BY_L_BFGS),
                ("pmop-gibbs", "Ordered partitions, one Gibbs sweep per step", {"steps": 1}, *_BY_ASCENT),
                (
                    "pmop-mh",
                    "Ordered partitions, three Metropolis-Hastings proposals per step",
                    {"steps": 3},
                    *_BY_ASCENT,
                ),
            )
        ),
        *(
            Preset(
                f"linear-{objective}",
                "linear",
                objective,
                "Lan et al. 2014",
                f"{name} by stochastic gradient descent, a list per step, at most 500 epochs, learning rate 0.001; "
                "the paper chooses the rate from 0.1, 0.01, …, 0.00001 by validation.",
                settings=_SGD,
            )
            for objective, name in (
                ("listmle", "ListMLE"),
                ("p-listmle", "p-ListMLE with weights 2^(n−j) − 1"),
                ("listnet", "ListNet"),
                ("rankcosine", "RankCosine"),
            )
        ),
        *(
            Preset(
                name,
                "linear",
                "listmle",
                _2019,
                f"The linear ListMLE of the top ten, λ = 1, L-BFGS until 1e-5 or {max_iter:,} iterations (on {data}).",
                {"depth": 10},
                {**_L_BFGS, "max_iter": max_iter},
            )
            for name, max_iter, data in (
                ("l-listmle", 100, "Yahoo"),
                ("l-listmle-mslr", 1_000, "MSLR"),
            )
        ),
        Preset(
            "coordinate-ascent",
            "linear",
            "listmle",
            _2019,
            "Direct maximization of NDCG@10, one weight at a time with an exact line search, as DirectRank has it; the "
            "paper's own is the heuristic search of Metzler and Croft.",
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
            for count in (1, 3, 6, 9, 15)
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
                f"neural-{objective}",
                "neural",
                objective,
                _2021,
                f"A policy that maximizes expected DCG@5 by {objective}; 10 to 100 sampled rankings over 40 epochs.",
                {"metric": "dcg@5", "samples": _GROWING},
                _POLICY,
            )
            for objective in ("policy-gradient", "placement-policy-gradient", "pl-rank-1", "pl-rank-2")
        ),
        Preset(
            "neural-lambdaloss",
            "neural",
            "stochastic",
            _2021,
            "The same network with LambdaLoss of DCG@5, averaged over sampled rankings.",
            {"loss": _LAMBDALOSS, "samples": _GROWING},
            _POLICY,
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
