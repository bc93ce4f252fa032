"""Mutated files for every reader, read in processes of their own."""
