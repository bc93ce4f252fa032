"""RankLib: trees in the XML of its LambdaMART models, which the Learning to Rank plugins read too."""

from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats
from luce.exports.decision_trees import at_most, decision_trees, missing_is_zero
from luce.exports.parts import refused
from luce.exports.record import Export, Rows, in_float32
from luce.exports.walking import float32, reached_leaves


def _write(ranker: Any, name: str) -> bytes:
    """The model file: what RankLib was trained with as comments, then the trees; features are numbered from 1."""
    trees = decision_trees(ranker, "ranklib")
    if not missing_is_zero(trees):
        raise refused(
            "ranklib",
            "its trees send missing values elsewhere than 0, and RankLib has no missing values",
            "Train on data in which 0 stands for what is missing, or use --to elasticsearch or opensearch.",
        )
    ensemble = ElementTree.Element("ensemble")
    for number, tree in enumerate(trees, 1):
        thresholds = at_most(tree.threshold).tolist()

        def split(tree: Any, place: int, left: Any, right: Any, thresholds: Any = thresholds) -> Any:
            left.set("pos", "left")
            right.set("pos", "right")
            node = ElementTree.Element("split")
            ElementTree.SubElement(node, "feature").text = f" {tree.feature[place] + 1} "
            ElementTree.SubElement(node, "threshold").text = f" {thresholds[place]!r} "
            node.extend([left, right])
            return node

        root = tree.nested(split, _leaf)
        ElementTree.SubElement(ensemble, "tree", id=str(number), weight="1.0").append(root)
    ElementTree.indent(ensemble, "\t")
    leaves = max(len(tree.value) for tree in trees)
    header = f"## LambdaMART\n## No. of trees = {len(trees)}\n## No. of leaves = {leaves}\n"
    return f"{header}\n{ElementTree.tostring(ensemble, encoding='unicode')}\n".encode()


def _leaf(_: int, value: float) -> ElementTree.Element:
    node = ElementTree.Element("split")
    ElementTree.SubElement(node, "output").text = f" {float(np.float32(value))!r} "
    return node


def _oracle(content: bytes, rows: Rows) -> Floats:
    """The scores by the rule of RankLib, in float32: left where x ≤ threshold; what is missing is 0.

    It follows Split.java and Ensemble.java (ciir.umass.edu.learning.tree), and DenseProgramaticDataPoint.java of
    o19s/elasticsearch-learning-to-rank for missing values.
    """
    xml = "\n".join(line for line in content.decode().splitlines() if not line.startswith("##"))
    trees = ElementTree.fromstring(xml).findall("tree")
    features = np.where(np.isnan(rows.features), np.float32(0), rows.features)

    def number(node: ElementTree.Element, name: str) -> str:
        return (node.findtext(name) or "").strip()

    def step(node: ElementTree.Element, features: NDArray[Any]) -> Any:
        if node.find("output") is not None:
            return float(float32(number(node, "output")))
        left, right = (node.find(f"split[@pos='{side}']") for side in ("left", "right"))
        return features[:, int(number(node, "feature")) - 1] <= float32(number(node, "threshold")), left, right

    weights = np.array([float(tree.attrib["weight"]) for tree in trees], dtype=np.float32)
    leaves = reached_leaves([tree.find("split") for tree in trees], features, step)
    return in_float32(leaves.astype(np.float32) * weights)


RANKLIB = Export(
    "ranklib",
    "RankLib, and the Learning to Rank plugins as model/ranklib",
    ".txt",
    ("trees", "ensemble"),
    _write,
    _oracle,
    in_float32,
)
