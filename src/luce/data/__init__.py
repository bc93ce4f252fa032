"""Data: files, tables and arrays become one frozen dataset of ragged lists."""

from luce.data.concatenation import concatenate as concatenate
from luce.data.formats import FORMATS as FORMATS
from luce.data.formats import format_of as format_of
from luce.data.formats import read as read
from luce.data.formats import write as write
from luce.data.grouping import group_rows as group_rows
from luce.data.in_memory import from_arrays as from_arrays
from luce.data.ragged import Dataset as Dataset
from luce.data.splits import parts as parts
from luce.data.splits import rotations as rotations
from luce.data.splits import split as split
from luce.data.tables import from_table as from_table
from luce.data.transforms import TRANSFORMS as TRANSFORMS
from luce.data.transforms import apply_transforms as apply_transforms
from luce.data.transforms import fit_transforms as fit_transforms
from luce.data.trec import read_run as read_run
from luce.data.trec import write_run as write_run
