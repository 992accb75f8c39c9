"""A campaign to be killed: `python campaign_process.py DIRECTORY RUNS [SCHEDULER]`."""

import os
import sys
from pathlib import Path

import runs

from whimbrel._campaigns import schedulers
from whimbrel._campaigns.campaign import Campaign, Case
from whimbrel.errors import CampaignInterrupted
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision


def main() -> int:
    """Runs the campaign and prints the mean, or the reason for stopping."""
    directory, count, *address = sys.argv[1:]
    document: dict[str, object] = {"mean": 5.0, "spread": 1.0}
    if address:
        # The workers have environments of their own.
        document["log"] = f"log to {os.environ['WHIMBREL_TEST_LOG']}"
    case = Case("only", Scenario(document), lambda result: {"m": result.flows["goodput_bps"][0]})
    try:
        with schedulers.opened(address[0] if address else "local", None if address else 2) as who:
            campaign = Campaign(
                Path(directory),
                run=runs.patient if address else runs.slow,
                engine="test",
                precision=Precision.exactly(int(count)),
                scheduler=who,
            )
            print(campaign.execute([case])["only"].values["m"].tolist())
    except CampaignInterrupted as stop:
        print(stop)
        return stop.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
