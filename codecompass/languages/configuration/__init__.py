"""Configuration and infrastructure."""
