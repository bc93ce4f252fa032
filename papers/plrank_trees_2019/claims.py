"""The claims of the 2019 paper, judged by the 95 % intervals of paired differences over test lists."""

from itertools import pairwise

import numpy as np

from papers.outcome import Claim
from papers.paired_differences import Difference, all_of, difference, told
from papers.plrank_trees_2019.findings import MSLR, SHORT, YAHOO, Findings, where
from papers.plrank_trees_2019.published import METRICS, TABLE_1, TABLE_3, TABLE_4

POINT = 0.005
"""Half a point: what the paper takes for a significant difference, and we for a match."""

OURS = "PLRank(obj=1)"
NEAR = 0.02
"""How far the ratios of Table 3 may be from the printed ones."""


def claims(found: Findings) -> list[Claim]:
    return [
        *_main_claims(found),
        *_consistency_claims(found),
        *_order_claims(found),
        _time_claim(found),
        _tuned_claim(found),
        *_linear_claims(found),
        _published_claim(found),
    ]


def _told(apart: dict[str, Difference], found: Findings) -> str:
    made = " (made data)" if all(found.made.values()) else ""
    return f"Paired over test lists{made}: {told(apart)}."


def _at_hand(found: Findings) -> bool:
    """Whether a claim that names the public data can be judged."""
    return not any(found.made.values())


def _main_claims(found: Findings) -> list[Claim]:
    state = {
        f"{SHORT[data]} {metric.upper()} against {other}": found.apart(data, metric, OURS, other)
        for data in found.main
        for other in ("LambdaMART", "McRank")
        for metric in ("ndcg@10", "err")
    }
    linear = {SHORT[data]: found.apart(data, "ndcg@10", OURS, "l-ListMLE") for data in found.main}
    rich, poor = linear[SHORT[YAHOO]], linear[SHORT[MSLR]]
    more = Difference(poor.mean - rich.mean, float(np.hypot(poor.error, rich.error)), min(poor.n, rich.n))
    trees = {
        f"{SHORT[data]} {one} against {other}": found.apart(data, "ndcg@10", one, other)
        for data in found.main
        for one in ("LambdaMART", "McRank", "MART-2")
        for other in ("CA", "l-ListMLE")
    }
    reciprocal = {
        f"{SHORT[data]} against {other}": found.apart(data, "err", "LambdaMART", other)
        for data in found.main
        for other in ("McRank", "MART-1", "MART-2")
    }
    return [
        Claim.judged(
            "PLRank(obj=1) matches or outperforms LambdaMART and McRank in NDCG@10 and ERR.",
            all_of(one.not_below(POINT) for one in state.values()),
            _told(state, found),
        ),
        Claim.judged(
            "Trees make the Plackett-Luce loss better in NDCG@10 than a linear model.",
            all_of(one.above() for one in linear.values()),
            _told(linear, found),
        ),
        Claim.judged(
            "They do so by more on Microsoft, whose features are fewer, than on Yahoo (8 points to 2).",
            more.above(),
            _told({"Microsoft less Yahoo": more}, found),
            at_hand=_at_hand(found),
        ),
        Claim.judged(
            "Systems of trees are above linear systems in NDCG@10.",
            all_of(one.above() for one in trees.values()),
            _told(trees, found),
        ),
        Claim.judged(
            "LambdaMART is above McRank and MART in ERR (section 4.4).",
            all_of(one.above() for one in reciprocal.values()),
            _told(reciprocal, found),
        ),
    ]


def _consistency_claims(found: Findings) -> list[Claim]:
    consistent = {
        f"c-{name}": found.apart(YAHOO, "ndcg@10", f"c-{name}", name) for name in ("MART-1", "CosMART", "KLMART")
    }
    rivals = {
        f"{one} over {other}": found.apart(YAHOO, "ndcg@10", one, other)
        for one in (OURS, "LambdaMART", "McRank")
        for other in consistent
    }
    return [
        Claim.judged(
            "On Yahoo the consistent losses are above their inconsistent counterparts in NDCG@10, by a little.",
            all_of(one.above() for one in consistent.values()),
            _told(consistent, found),
            at_hand=_at_hand(found),
        ),
        Claim.judged(
            "The consistent losses do not compete with LambdaMART, McRank and PLRank.",
            all_of(one.above() for one in rivals.values()),
            _told(rivals, found),
        ),
    ]


