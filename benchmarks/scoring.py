"""How long does it take to score 1, 100 and 1,000 rows by trees, compared with LightGBM, onnxruntime and treelite?

python benchmarks/scoring.py
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import treelite
from onnx import TensorProto, helper

import luce
from measuring import show_machine

N_TREES, N_LEAVES, N_FEATURES = 300, 31, 136
ROUNDS = 15
"""Rounds in which each library scores in turn, so that a busy moment of the machine meets all of them."""
CALLS = {1: 100_000, 100: 5_000}
"""Calls of so many rows for the distribution of latencies."""

FRESH = """
import time
import luce
scorer = luce.load_scorer({path!r})
import numpy as np
scorer.score(np.zeros((10, scorer.n_features)), [0, 10])
print(time.process_time())
"""


def main() -> None:
    show_machine("luce", "numpy", "numba", "lightgbm", "onnxruntime", "treelite")
    print(f"load at start {os.getloadavg()[0]:.1f}")
    data = judged_lists()
    settings: dict[str, Any] = {"n_estimators": N_TREES, "num_leaves": N_LEAVES, "validation_fraction": None}
    ranker = luce.TreeRanker("lambdarank", **settings).fit(data)
    linear = luce.LinearRanker().fit(data)
    with tempfile.TemporaryDirectory() as folder:
        paths = {"trees": Path(folder) / "trees.luce", "linear": Path(folder) / "linear.luce"}
        ranker.save(paths["trees"])
        linear.save(paths["linear"])
        scorer = luce.load_scorer(paths["trees"])
        booster = ranker.to_lightgbm()
        rows = np.array(data.features[:1_000])
        assert np.array_equal(scorer.score(rows), booster.predict(rows, num_threads=1))
        compare(scorer, booster, ranker.forest_, rows)
        latencies(scorer, rows)
        fresh_processes(paths, folder)


def judged_lists() -> Any:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(20_000, N_FEATURES)).astype(np.float32)
    utility = features[:, :10] @ rng.normal(size=10) + np.sin(3 * features[:, 11]) + rng.normal(size=len(features))
    grades = np.digitize(utility, np.quantile(utility, [0.5, 0.8, 0.95]))
    return luce.from_arrays(features, grades, group=np.full(200, 100))


def compare(scorer: Any, booster: Any, forest: Any, rows: Any) -> None:
    """Microseconds of each library, and the ratio of Luce to it: the median and the best of several rounds."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(as_onnx(forest), options, providers=["CPUExecutionProvider"])
    model = treelite.frontend.from_lightgbm(booster)
    libraries: dict[str, Callable[[Any], Any]] = {
        "Luce": scorer.score,
        "LightGBM": lambda x: booster.predict(x, num_threads=1),
        "onnxruntime": lambda x: session.run(None, {"x": x})[0],
        "treelite (GTIL)": lambda x: treelite.gtil.predict(model, x, nthread=1),
    }
    print(f"\n{N_TREES} trees of {N_LEAVES} leaves, {N_FEATURES} features, one thread; µs, best (median) of rounds")
    for n_rows in (1, 100, 1_000):
        part = np.ascontiguousarray(rows[:n_rows])
        times = {name: [] for name in libraries}
        for _ in range(ROUNDS):
            for name, score in libraries.items():
                times[name].append(microseconds(score, part, 300 // n_rows + 2))
        for name, each in times.items():
            ratios = [own / other for own, other in zip(times["Luce"], each, strict=True)]
            note = (
                "" if name == "Luce" else f"Luce takes {min(times['Luce']) / min(each):.2f} ({np.median(ratios):.2f})"
            )
            print(f"  {n_rows:>5} rows  {name:16} {min(each):9.1f} ({np.median(each):9.1f})  {note}".rstrip())


def microseconds(score: Callable[[Any], Any], rows: Any, calls: int) -> float:
    """The mean of some calls after a warm-up."""
    score(rows)
    start = time.perf_counter()
    for _ in range(calls):
        score(rows)
    return 1e6 * (time.perf_counter() - start) / calls


def latencies(scorer: Any, rows: Any) -> None:
    """Quantiles of single calls, each of other rows."""
    print("\nLatency of single calls of Luce, µs")
    for n_rows, calls in CALLS.items():
        taken = np.empty(calls)
        for call in range(calls):
            first = call * n_rows % (len(rows) - n_rows + 1)
            part = rows[first : first + n_rows]
            start = time.perf_counter_ns()
            scorer.score(part)
            taken[call] = (time.perf_counter_ns() - start) / 1e3
        p50, p99, p999 = np.quantile(taken, [0.5, 0.99, 0.999])
        print(f"  {n_rows:>5} rows, {calls:>7,} calls  p50 {p50:7.1f}  p99 {p99:7.1f}  p99.9 {p999:7.1f}")


def fresh_processes(paths: dict[str, Path], folder: str) -> None:
    """CPU seconds from the start of a process to its first scores, without and with compiled code in the cache."""
    print("\nCPU seconds of a fresh process that loads a scorer and scores 10 rows")
    for name, path in paths.items():
        environment = {"NUMBA_CACHE_DIR": f"{folder}/{name}", "PYTHONPATH": ":".join(sys.path)}
        command = [sys.executable, "-c", FRESH.format(path=str(path))]
        runs = [subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(8)]
        cold, *warm = (float(run.stdout) for run in runs)
        print(f"  {name:7} nothing compiled {cold:6.2f}   compiled {min(warm):.2f} (median {np.median(warm):.2f})")


def as_onnx(forest: Any) -> bytes:
    """The trees as a TreeEnsembleRegressor, whose thresholds are float32: a peer in speed, not in bits."""
    nodes: dict[str, list[Any]] = {
        name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    }
    leaves: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    for number, tree in enumerate(forest.trees):
        n_splits = len(tree.left_child)
        for split in range(n_splits):
            left, right = ((c if c >= 0 else n_splits + ~c) for c in (tree.left_child[split], tree.right_child[split]))
            record = number, split, tree.split_feature[split], tree.threshold[split], "BRANCH_LEQ", left, right
            for values, value in zip(nodes.values(), record, strict=True):
                values.append(value)
        for leaf, weight in enumerate(tree.leaf_value):
            for values, value in zip(nodes.values(), (number, n_splits + leaf, 0, 0.0, "LEAF", 0, 0), strict=True):
                values.append(value)
            for values, value in zip(leaves.values(), (number, n_splits + leaf, 0, weight), strict=True):
                values.append(value)
    attributes = {f"nodes_{name}": values for name, values in nodes.items()}
    attributes |= {f"target_{name}": values for name, values in leaves.items()}
    plain = {name: [v.item() if hasattr(v, "item") else v for v in values] for name, values in attributes.items()}
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, **plain)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, len(forest.feature_infos)])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(helper.make_graph([node], "trees", [x], [y]), opset_imports=imports, ir_version=9)
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


if __name__ == "__main__":
    main()
