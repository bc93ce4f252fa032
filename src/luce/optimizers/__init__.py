"""Optimizers: each takes a function or a learner and reports every iteration to its caller."""
