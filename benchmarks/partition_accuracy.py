"""How exact is pl-partition: the error of log P(S > R) over sizes of S, spreads of scores, and how far R outweighs S.

python benchmarks/partition_accuracy.py

The reference is a fine grid in extended precision, itself checked against two others: adaptive quadrature by mpmath
where S is small enough for it, and a closed form where all scores are equal.
"""

import argparse
import os
import platform
import time
from importlib.metadata import version

import mpmath
import numpy as np

from luce.kernels.partition_likelihood import partition_likelihood
from luce.lists import Lists

SIZES = (1, 2, 5, 20, 100, 500, 2_000)
SPREADS = (0.1, 1.0, 3.0, 10.0)
GAPS = (-30, -15, -5, 0, 5, 15, 30)
"""lse(R) − s: a well-trained model sits at the negative end."""

TOLERANCES = (1e-9, 1e-13)
ALLOWED, ALLOWED_SINGLE = 1e-9, 2e-5
ADAPTIVE_UP_TO, ADAPTIVE_ONCE = 20, (100, 3.0, 0)
"""mpmath takes all cases up to this |S|, and one case (|S|, spread, gap) beyond it; more would take it hours."""

DEPTH = 60
"""The logarithm below its peak at which the integrand is negligible: e^−60 = 9e-27."""


def ours(chosen: np.ndarray, gap: float, tol: float) -> float:
    """log P by the library; the rest is one item with the score `gap`."""
    scores, labels = np.append(chosen, gap).astype(np.float64), np.append(np.ones(len(chosen)), 0)
    return -partition_likelihood(Lists(scores, labels, np.array([0, len(scores)])), tol).loss[0]


def adaptive(chosen: np.ndarray, gap: float) -> mpmath.mpf:
    """The integral over log time by mpmath, in pieces of length 2 wherever the integrand counts."""
    a = [mpmath.exp(mpmath.mpf(float(s)) - gap) for s in chosen]

    def log_integrand(z):
        t = mpmath.exp(z)
        return z - t + mpmath.log(mpmath.fprod(-mpmath.expm1(-ai * t) for ai in a))

    heights = {z: log_integrand(z) for z in range(-90, 11)}
    top = max(heights.values())  # mpmath's tolerance is absolute, so the integrand is scaled by its peak
    counts = [z for z, height in heights.items() if height > top - DEPTH]
    pieces = list(range(counts[0] - 2, counts[-1] + 4, 2))
    return top + mpmath.log(mpmath.quad(lambda z: mpmath.exp(log_integrand(z) - top), pieces))


def equal_scores(n: int, gap: float) -> mpmath.mpf:
    """Γ(n+1) Γ(1+b) / Γ(n+1+b), b = e^gap: all n scores 0."""
    with mpmath.workdps(60):  # where b is large, thirty digits cancel
        b = mpmath.exp(gap)
        return mpmath.loggamma(n + 1) + mpmath.loggamma(1 + b) - mpmath.loggamma(n + 1 + b)


def fine_grid(chosen: np.ndarray, gap: float) -> np.longdouble:
    """The integral over log time by the trapezoidal rule in extended precision, far finer than its narrowest peak."""
    log_a = chosen.astype(np.longdouble) - gap
    coarse = np.linspace(-90, 10, 1_601)
    heights = _log_integrand(log_a.astype(np.float64), coarse)
    counts = coarse[heights > heights.max() - DEPTH]
    step = np.longdouble(min(1 / 48, 0.2 / np.sqrt(len(chosen) + 1)))
    nodes = np.arange(counts[0] - 0.25, counts[-1] + 0.25, step, dtype=np.longdouble)
    terms = _log_integrand(log_a, nodes)
    top = terms.max()
    return top + np.log(np.exp(terms - top).sum() * step)


def _log_integrand(log_a: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """z − e^z + Σ log(1 − e^{−x}), x = a e^z, at all nodes."""
    t = np.exp(nodes)
    total = nodes - t
    for value in log_a:
        log_x = value + nodes
        x = np.exp(value) * t
        near = x < 1e-10  # log(1 − e^{−x}) = log x − x/2 + O(x²)
        total += np.where(near, log_x - x / 2, np.log(-np.expm1(-np.where(near, 1, x))))
    return total


def errors_of_size(n: int, spreads: tuple[float, ...], gaps: tuple[int, ...]) -> dict[str, float]:
    """The largest errors over all spreads and gaps, and the largest difference between the references."""
    worst = dict.fromkeys(("references", *map(str, TOLERANCES), "single"), 0.0)

    def note(name: str, error: float) -> None:
        worst[name] = max(worst[name], float(abs(error)))

    for gap in gaps:
        for spread in spreads:
            chosen = np.random.default_rng(n).normal(0, spread, n)
            truth = fine_grid(chosen, gap)
            if n <= ADAPTIVE_UP_TO or (n, spread, gap) == ADAPTIVE_ONCE:
                note("references", float(adaptive(chosen, gap) - mpmath.mpf(str(truth))))
            for tol in TOLERANCES:
                note(str(tol), ours(chosen, gap, tol) - truth)
            note("single", (ours(chosen.astype(np.float32), gap, TOLERANCES[0]) - truth) / max(1, abs(truth)))
        flat, exact = np.zeros(n), equal_scores(n, gap)
        note("references", float(exact - mpmath.mpf(str(fine_grid(flat, gap)))))
        for tol in TOLERANCES:
            note(str(tol), float(mpmath.mpf(ours(flat, gap, tol)) - exact))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer sizes, spreads and gaps")
    quick = parser.parse_args().quick
    sizes, spreads, gaps = (SIZES[:5], SPREADS[1:3], GAPS[::3]) if quick else (SIZES, SPREADS, GAPS)
    packages = ", ".join(f"{name} {version(name)}" for name in ("luce", "numpy", "numba", "mpmath"))
    print(f"{packages}, Python {platform.python_version()}")
    print(f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}")
    print(f"extended precision: {np.finfo(np.longdouble).eps:.0e}\n")
    print(f"largest error of log P; scores normal with deviation {spreads} or equal, lse(R) − s in {gaps}")
    print("float32: of scores rounded to it, relative to max(1, |log P|)")
    heads = ("|S|", "tolerance 1e-9", "tolerance 1e-13", "float32, relative", "references", "seconds")
    print("{:>6}{:>17}{:>17}{:>19}{:>16}{:>10}".format(*heads))
    largest = []
    with mpmath.workdps(25):
        for n in sizes:
            start = time.perf_counter()
            worst = errors_of_size(n, spreads, gaps)
            by_tolerance = [worst[str(tol)] for tol in TOLERANCES]
            largest.append((by_tolerance[0], worst["single"]))
            took = time.perf_counter() - start
            print(
                f"{n:6,}{by_tolerance[0]:17.1e}{by_tolerance[1]:17.1e}{worst['single']:19.1e}{worst['references']:16.1e}{took:10.1f}"
            )
    double, single = (max(column) for column in zip(*largest, strict=True))
    print(f"\nby default at most {double:.1e} in float64 (allowed {ALLOWED:.0e}): {verdict(double <= ALLOWED)}")
    print(
        f"at most {single:.1e} relative in float32 (allowed {ALLOWED_SINGLE:.0e}): {verdict(single <= ALLOWED_SINGLE)}"
    )


def verdict(met: bool) -> str:
    return "met" if met else "missed"


if __name__ == "__main__":
    main()
