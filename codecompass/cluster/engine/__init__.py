"""The search engine, which keeps what an organisation's programs share: its client, its indexes, and what its answers mean."""
