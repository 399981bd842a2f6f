"""Search quality against truth that nobody of this project made: `python -m bench.quality --trees DIR --truth DIR`."""
