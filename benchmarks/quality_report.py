"""The tables of quality.py."""

from collections.abc import Iterable

from luce.experiments.peers import PEERS
from quality_statistics import MEAN, Estimate, Results, better, estimates
from quality_systems import BLEND, ENSEMBLE, LEAVES, LINEAR, NEURAL, OUR_LEAVES, TREES, old, peer_row, tuned

Seconds = dict[str, dict[str, float]]
"""Median CPU seconds of a fit, by dataset and system."""
WIDTH = 58
"""Of the names of two systems."""
CHANGES = [(LINEAR, old(LINEAR)), (NEURAL, old(NEURAL)), (TREES, old(TREES)), (ENSEMBLE, TREES), (BLEND, TREES)]


def show(results: Results, seconds: Seconds) -> None:
    """Print everything; rows and sections of systems that are not there are left out."""
    systems = list(next(iter(results.values())))
    show_means(results, seconds, systems)
    show_changes(results, [pair for pair in CHANGES if {*pair} <= {*systems}])
    defaults = [name for name in (LINEAR, NEURAL, TREES, ENSEMBLE, BLEND) if name in systems]
    size = "its better tree size, chosen by the mean in these very results: this favours the peer"
    print(f"\n2. Each default and the ensemble, less each peer at\n   {size}.")
    show_differences(results, defaults, best_peers(results, systems))
    if ENSEMBLE in systems:
        print("\n3. The bags of trees, less each peer bagged alike, at our tree size.")
        show_differences(results, [ENSEMBLE], best_peers(results, systems, bagged=True))
    if tuned(TREES) in systems:
        print("\n4. Tuned trees, less each tuned peer.")
        show_differences(results, [tuned(TREES)], [tuned(name) for name in PEERS if tuned(name) in systems])
    show_cost(seconds, systems)


def show_means(results: Results, seconds: Seconds, systems: list[str]) -> None:
    """A table for each dataset and one for their mean."""
    base = TREES if TREES in systems else systems[0]
    print(f"\nNDCG@10 × 100, its paired difference to {base} ± one standard error, median CPU seconds of a fit")
    means = {name: estimates(results, name) for name in systems}
    differences = {name: estimates(results, name, base) for name in systems}
    for place in [*results, MEAN] if len(results) > 1 else results:
        print(f"\n{place}")
        for name in sorted(systems, key=lambda name: -means[name][place].mean):
            cost = f"{seconds[place][name]:9.2f} s" if place != MEAN else ""
            print(f"  {name:42}{means[name][place].mean:7.2f}   {with_error(differences[name][place])}{cost}".rstrip())


def show_changes(results: Results, pairs: Iterable[tuple[str, str]]) -> None:
    print("\n1. The gain of each change of a default, and of the ensemble, ± half the width of its 95 % interval.")
    show_header(results)
    for new, former in pairs:
        gains = estimates(results, new, former)
        cells = "".join(with_error(one, 1.96) for one in gains.values())
        print(f"  {f'{new} − {former}':{WIDTH}}{cells}".rstrip())


def best_peers(results: Results, systems: list[str], bagged: bool = False) -> list[str]:
    """Each peer at the tree size that is better in these very results, which favours the peer; bagged at ours."""
    sizes = (OUR_LEAVES,) if bagged else LEAVES
    rows = ([peer_row(name, leaves, bagged) for leaves in sizes] for name in PEERS)
    return [better(results, own) for own in rows if {*own} <= {*systems}]


def show_differences(results: Results, ours: list[str], others: list[str]) -> None:
    """Ours less theirs, and what the mean over datasets says."""
    print("   Differences ± one standard error. The mean is ahead or behind by more than two of them, or level,")
    print("   and below by more than one, or not.")
    show_header(results)
    for name in ours:
        for other in others:
            found = estimates(results, name, other)
            mean, cells = found[MEAN], "".join(map(with_error, found.values()))
            below = "below" if mean.mean < -mean.standard_error else "not below"
            print(f"  {f'{name} − {other}':{WIDTH}}{cells}  {mean.word:7}{below}")


def show_header(results: Results) -> None:
    print(f"  {'':{WIDTH}}{''.join(f'{place:>18}' for place in [*results, MEAN])}")


def with_error(one: Estimate, n_errors: float = 1.0) -> str:
    return f"{one.mean:+10.2f} ± {n_errors * one.standard_error:<5.2f}"


def show_cost(seconds: Seconds, systems: list[str]) -> None:
    """How many fits of LightGBM's lambdarank one fit of ours takes."""
    print("\n5. CPU seconds of a fit, as a multiple of one of lightgbm-lambdarank")
    for leaves in LEAVES:
        unit = peer_row("lightgbm-lambdarank", leaves)
        for name in (TREES, ENSEMBLE):
            if {name, unit} <= {*systems}:
                ratios = ", ".join(f"{place} {own[name] / own[unit]:.1f} ×" for place, own in seconds.items())
                print(f"  {name:22} with {leaves:2} leaves of LightGBM: {ratios}")
