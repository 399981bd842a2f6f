"""The servers: they copy what is published and answer from it."""
