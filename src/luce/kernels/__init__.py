"""One folder per hard computation: contract in `__init__`, formula term by term in `reference`, numba in `cpu`."""
