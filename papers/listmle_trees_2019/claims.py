"""The claims of the 2019 paper, checked with 95 % intervals of paired differences over test lists."""

from itertools import pairwise

import numpy as np

from papers.listmle_trees_2019.published import METRICS, TABLE_1, TABLE_3, TABLE_4
from papers.listmle_trees_2019.results import MSLR, SHORT, YAHOO, TreeResults, data_name
from papers.outcome import Claim
from papers.paired_differences import Difference, all_above, describe, difference

POINT = 0.005
"""Half a percentage point: a significant difference in the paper, and our margin for a match."""

OURS = "PLRank(obj=1)"
NEAR = 0.02
"""The tolerance for the ratios of Table 3."""


def claims(results: TreeResults) -> list[Claim]:
    return [
        *_main_claims(results),
        *_consistency_claims(results),
        *_order_claims(results),
        _time_claim(results),
        _tuned_claim(results),
        *_linear_claims(results),
        _published_claim(results),
    ]


def _evidence(differences: dict[str, Difference], results: TreeResults) -> str:
    data = " (synthetic data)" if all(results.is_synthetic.values()) else ""
    return f"Paired over test lists{data}: {describe(differences)}."


def _is_public(results: TreeResults) -> bool:
    """Whether claims about the public data can be checked."""
    return not any(results.is_synthetic.values())


def _main_claims(results: TreeResults) -> list[Claim]:
    state = {
        f"{SHORT[data]} {metric.upper()} against {other}": results.difference(data, metric, OURS, other)
        for data in results.main
        for other in ("LambdaMART", "McRank")
        for metric in ("ndcg@10", "err")
    }
    linear = {SHORT[data]: results.difference(data, "ndcg@10", OURS, "l-ListMLE") for data in results.main}
    rich, poor = linear[SHORT[YAHOO]], linear[SHORT[MSLR]]
    more = Difference(poor.mean - rich.mean, float(np.hypot(poor.error, rich.error)), min(poor.n, rich.n))
    trees = {
        f"{SHORT[data]} {one} against {other}": results.difference(data, "ndcg@10", one, other)
        for data in results.main
        for one in ("LambdaMART", "McRank", "MART-2")
        for other in ("CA", "l-ListMLE")
    }
    reciprocal = {
        f"{SHORT[data]} against {other}": results.difference(data, "err", "LambdaMART", other)
        for data in results.main
        for other in ("McRank", "MART-1", "MART-2")
    }
    return [
        Claim.from_checks(
            "PLRank(obj=1) matches or outperforms LambdaMART and McRank in NDCG@10 and ERR.",
            [check for one in state.values() for check in one.not_below(POINT)],
            _evidence(state, results),
        ),
        Claim.from_checks(
            "Trees make the Plackett-Luce loss better in NDCG@10 than a linear model.",
            all_above(linear.values()),
            _evidence(linear, results),
        ),
        Claim.from_checks(
            "They do so by more on Microsoft, whose features are fewer, than on Yahoo (8 points to 2).",
            more.above(),
            _evidence({"Microsoft minus Yahoo": more}, results),
            data_available=_is_public(results),
        ),
        Claim.from_checks(
            "Systems of trees are above linear systems in NDCG@10.",
            all_above(trees.values()),
            _evidence(trees, results),
        ),
        Claim.from_checks(
            "LambdaMART is above McRank and MART in ERR (section 4.4).",
            all_above(reciprocal.values()),
            _evidence(reciprocal, results),
        ),
    ]


def _consistency_claims(results: TreeResults) -> list[Claim]:
    consistent = {
        f"c-{name}": results.difference(YAHOO, "ndcg@10", f"c-{name}", name) for name in ("MART-1", "CosMART", "KLMART")
    }
    rivals = {
        f"{one} over {other}": results.difference(YAHOO, "ndcg@10", one, other)
        for one in (OURS, "LambdaMART", "McRank")
        for other in consistent
    }
    return [
        Claim.from_checks(
            "On Yahoo the consistent losses are above their inconsistent counterparts in NDCG@10, by a little.",
            all_above(consistent.values()),
            _evidence(consistent, results),
            data_available=_is_public(results),
        ),
        Claim.from_checks(
            "The consistent losses do not compete with LambdaMART, McRank and PLRank.",
            all_above(rivals.values()),
            _evidence(rivals, results),
        ),
    ]


