"""What every room stands on: text files, optional dependencies, the compiled part, the terminal."""
