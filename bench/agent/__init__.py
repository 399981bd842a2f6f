"""What an agent gets: answers to the tasks of the truth, and freshness after edits, over MCP, beside scripted ripgrep."""
