"""Which grade an item has: the softmax of its scores, one for each grade (McRank); NaN labels are left out.

With π_i = softmax of the scores (N, grades) of item i: loss = −Σ_i w_i log π_i[y_i], gradient (N, grades)
w (π − one-hot y), second derivative w π (1 − π). A list with a label that is no grade has loss NaN.
"""
