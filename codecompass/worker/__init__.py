"""The worker process: reads, classifies, chunks and parses files outside the server.

Parsing holds the GIL and cannot be interrupted, so it happens where it can be killed. A worker knows nothing of trio,
tantivy or SQLite; it speaks length-prefixed msgpack over its stdin and stdout (`messages.py`).
"""
