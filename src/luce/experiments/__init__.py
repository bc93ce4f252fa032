"""Experiments: rankers and peers compared on the same lists, and parameters tuned."""
