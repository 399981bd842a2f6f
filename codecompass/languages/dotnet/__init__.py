"""C# and F#."""
