"""What does training cost beside the network and the matrix products that it needs?

Synthetic data of 600,000 rows × 136 features in 5,000 lists. Neural, two layers of 32, 64 lists a batch, listmle with
ties shuffled every epoch: one epoch of ours against the same network with a trivial loss (the mean of the scores), and
against the usual padded PyTorch loop (batches padded to their longest list, logcumsumexp, a mask). Linear: one
evaluation of loss and gradient against its two matrix products.

    python benchmarks/training.py            # all of it, about five minutes on two cores
    python benchmarks/training.py --quick    # a tenth of the data
"""

import argparse
import time

import numpy as np
import torch

from luce.arrays import offsets_of_sizes
from luce.data import Dataset
from luce.kernels.linear_products import scores_of, weights_of
from luce.objectives import Draw, objective
from luce.optimizers.gradient_descent import descend
from luce.optimizers.learning_curve import LearningCurve
from luce.rankers.linear_problem import LinearProblem
from luce.rankers.neural.learner import NetworkLearner, rows_of
from luce.rankers.neural.network import Network
from luce.rankers.neural.training import torch_settings
from measuring import GRADES, show_machine

BATCH, RATE = 64, 1e-3


def synthetic_data(n_lists: int, n_features: int = 136, seed: int = 0) -> Dataset:
    """Lists of about 120 items with grades as in MSLR, which a few features partly predict."""
    rng = np.random.default_rng(seed)
    sizes = np.clip(rng.poisson(120, n_lists) + rng.integers(-60, 61, n_lists), 5, None)
    features = rng.standard_normal((sizes.sum(), n_features), dtype=np.float32)
    hidden = features[:, :10] @ rng.normal(size=10) + 3 * rng.standard_normal(len(features))
    labels = np.searchsorted(np.quantile(hidden, np.cumsum(GRADES[:-1])), hidden).astype(np.float64)
    return Dataset(features, labels, offsets_of_sizes(sizes))


def network() -> Network:
    torch.manual_seed(0)
    return Network(136, None, hidden_layer_sizes=(32, 32))


class TrivialLearner(NetworkLearner):
    """The same network, batches and optimizer; the loss is the mean of the scores."""

    def step(self, lists: np.ndarray, epoch: float, step: int) -> float:
        self.network.train()
        scores = self.network(
            torch.from_numpy(rows_of(self.features, self.dataset.offsets, lists)),
            torch.from_numpy(offsets_of_sizes(self.dataset.sizes[lists])),
        )
        self.optimizer.zero_grad()
        loss = scores.mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()


class PaddedLearner(NetworkLearner):
    """The usual loop: a batch padded to its longest list, ties shuffled, logcumsumexp under a mask."""

    def step(self, lists: np.ndarray, epoch: float, step: int) -> float:
        data = self.dataset
        sizes = torch.from_numpy(data.sizes[lists])
        longest = int(sizes.max())
        x = torch.zeros(len(lists), longest, self.features.shape[1])
        y = torch.full((len(lists), longest), -torch.inf)
        for i, q in enumerate(lists):
            rows = data.rows(int(q))
            x[i, : rows.stop - rows.start] = torch.from_numpy(np.array(self.features[rows]))
            y[i, : rows.stop - rows.start] = torch.from_numpy(np.array(data.labels[rows], dtype=np.float32))
        self.network.train()
        scores = self.network.out(self.network.rows(x))[..., 0]
        order = torch.argsort(y + torch.rand(y.shape) * 0.5, dim=1, descending=True)
        ordered, mask = scores.gather(1, order), y.gather(1, order) > -torch.inf
        ordered = ordered.masked_fill(~mask, -1e9)
        below = ordered.flip(1).logcumsumexp(1).flip(1)
        losses = torch.where(mask, below - ordered, 0.0).sum(1)
        self.optimizer.zero_grad()
        losses.mean().backward()
        self.optimizer.step()
        return losses.mean().item()


def learner(kind: type[NetworkLearner], data: Dataset) -> NetworkLearner:
    return kind(
        network(),
        objective("listmle"),
        data.features,
        data,
        optimizer="adam",
        learning_rate=RATE,
        weight_decay=0.0,
        seed=0,
        n_jobs=torch.get_num_threads(),
        validation_score=lambda _: None,
    )


def epoch_seconds(kinds: dict[str, type[NetworkLearner]], data: Dataset, epochs: int) -> None:
    """Seconds of the best epoch of each, interleaved so that other load on the machine affects all of them."""
    learners = {name: learner(kind, data) for name, kind in kinds.items()}
    times: dict[str, list[float]] = {name: [] for name in kinds}
    for epoch in range(epochs):
        for name, one in learners.items():
            order = np.random.default_rng((0, epoch)).permutation(data.n_lists)
            start = time.perf_counter()
            descend(one, order, LearningCurve(), epochs=1, batch_size=BATCH, seed=epoch)
            times[name].append(time.perf_counter() - start)
    final = {name: final_loss(one, data) for name, one in learners.items()}
    least = {name: min(values) for name, values in times.items()}
    for name in kinds:
        ratio = least[name] / least["trivial loss"]
        loss = f", loss after {epochs} epochs {final[name]:.4f} per list" if name != "trivial loss" else ""
        print(f"  {name:22s} {least[name]:7.3f} s per epoch, {ratio:5.2f} × the trivial loss{loss}")


def final_loss(one: NetworkLearner, data: Dataset) -> float:
    """The mean listmle loss of all lists, the same shuffle for all."""
    with torch.inference_mode():
        parts = [one.network(torch.from_numpy(np.array(data.features)), torch.from_numpy(np.array(data.offsets)))]
    scores = torch.cat(parts).double().numpy()
    return float(objective("listmle").value_and_gradient(scores, data.labels, data.offsets, draw=Draw(1)).loss.mean())


def evaluation(data: Dataset, n_jobs: int) -> None:
    """One evaluation of a linear ranker compared with its two matrix products."""
    problem = LinearProblem(data.features, data, objective("listmle"), Draw(), 1.0, n_jobs, max_grade=4)
    point = np.random.default_rng(0).normal(size=136) * 0.1
    gradient = np.random.default_rng(1).normal(size=data.n_rows)

    def products() -> None:
        scores_of(data.features, point, n_jobs=n_jobs)
        weights_of(data.features, gradient, n_jobs=n_jobs)

    times: dict[str, list[float]] = {"products": [], "evaluation": []}
    for _ in range(9):
        for name, work in (("products", products), ("evaluation", lambda: problem.value_and_gradient(point))):
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    product_time, total = min(times["products"]), min(times["evaluation"])
    print(
        f"  {n_jobs} threads: products {product_time * 1e3:6.1f} ms, "
        f"evaluation {total * 1e3:6.1f} ms, {total / product_time:.2f} ×"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--epochs", type=int, default=5)
    arguments = parser.parse_args()
    show_machine("luce", "torch", "numpy", "numba")
    data = synthetic_data(500 if arguments.quick else 5_000)
    print(f"{data!r}\n")
    kinds = {"trivial loss": TrivialLearner, "luce, flat rows": NetworkLearner, "padded PyTorch": PaddedLearner}
    for n_jobs in (1, torch.get_num_threads()):
        with torch_settings(n_jobs, torch.device("cpu")):
            print(f"One epoch of the network, {n_jobs} threads")
            epoch_seconds(kinds, data, arguments.epochs)
    print("One evaluation of the linear ranker, listmle")
    for n_jobs in (1, torch.get_num_threads()):
        evaluation(data, n_jobs)


if __name__ == "__main__":
    main()
