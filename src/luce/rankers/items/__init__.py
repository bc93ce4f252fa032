"""Rank aggregation: the Plackett-Luce model itself, fitted to rankings without features or with few."""

from luce.rankers.items.item_scores import ItemScores as ItemScores
from luce.rankers.items.plackett_luce import PlackettLuce as PlackettLuce
from luce.rankers.items.priors import Gamma as Gamma
from luce.rankers.items.priors import Normal as Normal
from luce.rankers.items.priors import Pseudo as Pseudo
