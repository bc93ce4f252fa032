"""Loads files one after the other in a process of its own, where what they run, write and hold can be seen.

`python loading.py FOLDER`: lists in data.luce-data, and by kind of ranker or training, KIND/whole and KIND/damaged/*.
"""

import json
import resource
import sys
import warnings
from pathlib import Path

import numpy as np

import luce
from luce.errors import LuceError
from luce.rankers import Checkpoint, LinearRanker, NeuralRanker, TreeRanker

MEMORY = 4 * 2**30
"""Bytes that the process may ask for in all: what tries to fill the memory of a machine fails here."""

small = {"hidden": (4,), "epochs": 2, "lists_per_batch": 4, "device": "cpu", "n_jobs": 1}
TRAININGS = {
    "lbfgs": LinearRanker(max_iterations=3, n_jobs=1),
    "descent": LinearRanker(optimiser="gradient-descent", max_iterations=2, lists_per_batch=4, n_jobs=1),
    "boosting": TreeRanker("pairties-davidson", trees=2, leaves=3, min_rows_in_leaf=2, n_jobs=1),
    "adam": NeuralRanker("pairties-davidson", normalisation="batch", **small),
}
"""What the checkpoints are of."""

SUSPICIOUS = ("exec", "compile", "import", "os.", "subprocess.", "socket.", "shutil.", "pickle.", "marshal.", "ctypes.")
events: list[str] | None = None


def watch(event, arguments):
    """Notes what runs code or changes a file."""
    if events is None:
        return
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if writes or event.startswith(SUSPICIOUS):
        events.append(f"{event} {arguments!r}")


def outcome(path, kind, data):
    """The scores as text, "refused", or what went wrong."""
    try:
        if kind in TRAININGS:
            ranker = TRAININGS[kind].fit(data, validation=data, checkpoint=Checkpoint(path, resume=True))
        else:
            ranker = luce.load(path)
        scores = ranker.predict(data)
    except LuceError:
        return "refused"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:300]
    right = scores.shape == (data.n_rows,) and np.isfinite(scores).all()
    return f"scores {scores.tobytes().hex()}" if right else f"wrong {scores}"


def peak_megabytes():
    """The most memory that this process has held."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def main(folder):
    global events
    warnings.simplefilter("error")
    data = luce.read(folder / "data.luce-data")
    TRAININGS["adam"].fit(data)  # what PyTorch loads for its first step is loaded before anyone watches
    whole = {path.parent.name: outcome(path, path.parent.name, data) for path in sorted(folder.glob("*/whole"))}
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.addaudithook(watch)
    before = peak_megabytes()
    damaged, seen = {}, []
    for path in sorted(folder.glob("*/damaged/*")):
        kind = path.parent.parent.name
        events = []
        damaged[f"{kind}/{path.name}"] = outcome(path, kind, data)
        # A training goes on to write its checkpoint; LightGBM is called through ctypes; PyTorch names its types.
        seen += [
            f"{path}: {event}"
            for event in events
            if not (kind in TRAININGS and str(path.parent) in event)
            and not (kind in ("trees", "boosting") and event.startswith("ctypes."))
            and not event.startswith("compile (b'torch.classes.")
        ]
        events = None
    growth = peak_megabytes() - before
    print(json.dumps({"whole": whole, "damaged": damaged, "events": seen, "megabytes": growth}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
