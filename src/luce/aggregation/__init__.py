"""Rank aggregation: rankings without features, and the Plackett-Luce model that gives each item a worth."""

from luce.aggregation.connectivity import Connectivity
from luce.aggregation.goodness_of_fit import GoodnessOfFit
from luce.aggregation.item_scores import ItemScores
from luce.aggregation.partial_orders import ordered_partition
from luce.aggregation.plackett_luce import PlackettLuce
from luce.aggregation.priors import GammaPrior, NormalPrior, PseudoRankings
from luce.aggregation.rankings import Rankings
from luce.aggregation.readers import read_rankings, read_rankings_by

__all__ = [
    "Connectivity",
    "GammaPrior",
    "GoodnessOfFit",
    "ItemScores",
    "NormalPrior",
    "PlackettLuce",
    "PseudoRankings",
    "Rankings",
    "ordered_partition",
    "read_rankings",
    "read_rankings_by",
]
