"""Compiled computations, a folder each: interface in `__init__`, plain formula in `reference`, numba in `cpu`."""
