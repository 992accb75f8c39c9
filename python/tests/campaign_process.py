"""A campaign to be killed: `python campaign_process.py DIRECTORY RUNS`."""

import sys
from pathlib import Path

import runs

from whimbrel.campaign import Campaign, Case
from whimbrel.errors import CampaignInterrupted
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision


def main() -> int:
    """Runs the campaign and prints the mean, or how it was stopped."""
    campaign = Campaign(
        Path(sys.argv[1]), run=runs.slow, engine="test", precision=Precision.exactly(int(sys.argv[2])), jobs=2
    )
    case = Case(
        "only", Scenario({"mean": 5.0, "spread": 1.0}), lambda result: {"m": result.flows["goodput_bps"][0]}
    )
    try:
        print(campaign.execute([case])["only"].values["m"].tolist())
    except CampaignInterrupted as stop:
        print(stop)
        return stop.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
