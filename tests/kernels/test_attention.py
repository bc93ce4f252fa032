"""Attention within lists against a loop over them in float64: plain PyTorch, and Triton on a GPU or interpreted."""

import importlib
import os
from importlib.util import find_spec
from itertools import pairwise

import pytest
import torch

from luce.arrays import offsets_of_sizes
from luce.kernels.attention import attend
from luce.kernels.attention.plain import buckets

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
HAS_GPU = torch.cuda.is_available()
DEVICE = "cuda" if HAS_GPU and not INTERPRETED else "cpu"
WAYS = ["plain", "gpu"] if find_spec("triton") and (HAS_GPU or INTERPRETED) else ["plain"]


def list_by_list(q, k, v, bounds):
    """In float64, without the kernels of PyTorch; rows of no list get 0."""
    q, k, v = (x.double().transpose(0, 1) for x in (q, k, v))
    parts = [
        (q[:, a:b] @ k[:, a:b].mT / q.shape[-1] ** 0.5).softmax(-1) @ v[:, a:b] for a, b in pairwise(bounds) if a < b
    ]
    parts.append(v[:, bounds[-1] :] * 0)
    return torch.cat(parts, 1).transpose(0, 1)


def both(way, sizes, heads, width, *, beyond=0, longest=None, scale=1.0, dtype=torch.float32):
    """Values and gradients of a kernel, and those of the loop; the rows are those of one projection."""
    torch.manual_seed(len(sizes))
    bounds = offsets_of_sizes(sizes).tolist()
    rows = (scale * torch.randn(bounds[-1] + beyond, 3, heads, width)).to(dtype).requires_grad_()
    upstream = torch.randn(len(rows), heads, width).to(dtype)
    expected = list_by_list(*rows.unbind(1), bounds)
    (slope,) = torch.autograd.grad(expected, rows, upstream.double())
    module = importlib.import_module(f"luce.kernels.attention.{way}")
    given, offsets = rows.to(DEVICE), torch.tensor(bounds, device=DEVICE)
    if beyond:
        with torch.no_grad():
            given[bounds[-1] :], upstream[bounds[-1] :] = torch.nan, torch.nan  # what a graph left there
    found = module.attend(*given.unbind(1), offsets, max(sizes, default=0) if longest is None else longest)
    (gradient,) = torch.autograd.grad(found, given, upstream.to(DEVICE))
    assert found.dtype == gradient.dtype == dtype
    return found.detach().cpu().double(), gradient.cpu().double(), expected.detach(), slope.double()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("sizes", "heads", "width"),
    [
        ([5, 1, 0, 30, 7, 130, 2], 2, 8),
        ([64, 65, 128, 1], 1, 32),
        ([20, 20, 20], 3, 12),
        ([1, 1], 2, 16),
        ([150], 1, 100),
    ],
    ids=str,
)
def test_values_and_gradients(way, sizes, heads, width):
    found, gradient, expected, slope = both(way, sizes, heads, width)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(gradient, slope, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_no_list_get_0(way):
    found, gradient, expected, slope = both(way, [3, 0, 70, 4], 2, 8, beyond=9, longest=200)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(gradient, slope, rtol=1e-5, atol=2e-5)
    assert not found[77:].any() and not gradient[77:].any()


@pytest.mark.parametrize("way", WAYS)
def test_no_lists(way):
    found, gradient, *_ = both(way, [], 2, 8, beyond=4)
    assert not found.any() and not gradient.any()
    found, *_ = both(way, [0, 0], 2, 8)
    assert found.shape == (0, 2, 8)


@pytest.mark.parametrize("way", WAYS)
def test_logits_far_apart(way):
    found, gradient, expected, slope = both(way, [90, 17, 3], 1, 16, scale=30.0)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-2)
    torch.testing.assert_close(gradient, slope, rtol=1e-3, atol=1e-1)


@pytest.mark.parametrize("way", WAYS)
def test_logits_far_below_those_of_padding(way):
    module = importlib.import_module(f"luce.kernels.attention.{way}")
    rows = (30 + torch.rand(5, 2, 8)).requires_grad_()
    values, upstream = torch.randn(2, 5, 2, 8)
    found = module.attend(*(x.to(DEVICE) for x in (-rows, rows, values)), torch.tensor([0, 2, 5], device=DEVICE), 3)
    expected = list_by_list(-rows, rows, values, [0, 2, 5])
    torch.testing.assert_close(found.cpu().double(), expected, rtol=1e-3, atol=1e-3)
    slopes = [torch.autograd.grad(x, rows, upstream.to(x))[0] for x in (found, expected)]
    torch.testing.assert_close(*slopes, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision(way, dtype):
    if INTERPRETED and way == "gpu" and dtype == torch.bfloat16:
        pytest.skip("the interpreter multiplies the bits of bfloat16 as if they were integers")
    found, gradient, expected, slope = both(way, [40, 1, 90, 0, 12], 2, 16, dtype=dtype)
    tol = 4 * torch.finfo(dtype).eps
    torch.testing.assert_close(found, expected, rtol=tol, atol=tol)
    torch.testing.assert_close(gradient, slope, rtol=tol, atol=tol)


@pytest.mark.parametrize("way", WAYS)
def test_strides_of_any_layout(way):
    module = importlib.import_module(f"luce.kernels.attention.{way}")
    bounds = [0, 4, 9]
    q, k, v = torch.randn(8, 9, 2).permute(1, 2, 0), torch.randn(2, 9, 8).transpose(0, 1), torch.randn(9, 2, 8)
    found = module.attend(*(x.to(DEVICE) for x in (q, k, v)), torch.tensor(bounds, device=DEVICE), 5)
    torch.testing.assert_close(found.cpu().double(), list_by_list(q, k, v, bounds), rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(not HAS_GPU or INTERPRETED, reason="needs a GPU")
def test_a_recorded_graph_attends_within_other_lists():
    rows = torch.randn(300, 3, 2, 16, device="cuda", requires_grad=True)
    upstream = torch.randn(300, 2, 16, device="cuda")
    offsets = torch.tensor([0, 100, 200, 300], device="cuda")

    def step():
        found = attend(*rows.unbind(1), offsets, 150)
        return found, *torch.autograd.grad(found, rows, upstream)

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        found, gradient = step()
    offsets.copy_(torch.tensor([0, 3, 153, 290]))
    graph.replay()
    again = rows.detach().requires_grad_()
    expected = list_by_list(*again.unbind(1), [0, 3, 153, 290])
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
    (slope,) = torch.autograd.grad(expected, again, upstream.double())
    torch.testing.assert_close(gradient, slope, rtol=1e-5, atol=2e-5)


def test_float64_is_as_accurate_as_ever():
    q, k, v = torch.randn(3, 9, 2, 8, dtype=torch.float64)
    found = attend(q, k, v, torch.tensor([0, 4, 9]), 5)
    torch.testing.assert_close(found, list_by_list(q, k, v, [0, 4, 9]))


@pytest.mark.parametrize("sizes", [range(1, 301), [900, 400, 110, 30, 3], [7] * 50, [0, 4, 0], [2] * 300 + [64]])
def test_buckets_waste_little_and_are_few(sizes):
    found = buckets(list(sizes))
    assert sorted(row for bucket in found for row in bucket) == [row for row, size in enumerate(sizes) if size]
    padded = sum(len(bucket) * max(sizes[row] for row in bucket) ** 2 for bucket in found)
    assert padded <= 1.05 * sum(max(size, 16) ** 2 for size in sizes if size)
    assert len(found) < max(len(sizes) / 5, 6)