def _order_claims(results: TreeResults) -> list[Claim]:
    more = {
        f"{SHORT[data]}, {orders} orders": results.difference(data, "ndcg@10", f"PLRank(obj={orders})", OURS)
        for data in results.main
        for orders in (3, 6)
    }
    deviations = {
        SHORT[data]: max(abs(results.ratios[data][orders] - ratio) for orders, ratio in printed.items())
        for data, printed in TABLE_3.items()
    }
    words = "; ".join(f"{name}: at most {one:.3f} from the published ratios" for name, one in deviations.items())
    data = "; ".join(f"{SHORT[data]}: {data_name(results, data)}" for data in TABLE_3)
    return [
        Claim.from_checks(
            "Several orders of tied labels (3 or 6) are better than one.",
            all_above(more.values()),
            _evidence(more, results),
        ),
        Claim.from_checks(
            "Storing shared contexts once leaves 87 to 57 % of them on Yahoo, 90 to 67 % on Microsoft (Table 3).",
            [one <= NEAR for one in deviations.values()],
            f"{words} ({data}).",
            data_available=_is_public(results),
        ),
    ]


def _time_claim(results: TreeResults) -> Claim:
    slower = {
        f"{after} to {before}": difference(np.log(results.seconds[after]), np.log(results.seconds[before]))
        for before, after in pairwise(TABLE_4)
    }
    ratios = ", ".join(f"{name} {np.exp(one.mean):.2f}" for name, one in slower.items())
    return Claim.from_checks(
        "MART, PLRank(obj=1), LambdaMART, PLRank(obj=3), PLRank(obj=6), McRank: each takes longer than the one before.",
        [one.above()[0] for one in slower.values()],
        f"Ratios of CPU time: {ratios}; checked with the 95 % interval of the logarithm over repetitions.",
    )


def _tuned_claim(results: TreeResults) -> Claim:
    ours, theirs = (results.tuned[name].scores for name in (OURS, "LambdaMART"))
    differences = {
        metric.upper(): difference(ours.lists[metric], theirs.lists[metric]) for metric in ("ndcg@10", "err")
    }
    return Claim.from_checks(
        "Tuned, PLRank(obj=1) is above LambdaMART with the same data (Table 5: 0.802 against 0.796).",
        all_above(differences.values()),
        _evidence(differences, results),
    )


def _linear_claims(results: TreeResults) -> list[Claim]:
    counts = sorted({count for count, _ in results.features})
    few, many = counts[0], counts[-1]
    study = {
        f"{metric.upper()}, {count} features": results.linear_difference(count, metric)
        for metric in ("ndcg@1", "ndcg@10")
        for count in (few, many)
    }
    below = [_negated(study[f"{m.upper()}, {few} features"]) for m in ("ndcg@1", "ndcg@10")]
    above = [study[f"{m.upper()}, {many} features"] for m in ("ndcg@1", "ndcg@10")]
    rich, poor = (results.difference(data, "ndcg@10", "l-ListMLE", "CA") for data in (YAHOO, MSLR))
    return [
        Claim.from_checks(
            "l-ListMLE is above coordinate ascent with many features and below it with few (Figure 2: 200, or 100).",
            all_above([*below, *above]),
            f"l-ListMLE minus coordinate ascent. {_evidence(study, results)}",
        ),
        Claim.from_checks(
            "l-ListMLE is above coordinate ascent on Yahoo, and below it on Microsoft (Figure 1).",
            all_above([rich, _negated(poor)]),
            f"NDCG@10 of l-ListMLE minus coordinate ascent. {_evidence({'Yahoo': rich, 'Microsoft': poor}, results)}",
            data_available=_is_public(results),
        ),
    ]


def _negated(one: Difference) -> Difference:
    return one._replace(mean=-one.mean)


def _published_claim(results: TreeResults) -> Claim:
    """Only the public data can decide it."""
    deviations = {
        f"{SHORT[data]} {name}": results.main[data][name].mean("ndcg@10") - printed[METRICS.index("ndcg@10")]
        for data, systems in TABLE_1.items()
        for name, printed in systems.items()
    }
    worst = max(deviations, key=lambda name: abs(deviations[name]))
    near = [abs(one) <= POINT for one in deviations.values()]
    deviation = f"{deviations[worst]:+.4f}".replace("-", "−")
    return Claim.from_checks(
        "NDCG@10 of every system is that of Table 1, to within half a point.",
        near,
        f"{sum(near)} of {len(near)} are; farthest: {worst}, {deviation}.",
        data_available=_is_public(results),
    )
