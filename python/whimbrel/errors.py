"""What can go wrong in a way that its reader can mend."""

from __future__ import annotations


class WhimbrelError(Exception):
    """Base of every error Whimbrel raises on purpose.

    The command prints the message and ends with `exit_code`; only other exceptions show a traceback.
    """

    exit_code = 1


class UsageError(WhimbrelError):
    """The command line names something that does not exist; the message says what does."""

    exit_code = 2


class ScenarioError(WhimbrelError):
    """A scenario cannot be read or applied; the message names the file and the key."""


class StatisticsError(WhimbrelError, ValueError):
    """Numbers that no interval can be made of, such as an empty sample or a NaN."""


class RecordError(WhimbrelError):
    """A stored run is damaged, or is not the run its name says."""


class CampaignError(WhimbrelError):
    """A campaign stopped before its end; everything that had finished is kept."""


class CampaignInterrupted(CampaignError):  # noqa: N818 - an interruption is not an error of anybody
    """Ctrl-C; running the same command again carries on.

    Attributes:
        abandoned: runs are still under way in threads that nobody waits for any more.
    """

    exit_code = 130

    def __init__(self, message: str, *, abandoned: bool = False) -> None:
        super().__init__(message)
        self.abandoned = abandoned


class SchedulerLost(CampaignError):  # noqa: N818 - a state of affairs
    """Whoever made the runs has gone in the middle of a campaign."""


class MediaError(WhimbrelError):
    """A clip cannot be had, or ffmpeg refused its input."""


class PaperError(WhimbrelError):
    """A paper's folder is incomplete, or its numbers do not fit its items."""
