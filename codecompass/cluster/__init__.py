"""Indexes of an organisation's repositories in OpenSearch: any number of workers write them, any number of servers read them."""
