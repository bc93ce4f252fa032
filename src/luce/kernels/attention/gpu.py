"""Attention within ragged lists on a GPU: a program holds a tile of one list and one head, and runs over its tiles.

The softmax is taken on the way (Dao et al., 2022), so that n² numbers are never stored. The backward pass has one
kernel over tiles of queries and one over tiles of keys: no sum is shared between programs, and the bits repeat.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

WIDE_TILE, NARROW_TILE = 64, 32
"""Rows of a list that a program holds, and takes in one step; more only where that leaves it registers enough."""

LOG2_E = tl.constexpr(1.4426950408889634)


def attend(q: Tensor, k: Tensor, v: Tensor, offsets: Tensor, longest: int) -> Tensor:
    """See `luce.kernels.attention.attend`."""
    attended: Tensor = _Attention.apply(q, k, v, offsets, longest)
    return attended


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, offsets: Tensor, longest: int) -> Tensor:
        q, k, v = (x if x.stride(-1) == 1 else x.contiguous() for x in (q, k, v))
        attended = q.new_zeros(q.shape)  # rows of no list keep the 0
        log_mass = q.new_empty(q.shape[:2], dtype=torch.float32)
        ctx.save_for_backward(q, k, v, offsets, attended, log_mass)
        ctx.longest = longest
        _launch(_forward, q, k, v, offsets, longest, attended, log_mass)
        return attended

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, offsets, attended, log_mass = ctx.saved_tensors
        upstream, inner = upstream.contiguous(), torch.empty_like(log_mass)
        dq, dk, dv = q.new_zeros((3, *q.shape)).unbind()
        given = q, k, v, offsets, ctx.longest
        _launch(_backward_queries, *given, attended, upstream, log_mass, inner, dq)
        _launch(_backward_keys, *given, upstream, log_mass, inner, dk, dv)
        return dq, dk, dv, None, None


def _launch(kernel: Any, q: Tensor, k: Tensor, v: Tensor, offsets: Tensor, longest: int, *contiguous: Tensor) -> None:
    heads, width = q.shape[1:]
    size = max(16, triton.next_power_of_2(width))
    tile = WIDE_TILE if q.element_size() == 2 and size <= 64 else NARROW_TILE
    grid = (len(offsets) - 1) * heads, triton.cdiv(longest, tile)
    if all(grid):
        strides = (stride for x in (q, k, v) for stride in x.stride()[:2])
        kernel[grid](
            q, k, v, offsets, *contiguous, *strides, width**-0.5, heads, width, size, tile,
            num_warps=4 if size <= 64 else 8,
        )  # fmt: skip


@triton.jit
def _load(x, row_stride, head_stride, head, begin, rows, count, width: tl.constexpr, size: tl.constexpr):
    """Some rows of a list as (rows, size), 0 beyond the list and the width."""
    columns = tl.arange(0, size)
    inside = (rows < count)[:, None] & (columns < width)[None, :]
    return tl.load(x + (begin + rows)[:, None] * row_stride + head * head_stride + columns[None, :], inside, 0.0)


@triton.jit
def _store(x, values, heads, head, begin, rows, count, width: tl.constexpr, size: tl.constexpr):
    columns = tl.arange(0, size)
    inside = (rows < count)[:, None] & (columns < width)[None, :]
    to = x + ((begin + rows) * heads + head)[:, None] * width + columns[None, :]
    tl.store(to, values.to(x.dtype.element_ty), inside)


@triton.jit
def _product(a, b):
    """Accurate to float32 for float32; tensor cores round each factor to 10 bits else."""
    return tl.dot(a, b, input_precision="tf32x3")


@triton.jit
def _forward(
    q, k, v, offsets, attended, log_mass, q_row, q_head, k_row, k_head, v_row, v_head, scale, heads,
    width: tl.constexpr, size: tl.constexpr, tile: tl.constexpr,
):  # fmt: skip
    row, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    begin = tl.load(offsets + row)
    count = (tl.load(offsets + row + 1) - begin).to(tl.int32)
    queries = tl.program_id(1) * tile + tl.arange(0, tile)
    if tl.program_id(1) * tile < count:
        query = _load(q, q_row, q_head, head, begin, queries, count, width, size)
        highest = tl.full([tile], -float("inf"), tl.float32)
        mass = tl.zeros([tile], tl.float32)
        total = tl.zeros([tile, size], tl.float32)
        for start in range(0, count, tile):
            keys = start + tl.arange(0, tile)
            key = _load(k, k_row, k_head, head, begin, keys, count, width, size)
            value = _load(v, v_row, v_head, head, begin, keys, count, width, size)
            logits = _product(query, tl.trans(key)) * (scale * LOG2_E)
            logits = tl.where((keys < count)[None, :], logits, -float("inf"))
            higher = tl.maximum(highest, tl.max(logits, 1))
            weights = tl.exp2(logits - higher[:, None])
            shrink = tl.exp2(highest - higher)
            mass = mass * shrink + tl.sum(weights, 1)
            total = total * shrink[:, None] + _product(weights.to(value.dtype), value)
            highest = higher
        _store(attended, total / mass[:, None], heads, head, begin, queries, count, width, size)
        tl.store(log_mass + (begin + queries) * heads + head, highest + tl.log2(mass), queries < count)


@triton.jit
def _backward_queries(
    q, k, v, offsets, attended, upstream, log_mass, inner, dq, q_row, q_head, k_row, k_head, v_row, v_head, scale,
    heads, width: tl.constexpr, size: tl.constexpr, tile: tl.constexpr,
):  # fmt: skip
    """The gradient in a tile of queries, and the inner product of output and upstream of each."""
    row, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    begin = tl.load(offsets + row)
    count = (tl.load(offsets + row + 1) - begin).to(tl.int32)
    queries = tl.program_id(1) * tile + tl.arange(0, tile)
    if tl.program_id(1) * tile < count:
        query = _load(q, q_row, q_head, head, begin, queries, count, width, size)
        gradient = _load(upstream, heads * width, width, head, begin, queries, count, width, size)
        result = _load(attended, heads * width, width, head, begin, queries, count, width, size)
        product = tl.sum(gradient.to(tl.float32) * result.to(tl.float32), 1)
        at = (begin + queries) * heads + head
        tl.store(inner + at, product, queries < count)
        log_total = tl.load(log_mass + at, queries < count, 0.0)
        total = tl.zeros([tile, size], tl.float32)
        for start in range(0, count, tile):
            keys = start + tl.arange(0, tile)
            key = _load(k, k_row, k_head, head, begin, keys, count, width, size)
            value = _load(v, v_row, v_head, head, begin, keys, count, width, size)
            logits = _product(query, tl.trans(key)) * (scale * LOG2_E)
            logits = tl.where((keys < count)[None, :], logits, -float("inf"))
            weights = tl.exp2(logits - log_total[:, None])
            of_logits = weights * (_product(gradient, tl.trans(value)) - product[:, None])
            total += _product(of_logits.to(key.dtype), key)
        _store(dq, total * scale, heads, head, begin, queries, count, width, size)


@triton.jit
def _backward_keys(
    q, k, v, offsets, upstream, log_mass, inner, dk, dv, q_row, q_head, k_row, k_head, v_row, v_head, scale, heads,
    width: tl.constexpr, size: tl.constexpr, tile: tl.constexpr,
):  # fmt: skip
    """The gradients in a tile of keys and of their values; weights are those of keys by queries."""
    row, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    begin = tl.load(offsets + row)
    count = (tl.load(offsets + row + 1) - begin).to(tl.int32)
    keys = tl.program_id(1) * tile + tl.arange(0, tile)
    if tl.program_id(1) * tile < count:
        key = _load(k, k_row, k_head, head, begin, keys, count, width, size)
        value = _load(v, v_row, v_head, head, begin, keys, count, width, size)
        key_total = tl.zeros([tile, size], tl.float32)
        value_total = tl.zeros([tile, size], tl.float32)
        for start in range(0, count, tile):
            queries = start + tl.arange(0, tile)
            query = _load(q, q_row, q_head, head, begin, queries, count, width, size)
            gradient = _load(upstream, heads * width, width, head, begin, queries, count, width, size)
            at = (begin + queries) * heads + head
            log_total = tl.load(log_mass + at, queries < count, 0.0)
            product = tl.load(inner + at, queries < count, 0.0)
            logits = _product(key, tl.trans(query)) * (scale * LOG2_E)
            logits = tl.where((keys < count)[:, None], logits, -float("inf"))
            weights = tl.exp2(logits - log_total[None, :])
            value_total += _product(weights.to(gradient.dtype), gradient)
            of_logits = weights * (_product(value, tl.trans(gradient)) - product[None, :])
            key_total += _product(of_logits.to(query.dtype), query)
        _store(dk, key_total * scale, heads, head, begin, keys, count, width, size)
        _store(dv, value_total, heads, head, begin, keys, count, width, size)
