"""Rankers in the formats of search engines and other libraries: EXPORTS, the one table, each with its oracle."""

from luce.exports.check import Check as Check
from luce.exports.files import export as export
from luce.exports.files import prepare as prepare
from luce.exports.formats import EXPORTS as EXPORTS
