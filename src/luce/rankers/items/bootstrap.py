"""The bootstrap by random weights: refits of the same rankings, none of which ever vanishes."""

import logging
import warnings
from typing import Any

import numpy as np

from luce.arrays import Floats
from luce.errors import LuceWarning, OptionError
from luce.rankers.items.likelihood import Likelihood
from luce.rankers.items.posterior import Posterior

logger = logging.getLogger(__name__)


def bootstrap_log_worths(model: Any, n_samples: int, random_state: int) -> Floats:
    """Log worths (n_samples, n) of refits; equal rankings are put together first, those of a ranker stay together."""
    if n_samples < 1:
        raise OptionError(f"n_samples must be at least 1. Got {n_samples!r}.")
    random = np.random.default_rng(random_state)
    rankings = model.rankings_.aggregate()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LuceWarning)  # the fit has named what cannot be estimated
        posterior = model._set_up(rankings).posterior
    observed = posterior.likelihood.observed
    found = np.full((n_samples, len(model.names_)), np.nan)
    for sample in range(n_samples):
        if rankings.rankers is None:
            weights = random.standard_gamma(observed.weights)  # the sum of w exponential weights
        else:
            drawn = random.standard_exponential(len(rankings.ranker_names))
            weights = observed.weights * drawn[rankings.rankers[observed.numbers]]
        refit = _reweighted(posterior, weights, model.ties)
        point = model._search(rankings, refit, model._point)[0]
        own = refit.worths.log_worths(refit.split(point)[0])
        found[sample, model.estimable_] = own - own.mean()
        if (sample + 1) % 100 == 0:
            logger.info("bootstrap: %d of %d", sample + 1, n_samples)
    return found


def _reweighted(posterior: Posterior, weights: Floats, ties: str | None) -> Posterior:
    """The same posterior with other weights of the rankings."""
    old = posterior.likelihood
    likelihood = Likelihood(old.observed.replace(weights=weights), ties, old.n_jobs)
    return Posterior(likelihood, posterior.worths, posterior.pseudo_item, posterior.mean, posterior.precision)
