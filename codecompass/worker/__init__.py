"""The worker process: reads, classifies, chunks and parses files outside the server.

Parsing holds the GIL and cannot be interrupted, so it runs in a process that can be killed. A worker imports neither trio nor
tantivy nor SQLite; it speaks length-prefixed msgpack over its stdin and stdout (`messages.py`).
"""
