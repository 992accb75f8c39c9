"""Run functions for the campaign tests; a module of its own so that other processes import it."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from whimbrel.result import Result
from whimbrel.scenario import Scenario


def noisy(scenario: Scenario, seed: int) -> Result:
    """A mean and a spread given in the scenario, from the seed alone."""
    random = np.random.default_rng([seed, len(scenario.text())])
    value = scenario.document["mean"] + scenario.document["spread"] * random.standard_normal()
    return Result({"flows": {"goodput_bps": np.array([value])}})


def slow(scenario: Scenario, seed: int) -> Result:
    """Takes a twentieth of a second; adds a line to the file named in the environment."""
    with Path(os.environ["WHIMBREL_TEST_LOG"]).open("a", encoding="ascii") as log:
        log.write(f"{seed}\n")
    time.sleep(0.05)
    return noisy(scenario, seed)


def patient(scenario: Scenario, seed: int) -> Result:
    """Takes a hundredth of a second; adds a line with process and seed to the file after `log to `.

    A plain file name in a scenario would make the file a part of it.
    """
    with Path(scenario.document["log"].removeprefix("log to ")).open("a", encoding="ascii") as log:
        log.write(f"{os.getpid()} {seed}\n")
    time.sleep(0.01)
    return noisy(scenario, seed)


def failing(scenario: Scenario, seed: int) -> Result:
    """Fails with the second seed, with an unexpected error, after the other runs."""
    time.sleep(0.5 if seed == 2 else 0)
    return noisy(scenario, 1 // (2 - seed) + seed)


def deadly(scenario: Scenario, seed: int) -> Result:
    """Kills its process."""
    os.kill(os.getpid(), signal.SIGKILL)
    return noisy(scenario, seed)
