"""Cross-entropy between targets made of the labels of a list and the softmax of its scores (ListNet and others).

For a list with targets t, of any sum: loss = Σ_i t_i (lse(s) − s_i); with π = softmax(s) the gradient is (Σ t) π − t
and the second derivative (Σ t) π (1 − π). Item weights multiply the targets; an item whose label is NaN is left out.
"""
