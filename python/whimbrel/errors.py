"""Errors that the user can correct, and the form of text that they quote."""

from __future__ import annotations

import re

# Control characters except line ends and tabs, and characters that change the direction or the lines of the
# text around them: the same as of the compiled part.
_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text without characters that a terminal obeys.

    The method uses JSON's escapes, so that JSON remains JSON.
    """
    return _COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class WhimbrelError(Exception):
    """Base of every error Whimbrel raises on purpose.

    The command prints the message and ends with `exit_code`; only other exceptions show a traceback.
    """

    exit_code = 1

    def __str__(self) -> str:
        # A message may quote a file, and a traceback prints it as well.
        return printable(super().__str__())


class UsageError(WhimbrelError):
    """The command line is wrong, or names a choice that does not exist; the message lists the choices."""

    exit_code = 2


class MissingExtra(WhimbrelError, ImportError):  # noqa: N818 - a state of the installation
    """An optional dependency is not installed; the message names the extra that installs it."""

    exit_code = 2


class InputError(WhimbrelError):
    """An input file or directory does not exist or cannot be read."""


class OutputError(WhimbrelError):
    """A directory of results cannot be written, or another command writes there."""


class ScenarioError(WhimbrelError):
    """A scenario cannot be read or applied; the message names the file and the key."""


class StatisticsError(WhimbrelError, ValueError):
    """Numbers without an interval, such as an empty sample or a NaN."""


class SmallSampleWarning(UserWarning):
    """A normal interval of so few values that it is clearly too narrow."""


class RecordError(WhimbrelError):
    """A stored run is damaged, or does not match its name."""


class CampaignError(WhimbrelError):
    """A campaign stopped before its end; everything that had finished is kept."""


class CampaignInterrupted(CampaignError):  # noqa: N818 - an interruption is not an error of anybody
    """Ctrl-C; the same command resumes.

    Attributes:
        abandoned: runs are still in progress in threads whose results are no longer needed.
    """

    exit_code = 130

    def __init__(self, message: str, *, abandoned: bool = False) -> None:
        super().__init__(message)
        self.abandoned = abandoned


class SchedulerLost(CampaignError):  # noqa: N818 - a state of affairs
    """The scheduler vanished in the middle of a campaign."""


class MediaError(WhimbrelError):
    """A clip is not available, or ffmpeg refused its input."""


class PaperError(WhimbrelError):
    """A paper's folder is incomplete, or its numbers do not match its items."""
