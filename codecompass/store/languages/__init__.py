"""The languages whose symbols are known: one module a language, found here by name, extension or interpreter.

A module is loaded only when a file of its language is met, so that a worker pays for the grammars that it uses.
"""
