"""The checkpoint of a training on several ranks: rank 0 saves it, and all resume from it."""

import numpy as np
import pytest

from luce.distributed import current_group
from luce.rankers.checkpoint import Checkpoint, shared

from ..ranks import on_ranks

pytestmark = pytest.mark.multiprocess


def saved_and_loaded(path, value):
    checkpointer = shared(Checkpoint(path, steps=2, resume=True), current_group())
    before, due = checkpointer.load(), [checkpointer.due(1), checkpointer.due(2)]
    checkpointer.save({"round": value}, {"weights": np.full(3, value)})
    progress, arrays = checkpointer.load()
    return before, due, progress, arrays["weights"].tolist()


def test_all_ranks_resume_from_what_rank_0_saved(tmp_path):
    folders = [tmp_path / "0", tmp_path / "1"]
    for folder in folders:
        folder.mkdir()
    found = on_ranks(saved_and_loaded, [folder / "checkpoint" for folder in folders], [7, 8])
    assert found == [(None, [False, due], {"round": 7}, [7, 7, 7]) for due in (True, False)]
    assert [list(folder.iterdir()) for folder in folders] == [[folders[0] / "checkpoint"], []]
