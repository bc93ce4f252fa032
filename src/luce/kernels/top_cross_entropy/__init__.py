"""Cross-entropy between the Plackett-Luce probabilities of the first k places, of labels and of scores (ListNet).

With p = softmax(labels) over a set A of items, H_1(A) = −Σ_i p_i log softmax(scores)_i and
H_k(A) = H_1(A) + Σ_i p_i H_{k−1}(A without i). The second places cost O(n) as the first do: the sums over A without i
are those over A less one term, and those without the highest are summed apart, so that nothing cancels.
"""
