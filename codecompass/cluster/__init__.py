"""An organisation's code on OpenSearch: many repositories, machines and readers behind one address."""
