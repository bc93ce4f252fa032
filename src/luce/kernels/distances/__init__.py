"""Squared and cosine distance between the scores of a list and targets made of its labels; NaN labels are left out.

Squared: loss = Σ_i w_i (s_i − t_i)². Cosine: ½ (1 − ⟨t, s⟩ / ‖s‖), lists with fewer than two items being left out;
where all scores are 0, as they are before the first step of a linear model, the cosine is taken as 0 and the gradient
as −½ t, which points to where it rises.
"""
