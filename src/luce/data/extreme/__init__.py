"""Rows tagged with the relevant few of many labels: the data of extreme classification, and its text format."""

from luce.data.extreme.reader import read_tagged as read_tagged
from luce.data.extreme.tagged import TaggedData as TaggedData
from luce.data.extreme.writer import write_tagged as write_tagged
