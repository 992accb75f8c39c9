"""Base of every room: text files, optional dependencies, the compiled part, the terminal."""
