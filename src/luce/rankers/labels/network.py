"""The network of a label ranker: features, sparse or dense, to hidden layers, to one score a label."""

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from luce.rankers.neural.entries import Entries, dense
from luce.rankers.neural.network import ACTIVATIONS, OwnNetwork

BLOCK = 2**16
"""Labels whose first weights are drawn together, where a network has some of them."""


class FirstLayer(nn.Module):
    """x W + b for rows x, sparse or dense, with W (features, width); a sparse row costs only its nonzero entries."""

    def __init__(self, n_features: int, width: int):
        super().__init__()
        bound = 1 / math.sqrt(n_features)  # as nn.Linear begins
        self.weight = nn.Parameter(torch.empty(n_features, width).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(width).uniform_(-bound, bound))

    def forward(self, rows: Tensor | Entries) -> Tensor:
        if isinstance(rows, Tensor):
            return torch.addmm(self.bias, rows, self.weight)
        return self.bias + rows @ self.weight


class DenseRows(nn.Module):
    """The rows themselves, for a network without hidden layers: a linear map of the features."""

    def forward(self, rows: Tensor | Entries) -> Tensor:
        return dense(rows)


def _label_layer(width: int, n_labels: int, part: slice) -> nn.Linear:
    """The last layer of some labels; what the whole one begins with is drawn block by block."""
    some = range(n_labels)[part]
    if len(some) == n_labels:
        return nn.Linear(width, n_labels)
    layer, bound = nn.Linear(width, len(some), device="meta").to_empty(device="cpu"), 1 / math.sqrt(width)
    with torch.no_grad():
        for parameter in layer.parameters():
            for start in range(0, n_labels, BLOCK):
                block = range(start, min(start + BLOCK, n_labels))
                drawn = torch.empty(len(block), *parameter.shape[1:]).uniform_(-bound, bound)
                first, last = max(block.start, some.start), min(block.stop, some.stop)
                if first < last:
                    parameter[first - some.start : last - some.start] = drawn[first - start : last - start]
    return layer


class LabelNetwork(OwnNetwork):
    """Rows (B, F) in, scores (B, N) of all labels out, or of the labels that are asked for.

    With a `part` of the labels it has these alone, with the weights that the whole network would have begun with.

    >>> network = LabelNetwork(5, 7, hidden_layer_sizes=(3,))
    >>> network(torch.zeros(2, 5)).shape, network(torch.zeros(2, 5), torch.tensor([6, 0])).shape
    (torch.Size([2, 7]), torch.Size([2, 2]))
    """

    def __init__(
        self,
        n_features: int,
        n_labels: int,
        *,
        hidden_layer_sizes: Sequence[int],
        activation: str = "relu",
        dropout: float = 0.0,
        part: slice = slice(None),
    ):
        super().__init__()
        self.dropout = dropout
        layers: list[nn.Module] = []
        self.first: nn.Module = DenseRows()
        if hidden_layer_sizes:
            self.first = FirstLayer(n_features, hidden_layer_sizes[0])
            layers = [ACTIVATIONS[activation](), nn.Dropout(dropout)]
        for before, after in pairwise(hidden_layer_sizes):
            layers += [nn.Linear(before, after), ACTIVATIONS[activation](), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*layers)
        self.out = _label_layer(hidden_layer_sizes[-1] if hidden_layer_sizes else n_features, n_labels, part)

    def hidden(self, rows: Tensor | Entries) -> Tensor:
        """What the last layer sees, (B, width)."""
        return self.layers(self.first(rows))

    def forward(self, rows: Tensor | Entries, labels: Tensor | slice | None = None) -> Tensor:
        return self.scores(self.hidden(rows), labels)

    def scores(self, hidden: Tensor, labels: Tensor | slice | None = None) -> Tensor:
        """The scores of all labels, or of some."""
        if labels is None:
            return self.out(hidden)
        return nn.functional.linear(hidden, self.out.weight[labels], self.out.bias[labels])
