"""Many runs: their records, their repetitions, and their schedulers."""
