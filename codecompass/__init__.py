"""CodeCompass: code search and navigation for agents and people."""

__version__ = "0.1.0"
