"""Commands about an organisation's code; nothing here is imported before one of them runs."""
