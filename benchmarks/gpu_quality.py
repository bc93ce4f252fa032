"""Does training on a GPU end where training on the CPU ends, and does a killed training resume to the same bits?

    python benchmarks/gpu_quality.py --data MQ2008

NDCG@10 of `NeuralRanker` with its default settings on MQ2008: the mean of five folds and five seeds, on the CPU and on
the GPU. A training amplifies rounding: a ReLU that is passed by a hair, or early stopping between two epochs of nearly
the same score, sends two trainings apart. So each is repeated on copies of the data whose features are changed by a
ten-millionth; what copies differ by on one device is not a difference between devices.
"""

import argparse
import multiprocessing
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

import luce
from gpu_training import DEVICE, met, verdict


class Fit(NamedTuple):
    """A training on three parts of MQ2008; the next part stops it, and the last one is the test data."""

    folder: Path
    objective: str
    device: str
    copy: int
    fold: int
    seed: int


def test_ndcg(fit: Fit) -> float:
    torch.set_num_threads(1)
    parts = [luce.read(fit.folder / f"S{(fit.fold + number) % 5 + 1}.txt") for number in range(5)]
    train, validation, test = luce.data.concatenate(parts[:3]), parts[3], parts[4]
    noise = np.random.default_rng(fit.copy).standard_normal(train.features.shape) * (fit.copy > 0)
    train = train.with_features((train.features * (1 + 1e-7 * noise)).astype(np.float32))
    ranker = luce.NeuralRanker(fit.objective, device=fit.device, random_state=fit.seed, n_jobs=1)
    ranker.fit(train, validation=validation)
    return luce.evaluate(ranker.predict(test), test, "ndcg@10", n_bootstrap=0).means["ndcg@10"]


def compare_quality(folder: Path, copies: int) -> None:
    print("\nMQ2008: NDCG@10 on test data, the mean of five folds and five seeds; copies have features × (1 ± 1e-7)")
    names, devices = ("c-kl", "pl-partition"), ("cpu", *["cuda"] * (DEVICE == "cuda"))
    shape = len(names), copies, 5, 5
    found = {}
    for device in devices:
        fits = [Fit(folder, names[name], device, *others) for name, *others in np.ndindex(shape)]
        workers = min(max(len(os.sched_getaffinity(0)) - 2, 1), 12 if device == "cpu" else 6)
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            found[device] = np.reshape(list(pool.map(test_ndcg, fits)), shape)
    for number, name in enumerate(names):
        whole = {device: scores[number].mean() for device, scores in found.items()}
        for device, scores in found.items():
            by_copy, first = scores[number].mean((1, 2)), scores[number, :, 0].mean(1)
            print(
                f"  {name:13} {device:5} {whole[device]:.4f}; copies {numbers_of(by_copy)}; fold 1 {numbers_of(first)}"
            )
        if "cuda" in whole:
            print(f"  {name:13} apart by {verdict(abs(whole['cuda'] - whole['cpu']), 0.002, 4)}", flush=True)


def numbers_of(values: np.ndarray) -> str:
    return " ".join(f"{value:.4f}" for value in values)


KILLED = """
import sys, luce, numpy as np
sys.path.insert(0, {folder!r})
from gpu_training import make_dataset, settings
ranker, data = luce.NeuralRanker("listmle", **settings(epochs=30, batch_size=16)), make_dataset(600)
ranker.fit(data, checkpoint=luce.Checkpoint(sys.argv[1], steps=7, resume=True))
np.save(sys.argv[2], ranker.predict(data))
"""


def kill_and_resume() -> None:
    print("\nA training on the GPU that is killed (kill -9) and resumed from its checkpoint")
    script = KILLED.format(folder=str(Path(__file__).parent))
    with tempfile.TemporaryDirectory() as name:
        folder, scores = Path(name), {}
        for kind in ("whole", "killed"):
            command = [sys.executable, "-c", script, str(folder / f"{kind}.checkpoint"), str(folder / f"{kind}.npy")]
            kills = 0
            while kind == "killed" and kills < 3:
                process = subprocess.Popen(command)
                known = checkpoint_time(folder / "killed.checkpoint")
                while process.poll() is None and checkpoint_time(folder / "killed.checkpoint") <= known:
                    time.sleep(0.01)
                time.sleep(0.3)
                if process.poll() is None:
                    os.kill(process.pid, signal.SIGKILL)
                process.wait()
                kills += 1
            subprocess.run(command, check=True)
            scores[kind] = np.load(folder / f"{kind}.npy")
        same = bool((scores["whole"] == scores["killed"]).all())
        met.append(same)
        print(f"  killed three times, the same bits: {'met' if same else 'MISSED'}")


def checkpoint_time(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of MQ2008; without it only the resumed training is tried")
    parser.add_argument("--copies", type=int, default=4, help="trainings of each fold and seed")
    given = parser.parse_args()
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else platform.processor()
    print(f"{name}, torch {torch.__version__}, Python {platform.python_version()}")
    kill_and_resume()
    if given.data is not None:
        compare_quality(given.data, given.copies)
    print(f"\n{sum(met)} of {len(met)} met")


if __name__ == "__main__":
    main()
