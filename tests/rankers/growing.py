"""Small tree rankers, and a look at what they do while they grow."""

import pytest

from luce.rankers import TreeRanker
from luce.rankers.trees import learner as learner_module


def quick(objective="listmle", **settings):
    base = {"n_estimators": 20, "num_leaves": 8, "min_child_samples": 10, "validation_fraction": None, "n_jobs": 1}
    return TreeRanker(objective, **{**base, **settings})


def learner_of(ranker, dataset, **more):
    """The learner of a fit, as it is in the end."""
    seen = []
    whole = learner_module.TreeLearner.__init__

    def watched(self, *arguments):
        seen.append(self)
        whole(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learner_module.TreeLearner, "__init__", watched)
        ranker.fit(dataset, **more)
    return seen[0]
