"""Learning to rank with partitioned preference, 2020: the simulation and the tagging tables."""
