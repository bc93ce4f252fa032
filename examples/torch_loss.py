"""Train a network with the partition likelihood in a plain PyTorch loop: flat rows, no padding."""

import numpy as np
import torch

import luce
import luce.torch
from luce.data import apply_transforms, fit_transforms
from luce.data.synthetic import web_search

torch.manual_seed(0)
torch.set_num_threads(2)
train, test = (web_search(300, n_features=40, mean_length=30, seed=seed).dataset for seed in (1, 2))
chain = fit_transforms(["fill", "standardize"], train)
X, X_test = (torch.from_numpy(apply_transforms(chain, data.features, data.offsets)) for data in (train, test))

network = torch.nn.Sequential(torch.nn.Linear(40, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)


def ndcg() -> float:
    with torch.no_grad():
        return luce.evaluate(network(X_test)[:, 0].numpy(), test, "ndcg@10").means["ndcg@10"]


before = ndcg()
for epoch in range(15):
    for lists in np.array_split(np.random.default_rng(epoch).permutation(train.n_lists), 10):
        rows = np.concatenate([np.arange(train.offsets[q], train.offsets[q + 1]) for q in lists])
        offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(train.sizes[lists])]))
        optimizer.zero_grad()
        scores = network(X[rows])[:, 0]
        luce.torch.loss("pl-partition", scores, torch.from_numpy(train.labels[rows]), offsets).backward()
        optimizer.step()
after = ndcg()
print(f"NDCG@10 on unseen lists: {before:.4f} before training, {after:.4f} after")
