"""Requests to services that the user names: their addresses and keys, one HTTP client, one circuit breaker."""
