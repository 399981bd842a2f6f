"""Requests and replies as the command line and the server share them: Structs, decoding of arguments, JSON."""
