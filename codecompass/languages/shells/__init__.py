"""Languages of shells."""
