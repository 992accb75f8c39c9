"""Papers and sweeps: their plans, sheets, claims and files."""
