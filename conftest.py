"""Compiled kernels are kept by the text of all kernels: numba does not notice a change in a function it calls."""

import hashlib
import os
import shutil
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent
kernels = [
    file.read_bytes()
    for file in sorted((ROOT / "src").rglob("*.py"))
    if b"numba" in file.read_bytes() or b"luce.compiled" in file.read_bytes()
]
cache = ROOT / ".numba_cache" / hashlib.sha256(b"".join(kernels)).hexdigest()[:16]
for old in cache.parent.glob("*"):
    if old != cache:
        shutil.rmtree(old, ignore_errors=True)
os.environ["NUMBA_CACHE_DIR"] = str(cache)

# Triton's kernels are looked at for examples only where Triton is.
collect_ignore_glob = [] if find_spec("triton") else ["src/luce/kernels/*/gpu*.py"]
