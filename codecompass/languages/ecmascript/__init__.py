"""JavaScript and TypeScript, and the components of pages that are written in them."""
