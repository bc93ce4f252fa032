"""EXPORTS, the one table of the formats."""

from luce.exports.elasticsearch import ELASTICSEARCH, OPENSEARCH
from luce.exports.elasticsearch_native import ELASTICSEARCH_NATIVE
from luce.exports.lightgbm import LIGHTGBM, TREELITE
from luce.exports.onnx import ONNX
from luce.exports.ranklib import RANKLIB
from luce.exports.record import Export
from luce.exports.solr import SOLR
from luce.exports.vespa import VESPA

EXPORTS: dict[str, Export] = {
    export.name: export
    for export in (ELASTICSEARCH, OPENSEARCH, ELASTICSEARCH_NATIVE, SOLR, VESPA, RANKLIB, ONNX, LIGHTGBM, TREELITE)
}
"""The formats by name."""
