"""The published values of the 2021 paper: Tables 1 and 2."""

SAMPLES = (1, 10, 100, 1_000)

TABLE_1: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "yahoo-set1": {
        "LambdaLoss": (2.48, 2.53, 3.06, 10.25),
        "policy gradient": (3.79, 3.80, 4.28, 8.27),
        "placement policy gradient": (3.83, 3.86, 4.42, 8.26),
        "PL-Rank-1": (2.45, 2.49, 2.82, 5.70),
        "PL-Rank-2": (2.49, 2.52, 2.87, 6.22),
    },
    "mslr-web30k": {
        "LambdaLoss": (2.73, 3.96, 36.36, 1669.59),
        "policy gradient": (3.30, 3.45, 5.25, 24.20),
        "placement policy gradient": (3.32, 3.42, 5.27, 23.97),
        "PL-Rank-1": (2.16, 2.28, 3.34, 18.48),
        "PL-Rank-2": (2.19, 2.35, 3.45, 21.10),
    },
    "istella": {
        "LambdaLoss": (3.53, 4.50, 27.81, 142.74),
        "policy gradient": (4.10, 4.51, 8.74, 44.29),
        "placement policy gradient": (4.08, 4.51, 8.72, 44.74),
        "PL-Rank-1": (3.01, 3.27, 6.90, 39.80),
        "PL-Rank-2": (3.04, 3.31, 7.02, 40.64),
    },
}
"""Minutes of one training epoch with 1, 10, 100 and 1,000 sampled rankings."""

TABLE_2 = {
    "LambdaLoss": (11.11, 7.80, 18.75),
    "policy gradient": (11.03, 8.21, 18.75),
    "placement policy gradient": (11.31, 8.33, 19.23),
    "PL-Rank-1": (11.38, 8.39, 19.31),
    "PL-Rank-2": (11.42, 8.39, 19.38),
}
"""DCG@5 after 100, 120 and 200 minutes, on Yahoo, MSLR and Istella."""
