"""A discounted sum of gains at smooth ranks: each pair counts by a sigmoid instead of a comparison.

The rank of item i is r_i = 1 + Σ_{j≠i} σ((s_j − s_i) / τ), τ the temperature; the value of a list is Σ_i G_i d(r_i),
d(r) = 1 / log₂(1 + r). With c_i = −G_i d'(r_i) = G_i ln 2 / ((1 + r_i) ln²(1 + r_i)), its derivative in s_k is
Σ_j (c_k − c_j) σ'((s_j − s_k) / τ) / τ. Items without gain need no rank: with m others among n it takes O(m n).
"""
