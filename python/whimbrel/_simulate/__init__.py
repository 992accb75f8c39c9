"""Scenarios, one run of the simulator, and its result."""
