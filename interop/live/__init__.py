"""Live video over bad paths: real programs side by side, across emulated networks (`make live`)."""
