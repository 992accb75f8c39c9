"""Whimbrel."""
