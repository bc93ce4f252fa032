"""Rankings for rank aggregation: orders, ties, top-k, pairs and choices in one frozen, ragged set."""

from luce.data.rankings.connectivity import Connectivity as Connectivity
from luce.data.rankings.partial_orders import ordered_partition as ordered_partition
from luce.data.rankings.rankings import Rankings as Rankings
