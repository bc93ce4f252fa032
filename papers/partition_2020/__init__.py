"""Learning to rank with partitioned preference (2020): the simulation and the tables of multi-label datasets."""
