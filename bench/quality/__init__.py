"""Search quality against independent truth: `python -m bench.quality --trees DIR --truth DIR`."""
