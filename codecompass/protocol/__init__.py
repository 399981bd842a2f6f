"""Requests and replies, shared by the command line and the server: Structs, decoding of arguments, JSON and text."""
