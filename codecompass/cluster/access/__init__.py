"""Who asks, and what they may see: tokens, proxies, identity providers, and the limits of each."""
