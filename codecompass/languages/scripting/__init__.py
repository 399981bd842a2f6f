"""Languages whose files are run as they are: Python, Ruby, PHP, Perl, Lua, and those of mathematics and editors."""
