"""Experiments: rankers and peers compared on the same lists with what each of them took, and settings searched."""
