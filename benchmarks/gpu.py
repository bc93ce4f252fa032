"""What does the partition likelihood cost on a GPU beside PyTorch's cross-entropy, and are its gradients right there?

python benchmarks/gpu.py
python benchmarks/gpu.py --only objectives --shape 256  # or 2048, 10000: some minutes each

Rows: loss and gradient of scores (rows, labels), 76 or 500 labels of a row being relevant, called as users do (eager)
and replayed as a CUDA graph; ours by `label_value_and_gradient`, and by `label_loss` and backward(). The floor is two
readings and one writing of the scores: three halves of the time of a copy of them, also replayed, in the same run.
Lists: batches of the shape of MSLR-WEB30K beside plain PyTorch on padded lists. Fused: the last layer and the loss
together. Objectives: all of them, see `gpu_objectives`. Times are medians of blocks of runs. Gradients are held against
the CPU in float64.
"""

import argparse
import gc
import math
import platform
import sys
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

import gpu_objectives
import luce
from gpu_timing import milliseconds, peak, replayed
from luce.kernels.expected_gain import expected_gain
from luce.kernels.sampled_rankings import sample_rankings
from luce.randomness import Draw
from luce.torch import (
    Relevant,
    fused_linear_loss,
    label_loss,
    label_value_and_gradient,
    loss,
    value_and_gradient,
)
from torch_forms.expected import pl_rank_padded

SHAPES = ((128, 30_938, 76), (128, 205_443, 76), (128, 1_000_000, 76), (20, 1_000_000, 500))
COLUMNS, SETS = (1, 2, 3, 31, 983, 8_192, 8_193, 1_000_003), (1, 2, 76, 500, 2_000)
RIGHT = 1e-5
met: list[bool] = []


def verdict(name: str, value: float, most: float) -> str:
    met.append(value <= most)
    return f"{name} {value:.2f} (at most {most}: {'met' if value <= most else 'MISSED'})"


def relevant_labels(rows: int, n_labels: int, sizes: np.ndarray | int, seed: int = 0) -> Relevant:
    rng = np.random.default_rng(seed)
    counts = np.full(rows, sizes) if isinstance(sizes, int) else sizes
    chosen = [np.sort(rng.choice(n_labels, count, replace=False)) for count in counts]
    labels = np.concatenate(chosen).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return Relevant(torch.as_tensor(labels).cuda(), torch.as_tensor(offsets).cuda(), longest=int(counts.max()))


def on_cpu(relevant: Relevant) -> Relevant:
    return Relevant(relevant.labels.cpu().long(), relevant.offsets.cpu())


def check_rows() -> None:
    print("\nGradients of rows against float64 on the CPU: the largest |difference| / |gradient|")
    rng = np.random.default_rng(1)
    for name in ("pl-partition", "pl-lb", "attrank"):
        worst = 0.0
        for n_labels in COLUMNS:
            for most in SETS if n_labels < 10**6 else SETS[2::2]:
                counts = np.minimum([most, 1, 0], n_labels)[: 1 if n_labels > 10**6 else 3]
                relevant = relevant_labels(len(counts), n_labels, counts)
                scores = torch.as_tensor(rng.normal(0, 3, (len(counts), n_labels)), dtype=torch.float32).cuda()
                worst = max(worst, difference(name, scores, relevant))
        print(f"  {name:14}{worst:9.1e}   {'met' if worst <= RIGHT else 'MISSED'} (at most {RIGHT:.0e})")
        met.append(worst <= RIGHT)


def difference(name: str, scores: Tensor, relevant: Relevant) -> float:
    ours = scores.clone().requires_grad_()
    label_loss(name, ours, relevant, reduction="sum").backward()
    exact = scores.cpu().double().requires_grad_()
    label_loss(name, exact, on_cpu(relevant), reduction="sum", n_jobs=4).backward()
    at_once = label_value_and_gradient(name, scores, relevant, reduction="sum")[1]
    size = float(exact.grad.norm()) or 1.0
    return max(float((found.cpu().double() - exact.grad).norm()) / size for found in (ours.grad, at_once))


