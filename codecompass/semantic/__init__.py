"""Search by meaning with embeddings from a configured endpoint: what is sent there, how, and how rankings are fused.

This package's own import is cheap. Vectors are stored by `store/vectors.py`; `actors/` decides when something is sent.
"""
