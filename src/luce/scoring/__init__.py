"""Scoring with fitted models: what rankers predict with, and all that a service needs of a model file."""

from luce.scoring.scorer import Scorer as Scorer
