"""Measurements of CodeCompass: figures, never assertions. `python -m bench` runs them; none is in the wheel.

Machines are shared and noisy, so everything is measured several times (the median counts), in CPU seconds if that is more
meaningful than wall time, and together with another program or a floor in the same run, so that ratios can be compared between
machines.
"""
