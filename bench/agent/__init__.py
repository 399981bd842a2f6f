"""What an agent gets over MCP, compared with scripted ripgrep: answers to the tasks of the truth, and freshness after edits."""
