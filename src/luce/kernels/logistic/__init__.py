"""The logistic loss of each item alone: is its label above 0? An item whose label is NaN is left out.

For a list: loss = Σ_i w_i (log(1 + e^{s_i}) − t_i s_i), t = 1 where the label is above 0, else 0; gradient
w (σ(s) − t), second derivative w σ(s) (1 − σ(s)).
"""
