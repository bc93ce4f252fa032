"""Reproductions of the published tables and figures of five papers: `python -m papers --list` names them.

This package is not installed with Luce: run it from a clone of the repository.
"""

from typing import NamedTuple


class Reproduction(NamedTuple):
    """Tables and figures of a paper, and how to reproduce them.

    Attributes
    ----------
    paper
        Its citation.
    shows
        The tables and figures.
    module
        A module of `papers` with a function `run(run: Run) -> Outcome`.
    datasets
        The public datasets it needs, names of `papers.datasets.DATASETS`.
    quick_minutes, full_minutes
        Approximate time on two cores, with --quick and without.
    """

    paper: str
    shows: str
    module: str
    datasets: tuple[str, ...]
    quick_minutes: float
    full_minutes: float


_2011 = "Tran, Phung and Venkatesh (2011), Probabilistic models over ordered partitions"
_2014 = "Lan, Zhu, Guo, Niu and Cheng (2014), Position-aware ListMLE"
_2019 = "Xia, Zhai and Wang (2019), Plackett-Luce model for learning-to-rank task"
_2020 = "Ma, Yi, Tang, Zhao, Hong, Chi and Mei (2020), Learning-to-rank with partitioned preference"
_2021 = "Oosterhuis (2021), Computationally efficient optimization of Plackett-Luce ranking models"

_TAGGED = ("delicious", "eurlex-4k", "wiki10-31k", "delicious-200k")
_WEB = ("yahoo-set1", "mslr-web30k")
_MQ = ("mq2007-list", "mq2008-list")

REPRODUCTIONS = {
    "partition-simulation": Reproduction(_2020, "Figures 1–3", "partition_2020.simulation", (), 4, 60),
    "partition-labels": Reproduction(_2020, "Tables 1–4", "partition_2020.labels", _TAGGED, 4, 25),
    "ordered-partitions": Reproduction(_2011, "Tables 1 and 2", "ordered_partitions_2011", ("yahoo-set1",), 2, 45),
    "listmle-trees": Reproduction(_2019, "Tables 1, 3, 4 and 5, Figures 1–3", "listmle_trees_2019", _WEB, 5, 35),
    "pl-rank": Reproduction(_2021, "Tables 1 and 2, Figures 1–3", "pl_rank_2021", (*_WEB, "istella"), 6, 80),
    "position-aware": Reproduction(_2014, "Figure 1; the consistency theorem", "position_aware_2014", _MQ, 2, 60),
}
