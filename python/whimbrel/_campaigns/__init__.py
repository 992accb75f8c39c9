"""Many runs: their records, their repetitions, and who makes them."""