def check_lists() -> None:
    print("\nGradients of lists, the same")
    rng = np.random.default_rng(2)
    sizes = np.array([1, 2, 3, 31, 120, 1_251, 0, 5_000])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    for spread in (2.0, 10.0):
        scores = rng.normal(0, spread, offsets[-1]).astype(np.float32)
        graded = rng.integers(0, 5, len(scores)).astype(np.float64)
        graded[7] = np.nan
        strict = np.concatenate([rng.permutation(size) for size in sizes]).astype(np.float64)
        for name, labels, options in (
            ("pl-partition", graded, {}),
            ("listmle", strict, {}),
            ("listmle", strict, {"depth": 10}),
            ("p-listmle", strict, {}),
            ("p-listmle", strict, {"alpha": "dcg"}),
        ):
            exact = luce.objective(name, **options).value_and_gradient(scores.astype(float), labels, offsets)
            ours = torch.as_tensor(scores).cuda().requires_grad_()
            tensors = torch.as_tensor(labels).cuda(), torch.as_tensor(offsets).cuda()
            loss(name, ours, *tensors, reduction="sum", **options).backward()
            error = np.linalg.norm(ours.grad.cpu().double().numpy() - exact.gradient) / np.linalg.norm(exact.gradient)
            met.append(bool(error <= RIGHT))
            print(f"  {name:14}{options!s:20} spread {spread:4.0f}: {error:.1e}")
        check_samples(scores, graded, offsets, spread)


def check_samples(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, spread: float) -> None:
    """From the rankings that the CPU draws by keys."""
    few = offsets[:6]
    own, gains = scores[: few[-1]].astype(float), 2 ** np.nan_to_num(labels[: few[-1]]) - 1
    discounts, draw = 1 / np.log2(np.arange(2, 7)), Draw(5, 1)
    rankings = sample_rankings(own, few, samples=300, depth=5, way="keys", draw=draw)
    exact = expected_gain(own, gains, few, discounts, rankings=rankings)
    ours = torch.as_tensor(scores[: few[-1]]).cuda().requires_grad_()
    tensors = torch.as_tensor(np.nan_to_num(labels[: few[-1]])).cuda(), torch.as_tensor(few).cuda()
    loss("pl-rank-2", ours, *tensors, reduction="sum", draw=draw, metric="dcg@5", samples=300).backward()
    error = np.linalg.norm(-ours.grad.cpu().double().numpy() - exact.gradient) / np.linalg.norm(exact.gradient)
    met.append(bool(error <= RIGHT))
    print(f"  pl-rank-2     300 samples         spread {spread:4.0f}: {error:.1e}")


def copying(source: Tensor) -> float:
    """Milliseconds of a copy."""
    target = torch.empty_like(source)
    return replayed(lambda: target.copy_(source))


def time_rows() -> None:
    print("\nRows, loss and gradient, milliseconds (eager / graph)")
    for dtype in (torch.float32, torch.bfloat16):
        for rows, n_labels, size in SHAPES:
            relevant = relevant_labels(rows, n_labels, size)
            scores = torch.randn(rows, n_labels, device="cuda", dtype=dtype).requires_grad_()
            target = relevant.labels.view(rows, size)[:, 0].long()

            def step(work: Callable[[], Tensor], scores: Tensor = scores) -> Callable[[], None]:
                def both() -> None:
                    scores.grad = None
                    work().backward()

                return both

            ways = {
                "pl-partition": lambda s=scores, r=relevant: label_value_and_gradient("pl-partition", s, r),
                "  by autograd": step(lambda s=scores, r=relevant: label_loss("pl-partition", s, r)),
                "cross_entropy": step(lambda s=scores, t=target: cross_entropy(s, t)),
                "log_softmax bound": step(lambda s=scores, r=relevant, k=size: bound(s, r, k)),
            }
            floor = 1.5 * copying(scores.detach())
            speed = 3 * scores.numel() * scores.element_size() / floor / 1e9
            name = f"[{rows} × {n_labels:,}, {size} relevant] {str(dtype).removeprefix('torch.')}"
            print(f"  {name}, floor {floor:.3f}: a copy moves {speed:.2f} TB/s")
            eager, graph = {}, {}
            for way, work in ways.items():
                eager[way], graph[way] = milliseconds(work), replayed(work)
                print(f"    {way:18}{eager[way]:8.3f} / {graph[way]:.3f}   {peak(work):6.2f} GB more")
            if dtype == torch.float32:
                judge_rows(n_labels, eager, graph, floor)
            del scores, target, ways
            gc.collect()
            torch.cuda.empty_cache()


