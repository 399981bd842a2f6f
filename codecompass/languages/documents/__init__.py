"""Documents, notebooks and styles."""
