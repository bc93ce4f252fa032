"""Table 1 of the 2011 paper with our results, and the claims about them."""

from collections.abc import Mapping, Sequence
from itertools import product
from statistics import mean

from luce.report.formatting import count
from papers.ordered_partitions_2011.learning import SYNTHETIC, YAHOO, Result, Results
from papers.ordered_partitions_2011.published import (
    BASELINES,
    METRICS,
    ORDERS,
    PAIRWISE,
    PMOP,
    PRINTED,
    PRINTED_FEATURES,
)
from papers.outcome import Cell, Claim, ResultTable, Trial

UNITS = "lists", "iterations of L-BFGS"


def main_trials(results: Results) -> list[Trial]:
    """The trials of Table 1: those of Yahoo's own lists or of the most synthetic ones, trained longest."""
    trials = [trial for _, _, trial in results if trial.data in (YAHOO, SYNTHETIC)]
    largest, longest = max(trial.size for trial in trials), max(trial.length for trial in trials)
    return sorted({trial for trial in trials if (trial.size, trial.length) == (largest, longest)})


def table_1(results: Results, order: str) -> ResultTable:
    """Our results beside the published ones."""
    trials = main_trials(results)
    place = list(ORDERS).index(order) * len(METRICS)
    rows: list[list[Cell]] = []
    for method, printed in PRINTED.items():
        ours = _mean_metrics(results, method, order, trials)
        pairs = zip(ours.values(), printed[place : place + len(METRICS)], strict=True)
        seconds = mean(results[method, order, trial].seconds for trial in trials)
        rows.append([method, *(cell for pair in pairs for cell in pair), f"{seconds:.3f}"])
    columns = ["", *(word for name in METRICS.values() for word in (name, "paper")), "seconds"]
    features = [results["pmop-fd", order, trial].features for trial in trials]
    note = (
        f"{_where(trials)}; {_span(features)} features, the paper had {PRINTED_FEATURES[order]:,}. "
        "Seconds are the CPU time of the training."
    )
    return ResultTable(f"Table 1, {ORDERS[order]} features", columns, rows, note, ".4f", on_page=True)


def real_table(results: Results, order: str) -> ResultTable:
    """The metrics on small real sets, trained longest."""
    longest = max(trial.length for _, _, trial in results)
    by_name: dict[str, list[Trial]] = {}
    for trial in sorted({trial for _, _, trial in results if trial.data not in (YAHOO, SYNTHETIC)}):
        if trial.length == longest:
            by_name.setdefault(trial.data, []).append(trial)
    rows: list[list[Cell]] = [
        [
            method,
            *(value for trials in by_name.values() for value in _mean_metrics(results, method, order, trials).values()),
        ]
        for method in PRINTED
    ]
    columns = ["", *(f"{name} {metric}" for name, metric in product(by_name, METRICS.values()))]
    features = {
        name: [results["pmop-fd", order, trial].features for trial in trials] for name, trials in by_name.items()
    }
    note = "; ".join(
        f"{name}: {count(len(by_name[name]), 'fold')}, {_span(each)} features" for name, each in features.items()
    )
    return ResultTable(f"Other data, {ORDERS[order]} features", columns, rows, f"{note}.", ".4f")


