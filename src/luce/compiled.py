"""How every CPU kernel is compiled: cached on disk, without the interpreter lock, division by zero as NumPy has it."""

from numba import njit

compiled = njit(cache=True, nogil=True, error_model="numpy")
"""Decorator of a kernel. Threads come from `luce.threads`, never from numba, so a fork or a second thread is safe."""

summing = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
"""Decorator of a kernel whose sums may be taken in any order, so that they use vector registers.

A sum shares no loop with a store to another array: where two small arrays happen to lie side by side, the loop runs
item by item instead, which sums in another order, and the last bit would depend on addresses.
"""
