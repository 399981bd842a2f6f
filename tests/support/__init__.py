"""What several test modules need: trees on disk, an index of them, and a view of an index that can be compared."""
