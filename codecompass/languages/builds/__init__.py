"""Files that say how something is built."""
