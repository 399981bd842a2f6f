"""Languages that are compiled to machine code or to contracts, with types that are declared."""
