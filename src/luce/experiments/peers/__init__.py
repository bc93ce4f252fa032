"""PEERS, the one table of other libraries' rankers: fitted on the same lists, stopped by the same metric."""

from importlib.util import find_spec
from typing import Any

from luce.errors import load_package, unknown_name
from luce.experiments.peers.base import PeerRanker
from luce.experiments.peers.catboost import CatBoostSoftMax, CatBoostYetiRank
from luce.experiments.peers.lightgbm import LightGBMLambdaRank, LightGBMXendcg
from luce.experiments.peers.xgboost import XGBoostNdcg

PEERS: dict[str, type[PeerRanker]] = {
    "lightgbm-lambdarank": LightGBMLambdaRank,
    "lightgbm-xendcg": LightGBMXendcg,
    "xgboost": XGBoostNdcg,
    "catboost-yetirank": CatBoostYetiRank,
    "catboost-softmax": CatBoostSoftMax,
}


def peer(name: str, **settings: Any) -> PeerRanker:
    """Make a ranker of another library, for `luce.compare_rankers`.

    Parameters
    ----------
    name : str
        "lightgbm-lambdarank", "lightgbm-xendcg", "xgboost", "catboost-yetirank" or "catboost-softmax".
    **settings
        Parameters of the ranker.

    Returns
    -------
    PeerRanker
        The ranker, not fitted; it has the `fit`, `predict` and `get_params` of a Luce ranker.

    Raises
    ------
    LuceError
        If the library is not installed; the message contains the command that installs it.

    Examples
    --------
    >>> peer("lightgbm-lambdarank", n_estimators=100)
    LightGBMLambdaRank(n_estimators=100)
    """
    if name not in PEERS:
        raise unknown_name("peer", name, PEERS)
    load_package(PEERS[name].packages[0], PEERS[name].extra)
    return PEERS[name](**settings)


def is_installed(name: str) -> bool:
    """Whether the package of a peer is there."""
    return find_spec(PEERS[name].packages[0]) is not None


__all__ = ["PEERS", "PeerRanker", "is_installed", "peer"]
