"""Languages that describe circuits."""