def _order_claims(found: Findings) -> list[Claim]:
    more = {
        f"{SHORT[data]}, {orders} orders": found.apart(data, "ndcg@10", f"PLRank(obj={orders})", OURS)
        for data in found.main
        for orders in (3, 6)
    }
    apart = {
        SHORT[data]: max(abs(found.ratios[data][orders] - ratio) for orders, ratio in printed.items())
        for data, printed in TABLE_3.items()
    }
    words = "; ".join(f"{name}: at most {one:.3f} from the printed ratios" for name, one in apart.items())
    made = "; ".join(f"{SHORT[data]}: {where(found, data)}" for data in TABLE_3)
    return [
        Claim.judged(
            "Several orders of equal labels (3 or 6) are better than one.",
            all_of(one.above() for one in more.values()),
            _told(more, found),
        ),
        Claim.judged(
            "Storing shared contexts once leaves 87 to 57 % of them on Yahoo, 90 to 67 % on Microsoft (Table 3).",
            [one <= NEAR for one in apart.values()],
            f"{words} ({made}).",
            at_hand=_at_hand(found),
        ),
    ]


def _time_claim(found: Findings) -> Claim:
    slower = {
        f"{after} to {before}": difference(np.log(found.seconds[after]), np.log(found.seconds[before]))
        for before, after in pairwise(TABLE_4)
    }
    ratios = ", ".join(f"{name} {np.exp(one.mean):.2f}" for name, one in slower.items())
    return Claim.judged(
        "MART, PLRank(obj=1), LambdaMART, PLRank(obj=3), PLRank(obj=6), McRank: each takes longer than the one before.",
        [one.above()[0] for one in slower.values()],
        f"Ratios of processor time: {ratios}; judged by the 95 % interval of its logarithm over repetitions.",
    )


def _tuned_claim(found: Findings) -> Claim:
    ours, theirs = (found.tuned[name].scored for name in (OURS, "LambdaMART"))
    apart = {metric.upper(): difference(ours.lists[metric], theirs.lists[metric]) for metric in ("ndcg@10", "err")}
    return Claim.judged(
        "Tuned, PLRank(obj=1) is above LambdaMART with the same data (Table 5: 0.802 against 0.796).",
        all_of(one.above() for one in apart.values()),
        _told(apart, found),
    )


def _linear_claims(found: Findings) -> list[Claim]:
    counts = sorted({count for count, _ in found.features})
    few, many = counts[0], counts[-1]
    study = {
        f"{metric.upper()}, {count} features": found.fewer(count, metric)
        for metric in ("ndcg@1", "ndcg@10")
        for count in (few, many)
    }
    turned = [study[f"{m.upper()}, {few} features"] for m in ("ndcg@1", "ndcg@10")]
    below = [_turned(one).above() for one in turned]
    above = [study[f"{m.upper()}, {many} features"].above() for m in ("ndcg@1", "ndcg@10")]
    rich, poor = (found.apart(data, "ndcg@10", "l-ListMLE", "CA") for data in (YAHOO, MSLR))
    return [
        Claim.judged(
            "l-ListMLE is above coordinate ascent with many features and below it with few (Figure 2: 200, or 100).",
            all_of([*below, *above]),
            f"What l-ListMLE has more. {_told(study, found)}",
        ),
        Claim.judged(
            "l-ListMLE is above coordinate ascent on Yahoo, and below it on Microsoft (Figure 1).",
            all_of([rich.above(), _turned(poor).above()]),
            f"What l-ListMLE has more in NDCG@10. {_told({'Yahoo': rich, 'Microsoft': poor}, found)}",
            at_hand=_at_hand(found),
        ),
    ]


def _turned(one: Difference) -> Difference:
    return one._replace(mean=-one.mean)


def _published_claim(found: Findings) -> Claim:
    """Only the public data can tell."""
    apart = {
        f"{SHORT[data]} {name}": found.main[data][name].mean("ndcg@10") - printed[METRICS.index("ndcg@10")]
        for data, systems in TABLE_1.items()
        for name, printed in systems.items()
    }
    worst = max(apart, key=lambda name: abs(apart[name]))
    near = [abs(one) <= POINT for one in apart.values()]
    figure = f"{apart[worst]:+.4f}".replace("-", "−")
    return Claim.judged(
        "NDCG@10 of every system is that of Table 1, to half a point.",
        near,
        f"{sum(near)} of {len(near)} are; farthest: {worst}, {figure}.",
        at_hand=_at_hand(found),
    )
