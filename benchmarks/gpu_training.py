"""What does training cost on a GPU beside plain PyTorch loops?

    python benchmarks/gpu_training.py                    # its parts, one after the other
    python benchmarks/gpu_training.py --only lists       # or attention, labels, memory

Lists: 4,000 lists, 445,000 rows of 136 features, layers 256-128-64, 64 lists a batch and the default; milliseconds of
an epoch after the first two, beside the usual loop over padded batches with the data on the GPU and no wait in a step,
eager and, for 64 lists a batch, by torch.compile. Attention: two blocks, beside blocks that attend list by list.
Labels: 12,800 rows of 100 of 50,000 features, 20 labels each, beside an eager softmax loop with the data on the GPU.
Memory: 3,000,000 labels.
"""

import argparse
import gc
import platform
import time
from collections.abc import Callable, Iterable
from itertools import pairwise as pairs_of

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

import luce
from gpu import listmle_padded
from luce.arrays import offsets_of_sizes
from torch_forms import pairwise, partition
from torch_forms.batch import NOTHING, Batch
from torch_forms.expected import pl_rank_padded

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WIDTHS, FEATURES, LISTS = (256, 128, 64), 136, 64
DISCOUNTS = torch.tensor(1 / np.log2(np.arange(2, 12)), dtype=torch.float32, device=DEVICE)
GRADES = 5
met: list[bool] = []


def verdict(value: float, most: float, digits: int = 2) -> str:
    met.append(value <= most)
    return f"{value:.{digits}f} (at most {most}: {'met' if value <= most else 'MISSED'})"


def synchronize() -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def epoch_times(ranker: luce.NeuralRanker | luce.LabelRanker, data: object) -> float:
    """Milliseconds of an epoch: the median of those after the first two."""
    times = []

    def note(record: dict[str, float]) -> None:
        if record["iteration"] == int(record["iteration"]):
            times.append(time.perf_counter())

    ranker.fit(data, callback=note)
    return 1e3 * float(np.median(np.diff(times)[1:]))


def loop_times(epoch: Callable[[], None], epochs: int = 4) -> float:
    times = []
    for _ in range(epochs):
        synchronize()
        start = time.perf_counter()
        epoch()
        synchronize()
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times[1:]))


def make_dataset(n_lists: int) -> luce.Dataset:
    rng = np.random.default_rng(0)
    sizes = np.clip(rng.lognormal(4.6, 0.5, n_lists).astype(int), 5, 1_000)
    features = rng.standard_normal((sizes.sum(), FEATURES), dtype=np.float32)
    labels = rng.choice(5, len(features), p=(0.52, 0.32, 0.13, 0.02, 0.01)).astype(np.float64)
    return luce.Dataset(features, labels, offsets_of_sizes(sizes))


def hidden_layers() -> list[nn.Module]:
    layers: list[nn.Module] = []
    for before, after in pairs_of((FEATURES, *WIDTHS)):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return layers


class PaddedLoop:
    """Batches padded to their longest list, whose length the host knows; data, masks and losses on the GPU."""

    def __init__(self, data: luce.Dataset, loss: Callable[[Tensor, Tensor, Tensor], Tensor], batch_size: int):
        self.features = torch.tensor(data.features, device=DEVICE)
        self.labels = torch.tensor(data.labels, dtype=torch.float32, device=DEVICE)
        self.starts = torch.tensor(data.offsets[:-1], device=DEVICE)
        self.host_sizes, self.batch_size, self.loss = data.sizes, batch_size, loss
        self.sizes = torch.tensor(data.sizes, device=DEVICE)
        self.network = nn.Sequential(*hidden_layers(), nn.Linear(WIDTHS[-1], 1)).to(DEVICE)
        self.optimizer = torch.optim.Adam(self.network.parameters(), 1e-3, fused=DEVICE == "cuda")
        self.rng, self.forward = np.random.default_rng(0), self.losses

    def losses(self, rows: Tensor, mask: Tensor) -> Tensor:
        scores = self.network(self.features[rows])[..., 0]
        return self.loss(scores, self.labels[rows], mask)

    def epoch(self) -> None:
        order = self.rng.permutation(len(self.host_sizes))
        there = torch.from_numpy(order).to(DEVICE)
        for begin in range(0, len(order), self.batch_size):
            lists = there[begin : begin + self.batch_size]
            places = torch.arange(int(self.host_sizes[order[begin : begin + self.batch_size]].max()), device=DEVICE)
            mask = places < self.sizes[lists][:, None]
            rows = torch.where(mask, self.starts[lists][:, None] + places, 0)
            self.optimizer.zero_grad()
            self.forward(rows, mask).backward()
            self.optimizer.step()


