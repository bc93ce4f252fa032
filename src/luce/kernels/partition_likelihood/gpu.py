"""The partition likelihood on a GPU: rows of scores with a sparse set of relevant labels, and ragged lists.

A row is read twice and its gradient written once: the rest of the labels is summed up, the integral of the relevant
ones is one small kernel, and the gradient is made from two numbers a row and one a relevant label.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from luce.kernels.partition_likelihood import ALL_RANKS
from luce.kernels.partition_likelihood.gpu_integral import set_log_probability
from luce.kernels.partition_likelihood.plain import WIDTH, RowWorkspace, n_chunks

LANES, DEEP = tl.constexpr(1_024), tl.constexpr(WIDTH // 1_024)
"""Columns that a program takes side by side, and one after the other."""

TILE = 2_048
"""Items times nodes of the integral that a program takes at a time, where one node alone is not larger."""

WHOLE = 8
"""Chunks of a row that one program takes after the other, from the scores to the gradient: one launch for three."""

NONE = tl.constexpr(2147483647)
"""Above every label."""

PARTITION, BOUND, ATTENTION, SOFTMAX, IDEAL, LOGISTIC, SQUARED = (tl.constexpr(kind) for kind in range(7))
"""The losses of `luce.kernels.partition_likelihood`."""


def losses_and_gradient(
    scores: Tensor,
    labels: Tensor,
    starts: Tensor,
    longest: int,
    kind: int,
    workspace: RowWorkspace,
    factor: float,
    out: Tensor,
    depth: int = ALL_RANKS,
) -> None:
    """All at once: what `sum_rest`, `finish_rows` and `write_gradient` do one after the other."""
    n_labels = scores.shape[1]
    if workspace.chunks > WHOLE:
        sum_rest(scores, labels, starts, kind, workspace)
        finish_rows(starts, n_labels, longest, kind, workspace, depth)
        write_gradient(scores, labels, starts, kind, workspace, None, factor, out)
        return
    size, wide, nodes = _shape(longest, workspace.chunks)
    _whole_rows[(workspace.n_rows,)](
        scores, out, labels, starts, workspace.numbers, factor, n_labels, workspace.chunks, workspace.n_picked, depth,
        kind, size, wide, nodes, num_warps=8,
    )  # fmt: skip


def sum_rest(
    scores: Tensor, labels: Tensor, starts: Tensor, kind: int, workspace: RowWorkspace, first: int = 0
) -> None:
    """Sum up each chunk of a row without the relevant labels, whose scores are picked; see `plain.sum_rest`."""
    n_labels = scores.shape[1]
    _sum_rest[(workspace.n_rows, n_chunks(n_labels))](
        scores, labels, starts, workspace.numbers, n_labels, workspace.chunks, first, kind, num_warps=4
    )


def finish_rows(
    starts: Tensor, n_labels: int, longest: int, kind: int, workspace: RowWorkspace, depth: int = ALL_RANKS
) -> None:
    """Finish the rows: from the scores of the relevant labels and the sums of the chunks to losses and gradient."""
    size, wide, nodes = _shape(longest, workspace.chunks)
    _finish_rows[(workspace.n_rows,)](
        starts, workspace.numbers, n_labels, workspace.chunks, workspace.n_picked, depth, kind, size, wide, nodes,
        num_warps=4 if size * nodes <= TILE else 8,
    )  # fmt: skip


def _shape(longest: int, chunks: int) -> tuple[int, int, int]:
    """Relevant labels, chunks and nodes of the integral that a program takes at a time."""
    size = triton.next_power_of_2(max(longest, 16))
    return size, triton.next_power_of_2(chunks), max(1, min(16, 4 * TILE // size))


def write_gradient(
    scores: Tensor,
    labels: Tensor,
    starts: Tensor,
    kind: int,
    workspace: RowWorkspace,
    upstream: Tensor | None,
    factor: float,
    out: Tensor,
    first: int = 0,
) -> None:
    """Write the gradient (B, N) of rows, each times its `upstream` and a factor; `out` may be the scores themselves."""
    n_labels = scores.shape[1]
    given, stride = (
        (workspace.numbers, 0) if upstream is None else (upstream, upstream.stride(0) if upstream.ndim else 0)
    )
    _write_gradient[(workspace.n_rows, n_chunks(n_labels))](
        scores, out, labels, starts, workspace.numbers, given, stride, factor, n_labels, workspace.chunks,
        workspace.n_picked, first, upstream is not None, kind, num_warps=4,
    )  # fmt: skip


def partition_lists(
    scores: Tensor, labels: Tensor, offsets: Tensor, longest: int, factor: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Losses (Q,) and gradient (N,) times a factor of lists of at most `longest` items; NaN labels are not observed."""
    losses = torch.empty(len(offsets) - 1, device=scores.device, dtype=torch.float32)
    gradient = torch.empty(len(scores), device=scores.device, dtype=torch.float32)
    largest = triton.next_power_of_2(max(longest, 128))
    warps = 4 if largest <= 2_048 else 8
    if len(losses):
        _partition_lists[(len(losses),)](
            scores, labels, offsets, losses, gradient, factor, largest, max(1, TILE // largest), num_warps=warps
        )
    return losses, gradient


@triton.jit
def _within(labels, begin, end, low, high):
    """The first of labels[begin:end] that is not below `low`, and the first that is not below `high`."""
    first, last = begin, begin
    for at in range(begin, end, 512):
        places = at + tl.arange(0, 512)
        label = tl.load(labels + places, mask=places < end, other=NONE)
        first += tl.sum((label < low).to(tl.int32), 0)
        last += tl.sum((label < high).to(tl.int32), 0)
    return first, last


@triton.jit
def _whole_rows(
    scores, out, labels, starts, workspace, factor, n_labels, chunks, n_picked, depth, kind: tl.constexpr,
    size: tl.constexpr, wide: tl.constexpr, nodes: tl.constexpr,
):  # fmt: skip
    for chunk in range(chunks):
        _sum_chunk(scores, labels, starts, workspace, n_labels, chunks, 0, chunk, kind)
    tl.debug_barrier()  # each step reads what other threads of the program have stored
    _finish_row(starts, workspace, n_labels, chunks, n_picked, depth, kind, size, wide, nodes)
    tl.debug_barrier()
    for chunk in range(chunks):
        _write_chunk(scores, out, labels, starts, workspace, factor * 1.0, n_labels, chunks, n_picked, 0, chunk, kind)


@triton.jit
def _sum_rest(scores, labels, starts, workspace, n_labels, chunks, first, kind: tl.constexpr):
    _sum_chunk(scores, labels, starts, workspace, n_labels, chunks, first, tl.program_id(1), kind)


@triton.jit
def _softplus(s):
    """log(1 + e^s); where e^{−|s|} is small by a series, since 1 + e^{−|s|} would lose most of it."""
    u = tl.exp(-tl.abs(s))
    series = u * (1.0 - u * (1.0 / 2 - u * (1.0 / 3 - u * (1.0 / 4 - u / 5))))
    return tl.maximum(s, 0.0) + tl.where(u < 0.03, series, tl.log(1.0 + u))


@triton.jit
def _sigmoid(s):
    u = tl.exp(-tl.abs(s))
    return tl.where(s < 0.0, u, 1.0) / (1.0 + u)


@triton.jit
def _sum_chunk(scores, labels, starts, workspace, n_labels, chunks, first, chunk, kind: tl.constexpr):
    row, n_rows = tl.program_id(0), tl.num_programs(0)
    done = chunk * LANES * DEEP
    columns = done + tl.arange(0, DEEP)[:, None] * LANES + tl.arange(0, LANES)[None, :]
    start = row.to(tl.int64) * n_labels
    s = tl.load(scores + start + columns, mask=columns < n_labels, other=-float("inf")).to(tl.float32)
    tops = workspace + 4 * n_rows
    picked = tops + 2 * n_rows * chunks
    low, high = first + done, first + tl.minimum(done + LANES * DEEP, n_labels)
    at, end = _within(labels, tl.load(starts + row), tl.load(starts + row + 1), low, high)
    for some in range(at, end, 128):
        relevant = some + tl.arange(0, 128)
        label = tl.load(labels + relevant, mask=relevant < end, other=first)
        own = tl.load(scores + start + (label - first), mask=relevant < end, other=0.0)
        tl.store(picked + relevant, own.to(tl.float32), mask=relevant < end)
    if kind == PARTITION or kind >= LOGISTIC:
        for some in range(at, end, 4):
            for one in tl.static_range(4):
                label = tl.load(labels + some + one, mask=some + one < end, other=NONE)
                s = tl.where(columns + first == label, -float("inf"), s)
    part = tops + row * chunks + first // (LANES * DEEP) + chunk
    if kind >= LOGISTIC:
        terms = _softplus(s) if kind == LOGISTIC else tl.where(s == -float("inf"), 0.0, s * s)
        tl.store(part, 0.0)
        tl.store(part + n_rows * chunks, tl.sum(tl.sum(terms, 0), 0))
    else:
        top = tl.max(s, 0)
        total = tl.sum(tl.exp(s - tl.where(top == -float("inf"), 0.0, top)[None, :]), 0)
        highest = tl.max(top, 0)
        shift = tl.where(highest == -float("inf"), 0.0, highest)
        tl.store(part, highest)
        tl.store(part + n_rows * chunks, tl.sum(total * tl.exp(top - shift), 0))


@triton.jit
def _finish_rows(
    starts, workspace, n_labels, chunks, n_picked, depth, kind: tl.constexpr, size: tl.constexpr, wide: tl.constexpr,
    nodes: tl.constexpr,
):  # fmt: skip
    _finish_row(starts, workspace, n_labels, chunks, n_picked, depth, kind, size, wide, nodes)


@triton.jit
def _finish_row(
    starts, workspace, n_labels, chunks, n_picked, depth, kind: tl.constexpr, size: tl.constexpr, wide: tl.constexpr,
    nodes: tl.constexpr,
):  # fmt: skip
    row, n_rows = tl.program_id(0), tl.num_programs(0)
    tops = workspace + 4 * n_rows
    picked = tops + 2 * n_rows * chunks
    at = tl.arange(0, wide)
    part = tl.load(tops + row * chunks + at, mask=at < chunks, other=-float("inf"))
    weight = tl.load(tops + (n_rows + row) * chunks + at, mask=at < chunks, other=0.0)
    highest = tl.max(part, 0)
    shift = tl.where(highest == -float("inf"), 0.0, highest)
    total = tl.sum(weight * tl.exp(part - shift), 0)
    begin = tl.load(starts + row)
    count = (tl.load(starts + row + 1) - begin).to(tl.int32)
    places = tl.arange(0, size)
    chosen = places < count
    own = tl.load(picked + begin + places, mask=chosen, other=0.0)
    low = tl.log(tl.where(total > 0.0, total, 1.0))
    relative = tl.where(chosen, (own - shift) - low, 0.0)
    derivative = tl.zeros_like(relative)
    value = tl.sum(derivative, 0)
    force = value
    has_signal = count > 0
    if kind < LOGISTIC:
        has_signal = has_signal & (total > 0.0)
    if kind <= BOUND:
        has_signal = has_signal & (count < n_labels)
    if has_signal:
        if kind == PARTITION:
            log_p, rates = set_log_probability(relative, chosen, count, nodes)
            value = -log_p.to(tl.float32)
            force = tl.sum(rates, 0)
            derivative = -rates
        elif kind >= LOGISTIC:
            away = -own if kind == LOGISTIC else own - 1.0
            terms = _softplus(away) if kind == LOGISTIC else away * away
            value = total + tl.sum(tl.where(chosen, terms, 0.0), 0)
            force = count.to(tl.float32) * 0.0 + 1.0
            derivative = -_sigmoid(away) if kind == LOGISTIC else 2.0 * away
        else:
            n = count.to(tl.float32)
            value = -tl.sum(relative, 0)
            derivative = tl.where(chosen, n * tl.exp(relative) - 1.0, 0.0)
            if kind == ATTENTION:
                norm = n
            elif kind == IDEAL:
                ranks = places < tl.minimum(count, depth)
                norm = tl.sum(tl.where(ranks, 1.0 / tl.log2(places.to(tl.float32) + 2.0), 0.0), 0)
            else:
                norm = n * 0.0 + 1.0
            value /= norm
            force = n / norm
            derivative /= norm
    tl.store(workspace + row, value)
    tl.store(workspace + n_rows + row, force)
    tl.store(workspace + 2 * n_rows + row, shift)
    tl.store(workspace + 3 * n_rows + row, low)
    tl.store(picked + n_picked + begin + places, derivative, mask=chosen)


@triton.jit
def _write_gradient(
    scores, out, labels, starts, workspace, upstream, stride, factor, n_labels, chunks, n_picked, first,
    scaled: tl.constexpr, kind: tl.constexpr,
):  # fmt: skip
    scale = factor * 1.0
    if scaled:
        scale = tl.load(upstream + tl.program_id(0) * stride).to(tl.float32) * factor
    chunk = tl.program_id(1)
    _write_chunk(scores, out, labels, starts, workspace, scale, n_labels, chunks, n_picked, first, chunk, kind)


@triton.jit
def _write_chunk(
    scores, out, labels, starts, workspace, scale, n_labels, chunks, n_picked, first, chunk, kind: tl.constexpr,
):  # fmt: skip
    row, n_rows = tl.program_id(0), tl.num_programs(0)
    done = chunk * LANES * DEEP
    columns = done + tl.arange(0, DEEP)[:, None] * LANES + tl.arange(0, LANES)[None, :]
    start = row.to(tl.int64) * n_labels
    s = tl.load(scores + start + columns, mask=columns < n_labels, other=-float("inf")).to(tl.float32)
    force = scale * tl.load(workspace + n_rows + row)
    if kind == LOGISTIC:
        share = _sigmoid(s)
    elif kind == SQUARED:
        share = 2.0 * tl.where(columns < n_labels, s, 0.0)
    else:
        share = tl.exp((s - tl.load(workspace + 2 * n_rows + row)) - tl.load(workspace + 3 * n_rows + row))
    tl.store(out + start + columns, tl.where(force == 0.0, 0.0, force * share), mask=columns < n_labels)
    tl.debug_barrier()  # the relevant labels are written over what was just stored
    gradient = workspace + 4 * n_rows + 2 * n_rows * chunks + n_picked
    low, high = first + done, first + tl.minimum(done + LANES * DEEP, n_labels)
    begin, after = _within(labels, tl.load(starts + row), tl.load(starts + row + 1), low, high)
    for at in range(begin, after, 128):
        places = at + tl.arange(0, 128)
        label = tl.load(labels + places, mask=places < after, other=first)
        derivative = tl.load(gradient + places, mask=places < after, other=0.0)
        tl.store(out + start + (label - first), scale * derivative, mask=places < after)


@triton.jit
def _partition_lists(scores, labels, offsets, losses, gradient, factor, largest: tl.constexpr, nodes: tl.constexpr):
    """An eighth of the workspace, or half of it, where that holds the list."""
    row = tl.program_id(0)
    begin = tl.load(offsets + row)
    count = (tl.load(offsets + row + 1) - begin).to(tl.int32)
    value, out = losses + row, gradient + begin
    if count <= largest // 8:
        _partition_list(scores + begin, labels + begin, value, out, count, factor, largest // 8, nodes * 8)
    elif count <= largest // 2:
        _partition_list(scores + begin, labels + begin, value, out, count, factor, largest // 2, nodes * 2)
    else:
        _partition_list(scores + begin, labels + begin, value, out, count, factor, largest, nodes)


@triton.jit
def _partition_list(scores, labels, loss, out, count, factor, size: tl.constexpr, nodes: tl.constexpr):
    places = tl.arange(0, size)
    here = places < count
    s = tl.load(scores + places, mask=here, other=0.0).to(tl.float32)
    y = tl.load(labels + places, mask=here, other=float("nan")).to(tl.float32)
    seen = y == y
    derivative = tl.zeros_like(s)
    value = tl.sum(derivative.to(tl.float64), 0)
    level = tl.max(tl.where(seen, y, -float("inf")), 0)
    rest = seen & (y < level)
    while tl.sum(rest.to(tl.int32), 0) > 0:
        chosen = seen & (y == level)
        highest = tl.max(tl.where(rest, s, -float("inf")), 0)
        weight = tl.where(rest, tl.exp(s - highest), 0.0)
        total = tl.sum(weight, 0)
        relative = tl.where(chosen, (s - highest) - tl.log(total), 0.0)
        n = tl.sum(chosen.to(tl.int32), 0)
        log_p, rates = set_log_probability(relative, chosen, n, nodes)
        value -= log_p
        derivative += tl.sum(rates, 0) / total * weight - rates
        level = tl.max(tl.where(rest, y, -float("inf")), 0)
        rest = seen & (y < level)
    tl.store(loss, value.to(tl.float32))
    tl.store(out + places, derivative * factor, mask=here)
