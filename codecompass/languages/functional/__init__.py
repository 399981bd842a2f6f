"""Functional languages, Lisps and Nix."""
