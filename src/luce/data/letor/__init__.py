"""LETOR and SVMlight text: `label qid:7 1:0.5 3:2 #docid = GX1`, read on several threads and written back exactly."""

from luce.data.letor.reader import read_letor as read_letor
from luce.data.letor.writer import write_letor as write_letor
