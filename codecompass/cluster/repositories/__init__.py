"""What an organisation has: the documents of its repositories, what was asked of each, who may change it, what is published."""