def claims(results: Results) -> list[Claim]:
    """The claims of section 5.2 about quality and training time."""
    trials = sorted({trial for _, _, trial in results})

    def err(method: str, order: str, trial: Trial) -> float:
        return results[method, order, trial].metrics["err"]

    def gain(method: str, trial: Trial) -> float:
        return err(method, "second", trial) - err(method, "first", trial)

    def leads(order: str, trial: Trial) -> list[float]:
        return [err(ours, order, trial) - err(rival, order, trial) for ours, rival in product(PMOP, BASELINES)]

    raised = {method: sum(gain(method, trial) > 0 for trial in trials) for method in BASELINES}
    found = [
        _claim(
            "Second-order features raise the ERR of nearly all baselines (here: of at least five of the six).",
            {trial: [sorted(gain(method, trial) for method in BASELINES)[1]] for trial in trials},
            f"In how many of {len(trials)} trials they raise it: {_listed(raised)}.",
        ),
        _claim(
            "Second-order features raise the ERR of PMOP-FD.", {trial: [gain("pmop-fd", trial)] for trial in trials}
        ),
    ]
    for place, (order, words) in enumerate(ORDERS.items()):
        won = {
            ours: sum(err(ours, order, t) > err(r, order, t) for r, t in product(BASELINES, trials)) for ours in PMOP
        }
        printed = sum(PRINTED[ours][3 * place] > PRINTED[rival][3 * place] for ours, rival in product(PMOP, BASELINES))
        main = main_trials(results)
        means = {method: mean(err(method, order, trial) for trial in main) for method in PRINTED}
        best = max(BASELINES, key=lambda rival: means[rival])
        errs = ", ".join(f"{method} {means[method]:.4f}" for method in (*PMOP, best))
        found.append(
            _claim(
                f"With {words} features every PMOP is above every baseline in ERR.",
                {trial: leads(order, trial) for trial in trials},
                "The smallest of 18 differences counts in a trial. Comparisons with a baseline won, of "
                f"{len(BASELINES) * len(trials)} each: {_listed(won)}; in the paper's table the three win {printed} "
                f"of 18. ERR on {_where(main)}, with the best baseline last: {errs}.",
            )
        )
    text = "With first-order features PMOP-MH is above ListMLE in ERR, by 1.82 % in the paper."
    ratio = {trial: [err("pmop-mh", "first", trial) / err("listmle", "first", trial) - 1] for trial in trials}
    return [*found, _claim(text, ratio, "The differences are relative."), _fastest(results)]


def _fastest(results: Results) -> Claim:
    trials = main_trials(results)
    spent = {
        (method, order): mean(results[method, order, trial].seconds for trial in trials)
        for method, order in product(PRINTED, ORDERS)
    }
    others = [place for place in spent if place[0] != "pmop-fd"]
    slower = [spent["pmop-fd", order] < spent[method, order] for method, order in others]
    each = []
    for order, words in ORDERS.items():
        next_best = min((place for place in others if place[1] == order), key=lambda place: spent[place])
        pairwise = min(spent[method, order] for method in PAIRWISE)
        each.append(
            f"with {words} features pmop-fd {spent['pmop-fd', order]:.3f}, {next_best[0]} {spent[next_best]:.3f} and "
            f"the best of the pairwise {pairwise:.3f}"
        )
    return Claim.from_checks(
        "PMOP-FD is the fastest to train.",
        slower,
        f"Faster in {sum(slower)} of {len(slower)} comparisons; seconds of CPU time with the chosen settings, on "
        f"{_where(trials)}: {'; '.join(each)}.",
    )


def _claim(text: str, differences: Mapping[Trial, Sequence[float]], evidence: str = "") -> Claim:
    """A verdict from trials, or, on the paper's own lists, from the signs alone."""
    own = [value for trial, values in differences.items() if trial.data == YAHOO for value in values]
    if own:
        span = " to ".join(dict.fromkeys(f"{value:+.4f}".replace("-", "−") for value in (min(own), max(own))))
        return Claim.from_checks(text, [value > 0 for value in own], f"By {span} on Yahoo's set 1. {evidence}".strip())
    return Claim.from_comparisons(text, differences, evidence, units=UNITS)


def _mean_metrics(results: Results, method: str, order: str, trials: Sequence[Trial]) -> dict[str, float]:
    found: list[Result] = [results[method, order, trial] for trial in trials]
    return {metric: mean(each.metrics[metric] for each in found) for metric in METRICS}


def _where(trials: Sequence[Trial]) -> str:
    kind = "synthetic lists" if trials[0].data == SYNTHETIC else "lists of Yahoo's set 1"
    seeds = f", mean of {len(trials)} seeds" if len(trials) > 1 else ""
    return f"{trials[0].size:,} {kind}{seeds}"


def _span(values: Sequence[int]) -> str:
    return " to ".join(dict.fromkeys(f"{each:,}" for each in (min(values), max(values))))


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{method} {each:,}" for method, each in counts.items())
