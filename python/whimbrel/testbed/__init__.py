"""Experiments with real programs across an emulated network (`whimbrel testbed`)."""
