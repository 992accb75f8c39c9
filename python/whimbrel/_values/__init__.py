"""Numbers without a simulation: tables, sheets, intervals, comparisons."""
