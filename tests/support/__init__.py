"""Shared test support: trees on disk, indexes of them, and dumps of indexes for comparison."""
