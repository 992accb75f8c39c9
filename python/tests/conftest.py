"""Settings of the whole test suite."""

from hypothesis import settings

# No deadline: the machines that run this are shared. Derandomised: a red run is red again.
settings.register_profile("whimbrel", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("whimbrel")