def judge_rows(n_labels: int, eager: dict[str, float], graph: dict[str, float], floor: float) -> None:
    ratios = [way["pl-partition"] / way["cross_entropy"] for way in (eager, graph)]
    most = 0.7 if n_labels < 100_000 else 0.5
    at = 1 if n_labels == 205_443 else 0  # there the graph may carry it
    print(f"    eager {ratios[0]:.2f}, graph {ratios[1]:.2f}; {verdict('of cross_entropy', ratios[at], most)}")
    if n_labels == 1_000_000:
        print(f"    {verdict('of the floor', min(eager['pl-partition'], graph['pl-partition']) / floor, 1.5)}")


def bound(scores: Tensor, relevant: Relevant, size: int) -> Tensor:
    """The lower bound as people write it."""
    return -scores.log_softmax(1).gather(1, relevant.labels.view(-1, size).long()).sum(1).mean()


def time_lists() -> None:
    print("\nLists of the shape of MSLR-WEB30K, loss and gradient, milliseconds (eager / graph)")
    rng = np.random.default_rng(0)
    for n_lists in (256, 2_048):
        sizes = np.clip(rng.lognormal(math.log(110), 0.5, n_lists), 5, 1_000).astype(int)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        labels = rng.choice(5, offsets[-1], p=(0.52, 0.32, 0.13, 0.02, 0.01)).astype(np.float32)
        scores = rng.normal(size=offsets[-1]).astype(np.float32)
        longest = int(sizes.max())
        flat = torch.as_tensor(scores).cuda().requires_grad_()
        tensors = torch.as_tensor(labels).cuda(), torch.as_tensor(offsets).cuda()
        mask = torch.arange(sizes.max(), device="cuda") < torch.as_tensor(sizes).cuda()[:, None]
        padded = torch.zeros(mask.shape, device="cuda")
        padded[mask] = flat.detach()
        padded.requires_grad_()
        grades = torch.zeros(mask.shape, device="cuda")
        grades[mask] = tensors[0]

        def ours(
            name: str, flat: Tensor = flat, given: tuple = tensors, longest: int = longest, **options: object
        ) -> tuple[Callable[[], object], Callable[[], object]]:
            target_objective = luce.objective(name, **options)

            def both() -> None:
                flat.grad = None
                loss(target_objective, flat, *given, longest=longest).backward()

            return lambda: value_and_gradient(target_objective, flat, *given, longest=longest), both

        def plain_listmle(padded: Tensor = padded, grades: Tensor = grades, mask: Tensor = mask) -> None:
            padded.grad = None
            listmle_padded(padded, grades, mask).backward()

        gains = torch.zeros(mask.shape, device="cuda")
        gains[mask] = torch.as_tensor(2.0 ** labels.astype(float) - 1).float().cuda()
        discounts = torch.as_tensor(1 / np.log2(np.arange(2, 12))).float().cuda()
        pairs = {
            "listmle": (ours("listmle"), plain_listmle),
            "pl-rank-2": (
                ours("pl-rank-2", metric="dcg@10", samples=100),
                lambda p=padded, g=gains, m=mask, d=discounts: pl_rank_padded(p, g, m, d, 100),
            ),
        }
        for name, ((direct, autograd), plain) in pairs.items():
            eager = {"ours": milliseconds(direct), "autograd": milliseconds(autograd), "plain": milliseconds(plain)}
            graph = {"ours": replayed(direct), "plain": replayed(plain)}
            times = f"{eager['ours']:.3f} / {graph['ours']:.3f}, by autograd {eager['autograd']:.3f}"
            beside = f"plain PyTorch {eager['plain']:.3f} / {graph['plain']:.3f}"
            ratios = eager["plain"] / eager["ours"], graph["plain"] / graph["ours"]
            print(f"  {n_lists:,} lists, {name}: {times}, {beside}: {ratios[0]:.1f} / {ratios[1]:.1f} times faster")
            met.append(ratios[0] >= 5)
        partition = milliseconds(ours("pl-partition")[0])
        print(f"  {n_lists:,} lists, pl-partition  {partition:8.3f}")


