"""Table 1 of the 2011 paper, on Yahoo's set 1."""

METRICS = {"err": "ERR", "ndcg@1": "NG@1", "ndcg@5": "NG@5"}
ORDERS = {"first": "first-order", "second": "second-order"}

PRINTED = {
    "rankregress": (0.4882, 0.6830, 0.6672, 0.4971, 0.7021, 0.6752),
    "ranknet": (0.4919, 0.6903, 0.6698, 0.5049, 0.7183, 0.6836),
    "ranksvm": (0.4868, 0.6797, 0.6662, 0.4970, 0.7009, 0.6733),
    "listmle": (0.4955, 0.6993, 0.6705, 0.5030, 0.7172, 0.6810),
    "pairties-davidson": (0.4941, 0.6944, 0.6725, 0.5013, 0.7131, 0.6786),
    "pairties-rao-kupper": (0.4946, 0.6970, 0.6716, 0.5030, 0.7136, 0.6793),
    "pmop-fd": (0.5038, 0.7137, 0.6762, 0.5086, 0.7272, 0.6858),
    "pmop-gibbs": (0.5037, 0.7105, 0.6792, 0.5040, 0.7124, 0.6706),
    "pmop-mh": (0.5045, 0.7139, 0.6790, 0.5053, 0.7122, 0.6713),
}
"""ERR, NDCG@1 and NDCG@5 with first-order features, then with second-order features too."""

PRINTED_FEATURES = {"first": 519, "second": 519 + 14_188}

PMOP = ("pmop-fd", "pmop-gibbs", "pmop-mh")
SAMPLED = ("pmop-gibbs", "pmop-mh")
BASELINES = tuple(method for method in PRINTED if method not in PMOP)
PAIRWISE = tuple(method for method in BASELINES if method != "listmle")
