"""The commands written in Python."""
