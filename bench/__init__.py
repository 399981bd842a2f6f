"""Measurements of CodeCompass, as figures and never as assertions. `python -m bench` runs them; none is in the wheel.

Machines are shared and noisy: what is measured is taken several times (the median counts), in CPU seconds where that
says more than wall time, and beside another program or a floor in the same run, so that the ratio can be compared
between machines.
"""
