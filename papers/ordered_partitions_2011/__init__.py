"""Linear models of ordered partitions compared with pairwise and listwise losses: Tables 1 and 2 of the 2011 paper."""

from itertools import product

from luce.report.svg import Picture
from papers.datasets import DatasetSpec, SyntheticShape, real_data
from papers.ordered_partitions_2011 import learning, timing
from papers.ordered_partitions_2011.learning import YAHOO, Protocol, chosen_results, effort, points_of, train_and_test
from papers.ordered_partitions_2011.published import ORDERS
from papers.ordered_partitions_2011.results import claims, real_table, table_1
from papers.ordered_partitions_2011.timing import TIMED, Times, table_2, time_claims, time_of_gradient
from papers.outcome import Outcome
from papers.plots import Line, log_lines
from papers.runner import Run, Settings

NOTES = """\
All methods are linear. As in the paper, features are standardized; second-order features are the products of two whose
correlation with the label exceeds 0.15 in absolute value, of which synthetic data have far fewer; L-BFGS stops at a
relative improvement of 1e-5 or after 100 iterations; the chains of the sampled methods start at the observed subset and
make one Gibbs sweep or three Metropolis-Hastings proposals, with a step after every list; ListMLE breaks ties of labels
by an order drawn once; ERR has the highest grade 4 on all data. The acceptance of Metropolis-Hastings has the factor of
the number of subsets, which the printed one lacks. An iteration of the sampled methods is taken to be a pass over the
lists.

On Yahoo's own lists the sampled methods take 1,000 passes with learning rate 0.1, as printed, and the L2 penalty, of
which the paper says nothing, is 1. On other data the penalty of every method and the learning rate of the sampled ones
are those of highest ERR on validation lists, from the same grid, whose highest rate is the printed one. There a
trial pairs 25 or 100 iterations of L-BFGS with 2 or 6 passes (25 or 50 with 2 or 4 in a quick run): on the smallest
sets the sampled methods then take few steps, and may be far from their optimum."""


def run(run: Run) -> Outcome:
    """Train every method with first-order and with second-order features, then measure the time of a gradient."""
    protocol = learning.QUICK if run.quick else learning.FULL
    own = DatasetSpec.locate(run.data, YAHOO, SyntheticShape(0, 0), seed=run.seed)
    real = real_data(run.data)
    if own.shape is None:
        protocol, datasets, real = learning.AS_PRINTED, [own], []
    else:
        datasets = [*protocol.synthetic(run.seed), *real]
    points = points_of(protocol, datasets)
    found = run.points(train_and_test, points, effort=effort, span=(0.0, 0.9), processes=None)
    results = chosen_results(points, found, protocol)
    timed: list[Settings] = [{"method": method, "length": n} for method, n in product(TIMED, timing.LENGTHS)]
    seconds = run.points(time_of_gradient, timed, span=(0.9, 1.0))
    times = {(each["method"], each["length"]): one for each, one in zip(timed, seconds, strict=True)}
    tables = [table_1(results, order) for order in ORDERS]
    tables += [real_table(results, order) for order in ORDERS] if real else []
    return Outcome(
        _data(protocol, own, real, run.seed),
        [*tables, table_2(times)],
        [*claims(results), *time_claims(times)],
        lambda: _pictures(times),
        NOTES,
    )


def _data(protocol: Protocol, own: DatasetSpec, real: list[DatasetSpec], seed: int) -> str:
    if own.shape is None:
        return f"Yahoo set 1, the training part; nine tenths for training, one tenth for testing, seed {seed}."
    sizes = ", ".join(f"{size:,}" for size in protocol.sizes)
    others = f"; and {', '.join(each.name for each in real)}" if real else ""
    return (
        f"Synthetic lists of about 24 documents with {protocol.features} features in the shape of Yahoo set 1, not the "
        f"paper's data: {sizes} for training, {protocol.validation} for validation, {protocol.test:,} for testing, "
        f"seeds {seed} to {seed + protocol.seeds - 1}{others}."
    )


def _pictures(times: Times) -> list[Picture]:
    shown = ("pmop-fd", "listmle", timing.ALL_PAIRS, "ranknet", "pmop-gibbs", "ranksvm")
    lines = {method: Line(timing.LENGTHS, [times[method, n] for n in timing.LENGTHS]) for method in shown}
    return [log_lines("time", "Microseconds per list", "documents in the list", lines)]
