"""Schemas and interfaces, and SQL."""
