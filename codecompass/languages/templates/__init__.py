"""Templates, and strings, that hold code of another language."""
