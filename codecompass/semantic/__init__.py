"""Search by meaning, for those who name an endpoint that makes embeddings: what is sent there, how, and how ranks are fused.

Imports nothing heavy by itself. The vectors lie in `store/vectors.py`; `actors/` decides when something is sent.
"""
