"""What an agent gets: the tasks of the truth and freshness after edits, asked through MCP, beside scripted ripgrep."""
