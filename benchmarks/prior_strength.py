"""Is an estimated prior near the best one: held-out likelihood against other standard deviations and pseudo-rankings.

python benchmarks/prior_strength.py

Drivers of normal log worths start in races of a field, some in hundreds and many in one or none; worths from 70 % of
the races predict the others. Figures are mean log-likelihoods of a choice, less those with the estimated prior.
"""

from typing import NamedTuple

import numpy as np

from luce.aggregation import NormalPrior, PlackettLuce, PseudoRankings, Rankings
from measuring import show_machine

GRID = (0.25, 0.5, 1.0, 2.0, 4.0)
PRIORS = (NormalPrior(sd="estimate"), *(NormalPrior(sd=sd) for sd in GRID), PseudoRankings(0.5))
REPEATS = 30


class Season(NamedTuple):
    drivers: int
    races: int
    field: int
    sd: float
    unevenness: float = 1.5
    """Standard deviation of the log of how often drivers start."""


SEASONS = (
    Season(150, 300, 20, 0.3),
    Season(150, 300, 20, 1.0),
    Season(150, 300, 20, 2.0),
    Season(150, 30, 20, 1.0),
    Season(150, 300, 2, 1.0),
    Season(150, 3_000, 2, 2.0),
    Season(10, 20, 4, 1.0, 0.3),
)


def draw(season: Season, seed: int) -> list[list[int]]:
    """The orders of the races."""
    rng = np.random.default_rng(seed)
    worths, starts = (rng.normal(0, sd, season.drivers) for sd in (season.sd, season.unevenness))
    noise = rng.gumbel(size=(2, season.races, season.drivers))
    fields = np.argsort(-(starts + noise[0]), axis=1)[:, : season.field]
    return [field[np.argsort(-(worths + own)[field])].tolist() for field, own in zip(fields, noise[1], strict=True)]


def measure(season: Season, seed: int) -> tuple[float, list[float], list[bool]]:
    """The estimated standard deviation; with each prior, the mean log P of a choice, and if a one-race driver leads."""
    orders = draw(season, seed)
    end = int(0.7 * len(orders))
    train, test = (Rankings.from_orderings(part, n_items=season.drivers) for part in (orders[:end], orders[end:]))
    races = np.bincount(train.items, minlength=season.drivers)
    models = [PlackettLuce(prior=prior).fit(train) for prior in PRIORS]
    leads = [bool(races[np.argmax(model.log_worths_)] == 1) for model in models]
    return models[0].prior_.sd, [model.score(test) for model in models], leads


def main() -> None:
    show_machine("luce", "numpy", "scipy")
    print(
        f"{REPEATS} data sets each, mean ± standard deviation or error; leads: how often a one-race driver comes first"
    )
    names = "".join(f"{name:>17}" for name in [*(f"sd={sd:g}" for sd in GRID), "pseudo"])
    print(f"{'drivers, races, field, sd':30}{'estimated':>13}{'log P':>9}  {names}  leads")
    for season in SEASONS:
        sd, scores, leads = map(np.array, zip(*(measure(season, seed) for seed in range(REPEATS)), strict=True))
        apart = scores[:, 1:] - scores[:, :1]
        mean, error = apart.mean(axis=0), apart.std(axis=0) / np.sqrt(REPEATS)
        shown = "".join(f"{m:+.4f} ±{e:.4f}".rjust(17) for m, e in zip(mean, error, strict=True))
        what = f"{season.drivers}, {season.races:,}, {season.field}, {season.sd}"
        first = f"{leads[:, 0].mean():.0%}, pseudo {leads[:, -1].mean():.0%}"
        print(f"{what:30}{sd.mean():6.2f} ± {sd.std():.2f} {scores[:, 0].mean():8.4f}  {shown}  {first}", flush=True)


if __name__ == "__main__":
    main()
