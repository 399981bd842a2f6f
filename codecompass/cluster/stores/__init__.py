"""Code hosts: which repositories an organisation, group or user has there, by the REST interface of each kind of host."""