def padded_form(losses: Callable[[Batch], Tensor]) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """A form of torch_forms on scores, labels and mask; padding has label 0, as the form expects."""

    def loss(scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
        return losses(Batch(scores, labels * mask, mask, scores.new_zeros(()))).mean()

    return loss


def pl_rank(scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """The gradient of PL-Rank-3 as the derivative of a product."""
    gains = (torch.exp2(labels) - 1) * mask
    ideal = (gains.sort(dim=1, descending=True).values[:, :10] * DISCOUNTS).sum(1, keepdim=True)
    gradient = pl_rank_padded(scores.detach(), gains / ideal.clamp(min=1e-6), mask, DISCOUNTS, 100)
    return -(gradient * scores).sum() / len(scores)


def pl_partition(batch: Batch) -> Tensor:
    """The grid of `partition.pl_partition` for every item and grade: no value is read, and no size depends on one."""
    total, nodes = batch.scores.new_zeros(len(batch.scores)), partition.NODES
    log_v = torch.log(torch.arange(1, nodes, device=DEVICE) / nodes)
    lowest = batch.labels.masked_fill(~batch.mask, torch.inf).amin(1, keepdim=True)
    for grade in range(1, GRADES):
        chosen = (batch.labels == grade) & batch.mask & (lowest < grade)
        rest = batch.scores.masked_fill((batch.labels >= grade) | ~batch.mask, NOTHING).logsumexp(1)
        b = chosen.sum(1) + 1.0
        log_a = torch.where(chosen, batch.scores - rest[:, None], 0.0)
        x = (torch.exp(log_a) * b[:, None])[:, :, None] * -log_v
        factors = torch.where(chosen[:, :, None], torch.log(-torch.expm1(-x)), 0.0).sum(1)
        log_p = torch.logsumexp(factors + (b[:, None] - 1) * log_v, 1) + torch.log(b / nodes)
        total = total - torch.where(b > 1, log_p, 0.0)
    return total


PLAIN = {
    "listmle": listmle_padded,
    "pl-partition": padded_form(pl_partition),
    "pl-rank-3": pl_rank,
    "lambdarank": padded_form(pairwise.lambdarank),
}


def settings(epochs: int = 6, **more: object) -> dict:
    return {"validation_fraction": None, "transforms": (), "epochs": epochs, "device": DEVICE, **more}


def time_lists(scale: float, compiled: bool) -> None:
    print("\nNeuralRanker, ms an epoch beside padded PyTorch (eager / compiled)")
    data = make_dataset(max(int(4_000 * scale), 70))
    for batch_size in (LISTS, None):
        for name, loss in PLAIN.items():
            ranker = luce.NeuralRanker(name, hidden_layer_sizes=WIDTHS, **settings(batch_size=batch_size))
            ours = epoch_times(ranker, data)
            loop = PaddedLoop(data, loss, ranker.get_batch_size(data.n_lists))
            eager = loop_times(loop.epoch)
            both = f"{eager:.0f}"
            if compiled and batch_size is not None:
                both += f" / {compiled_time(loop):.0f}"
            lists = ranker.get_batch_size(data.n_lists)
            print(f"  {name:13}{lists} lists a batch: {ours:.1f} of {both}: {verdict(ours / eager, 0.3)}", flush=True)
    for precision in ("tf32", "bfloat16"):
        ranker = luce.NeuralRanker(
            "listmle", hidden_layer_sizes=WIDTHS, **settings(batch_size=LISTS, precision=precision)
        )
        print(f"  listmle, precision={precision}: {epoch_times(ranker, data):.1f}", flush=True)


def compiled_time(loop: PaddedLoop) -> float:
    loop.forward = torch.compile(loop.losses, dynamic=True)
    try:
        return loop_times(loop.epoch)
    except Exception as error:  # what a form needs may not compile
        print(f"  (not compiled: {type(error).__name__})")
        return float("nan")


class ListByList(nn.Module):
    """Two attention blocks that attend list by list in a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.rows, self.out = nn.Sequential(*hidden_layers()), nn.Linear(WIDTHS[-1], 1)
        width = WIDTHS[-1]
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "before": nn.LayerNorm(width),
                    "between": nn.LayerNorm(width),
                    "project": nn.Linear(width, 3 * width),
                    "merge": nn.Linear(width, width),
                    "layers": nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width)),
                }
            )
            for _ in range(2)
        )

    def forward(self, rows: Tensor, offsets: Tensor) -> Tensor:
        x = self.rows(rows)
        for block in self.blocks:
            query, key, value = block["project"](block["before"](x)).view(len(x), 3, 2, -1).permute(1, 2, 0, 3)
            bounds = offsets.tolist()
            attended = [
                nn.functional.scaled_dot_product_attention(query[None, :, a:b], key[None, :, a:b], value[None, :, a:b])
                for a, b in pairs_of(bounds)
            ]
            x = x + block["merge"](torch.cat(attended, dim=2)[0].transpose(0, 1).reshape(x.shape))
            x = x + block["layers"](block["between"](x))
        return self.out(x)[:, 0]


def time_attention(scale: float) -> None:
    print("\nAttention, ms an epoch beside blocks that attend list by list")
    data = make_dataset(max(int(4_000 * scale), 70))
    few = settings(epochs=4, batch_size=LISTS)
    slow = epoch_times(luce.NeuralRanker("listmle", module=ListByList(), **few), data)
    for precision in ("float32", "tf32", "bfloat16"):
        ranker = luce.NeuralRanker(
            "listmle", hidden_layer_sizes=WIDTHS, context="attention", precision=precision, **few
        )
        ours = epoch_times(ranker, data)
        print(f"  {precision}: {ours:.0f} of {slow:.0f}: {verdict(ours / slow, 0.2)}", flush=True)


def make_tagged(n_labels: int, rows: int, features: int = 50_000) -> luce.TaggedData:
    rng = np.random.default_rng(0)

    def matrix(width: int, count: int, values: np.ndarray) -> sparse.csr_array:
        columns = np.sort(rng.integers(0, width // count, (rows, count)) + np.arange(count) * (width // count), axis=1)
        return sparse.csr_array((values, columns.ravel(), np.arange(rows + 1) * count), shape=(rows, width))

    return luce.TaggedData(
        matrix(features, 100, rng.random(100 * rows).astype(np.float32)), matrix(n_labels, 20, np.ones(20 * rows))
    )


class SoftmaxLoop:
    """The softmax loss over all labels with the rows on the GPU."""

    def __init__(self, data: luce.TaggedData, batch_size: int = 128, hidden: int = 256):
        features, labels = sparse.csr_array(data.features), sparse.csr_array(data.labels)
        self.indices = torch.tensor(features.indices.reshape(data.n_rows, -1), dtype=torch.int64, device=DEVICE)
        self.values = torch.tensor(features.data.reshape(data.n_rows, -1), device=DEVICE)
        self.labels = torch.tensor(labels.indices.reshape(data.n_rows, -1), dtype=torch.int64, device=DEVICE)
        self.first = nn.EmbeddingBag(features.shape[1], hidden, mode="sum").to(DEVICE)
        self.last = nn.Linear(hidden, data.n_labels).to(DEVICE)
        parameters = [*self.first.parameters(), *self.last.parameters()]
        self.optimizer, self.batch_size = torch.optim.Adam(parameters, 1e-3, fused=DEVICE == "cuda"), batch_size

    def epoch(self) -> None:
        order = torch.randperm(len(self.labels), device=DEVICE)
        for begin in range(0, len(order), self.batch_size):
            rows = order[begin : begin + self.batch_size]
            hidden = torch.relu(self.first(self.indices[rows], per_sample_weights=self.values[rows]))
            loss = -torch.log_softmax(self.last(hidden), 1).gather(1, self.labels[rows]).sum() / len(rows)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


def label_ranker(objective: str, epochs: int = 5, **more: object) -> luce.LabelRanker:
    return luce.LabelRanker(objective, **settings(epochs=epochs, steps_per_epoch=None, **more))


def time_labels(scale: float) -> None:
    print("\nLabelRanker, ms an epoch of 12,800 rows beside a softmax loop with resident data")
    for n_labels in (int(31_000 * scale), int(205_000 * scale)):
        data = make_tagged(n_labels, max(int(12_800 * scale), 256))
        plain = loop_times(SoftmaxLoop(data).epoch)
        for name in ("pl-partition", "bce", "softmax"):
            ours = epoch_times(label_ranker(name), data)
            print(f"  {n_labels:,} labels, {name}: {ours:.0f} of {plain:.0f}: {verdict(ours / plain, 1.0)}", flush=True)
    data = make_tagged(int(1_000_000 * scale), max(int(5_120 * scale), 256))
    whole = epoch_times(label_ranker("pl-partition", 4), data)
    for sampling in ("uniform", "frequency", "hard"):
        some = epoch_times(label_ranker("pl-partition", 4, negatives=4_096, negative_sampling=sampling), data)
        name = f"{data.n_labels:,} labels, {data.n_rows:,} rows, 4,096 negatives ({sampling})"
        print(f"  {name}: {some:.0f} of {whole:.0f}: {verdict(some / whole, 0.3)}", flush=True)


def measure_memory(scale: float) -> None:
    data = make_tagged(int(3_000_000 * scale), max(int(1_280 * scale), 256))
    print(f"\nLabelRanker, {data.n_labels:,} labels, hidden 256: the most GB on the GPU in training and top_labels")
    for negatives in (None, 4_096):
        if DEVICE == "cuda":
            gc.collect()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        ranker = label_ranker("pl-partition", 3, negatives=negatives)
        time_of_epoch = epoch_times(ranker, data)
        ranker.top_labels(data, 5)
        peak = torch.cuda.max_memory_allocated() / 1e9 if DEVICE == "cuda" else 0.0
        print(f"  negatives={negatives}: {verdict(peak, 20)} GB, {time_of_epoch:.0f} ms an epoch", flush=True)
        del ranker


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="lists, attention, labels, memory")
    parser.add_argument("--scale", type=float, default=1.0, help="the size of the data, to try the script")
    parser.add_argument("--no-compile", action="store_true", help="leave out torch.compile, which takes minutes")
    given = parser.parse_args()
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else platform.processor()
    print(f"{name}, torch {torch.__version__}, Python {platform.python_version()}")
    works: dict[str, Callable[[], None]] = {
        "lists": lambda: time_lists(given.scale, not given.no_compile),
        "attention": lambda: time_attention(given.scale),
        "labels": lambda: time_labels(given.scale),
        "memory": lambda: measure_memory(given.scale),
    }
    chosen: Iterable[str] = given.only or works
    for part in chosen:
        works[part]()
    print(f"\n{sum(met)} of {len(met)} met")


if __name__ == "__main__":
    main()