def listmle_padded(scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """ListMLE as it is usually written for padded lists, ties in random order."""
    shuffle = torch.randperm(scores.shape[1], device=scores.device)
    y = labels[:, shuffle].masked_fill(~mask[:, shuffle], -torch.inf)
    order = shuffle[y.argsort(dim=1, descending=True)]
    s, here = scores.gather(1, order), mask.gather(1, order)
    rest = s.masked_fill(~here, -torch.inf).flip(1).logcumsumexp(1).flip(1)
    return torch.where(here, rest - s, 0.0).sum(1).mean()


class Layer:
    """A last layer of so many labels over 256 hidden units, and a batch of 1,024 rows."""

    def __init__(self, n_labels: int):
        self.hidden = torch.randn(1_024, 256, device="cuda").requires_grad_()
        self.weight = (torch.randn(n_labels, 256, device="cuda") / 16).requires_grad_()
        self.bias = torch.zeros(n_labels, device="cuda").requires_grad_()
        self.relevant = relevant_labels(1_024, n_labels, 5)

    def clear(self) -> None:
        self.hidden.grad = self.weight.grad = self.bias.grad = None

    def fused(self) -> list[Tensor]:
        self.clear()
        fused_linear_loss(self.hidden, self.weight, self.bias, self.relevant).backward()
        return [self.hidden.grad, self.weight.grad, self.bias.grad]

    def plain(self) -> list[Tensor]:
        self.clear()
        label_loss("pl-partition", self.hidden @ self.weight.T + self.bias, self.relevant).backward()
        return [self.hidden.grad, self.weight.grad, self.bias.grad]


def check_fused() -> None:
    print("\nThe last layer and the loss together, hidden 256, batch 1,024")
    small = Layer(50_000)
    worst = max(float((a - b).norm() / b.norm()) for a, b in zip(small.fused(), small.plain(), strict=True))
    met.append(worst <= RIGHT)
    print(f"  50,000 labels: gradients differ from the plain form by {worst:.1e}")
    del small
    large = Layer(3_000_000)
    for precision in ("highest", "high"):
        torch.set_float32_matmul_precision(precision)
        time, products = milliseconds(large.fused), milliseconds(lambda: four_products(large))
        print(f"  3,000,000 labels, precision {precision}: {time:.0f} ms, four products {products:.0f} ms")
        ratio = verdict("of the products", time / products, 1.5) if precision == "highest" else f"{time / products:.2f}"
        print(f"    {ratio}")
    torch.set_float32_matmul_precision("highest")
    large.clear()
    own = sum(tensor.numel() * 4 for tensor in (large.hidden, large.weight, large.bias)) / 1e9
    print(f"    {verdict('GB, weights and their gradient included,', own + peak(large.fused), 10)}")
    print(f"    the scores alone would be {1_024 * len(large.weight) * 4 / 1e9:.1f} GB, and their gradient as much")


def four_products(layer: Layer, width: int = 32_768) -> None:
    """Scores twice, the gradient of the weights, that of the hidden layer, some labels at a time."""
    with torch.no_grad():
        for begin in range(0, len(layer.weight), width):
            some = layer.weight[begin : begin + width]
            for _ in range(2):
                scores = layer.hidden @ some.T
            _, _ = scores.T @ layer.hidden, scores @ some


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["check", "rows", "lists", "fused", "objectives"])
    parser.add_argument("--shape", choices=gpu_objectives.SHAPES, help="of the objectives; all by default")
    parser.add_argument("--names", nargs="*", choices=gpu_objectives.OBJECTIVES, help="some of the objectives")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("There is no GPU here.")
    import triton

    versions = f"torch {torch.__version__}, triton {triton.__version__}, CUDA {torch.version.cuda}"
    print(f"{torch.cuda.get_device_name()}, {versions}, Python {platform.python_version()}")
    parts = {
        "check": (check_rows, check_lists),
        "rows": (time_rows,),
        "lists": (time_lists,),
        "fused": (check_fused,),
        "objectives": (lambda: met.extend(gpu_objectives.compare(arguments.shape, arguments.names)),),
    }
    for name, works in parts.items():
        for work in works if arguments.only in (None, name) else ():
            work()
    print(f"\n{sum(met)} of {len(met)} met")


if __name__ == "__main__":
    main()
