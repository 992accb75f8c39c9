"""The `whimbrel` command.

Six commands are written in Python and imported on demand; all others belong to the compiled part, which also
exists as a program of the same name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Sequence

from whimbrel._base import texts
from whimbrel.errors import CampaignInterrupted, WhimbrelError

_MOST_CHARACTERS = 2_000
"""The longest message of an error."""

_PYTHON_COMMANDS = ("reproduce", "sweep", "report", "compare", "quality", "testbed", "examples")

_HELP = """\
whimbrel - congestion-controlled datagrams for live media, and a laboratory to evaluate them

  whimbrel COMMAND --help        every command, explained with an example

on a real path
  perf server                    wait for measurements
  perf client HOST               measure like iperf: DCCP, TCP, UDP
  key generate|show|secret       make the keys by which two ends trust each other
  relay connect|listen           carry many programs' datagrams, such as RTP, encrypted
  pipe connect|listen            pass standard input to another host
  carry send|receive             carry another program's datagrams, such as a camera's video
  record HOST                    measure a path into traces that scenarios replay
  inspect FILE.pcap              explain the DCCP connections of a capture
  capacity FILE.pcapng           estimate 802.11 channels from a capture in monitor mode
  fit FILE.pcap                  fit loss models to the losses of a capture
  schedule FILE                  convert a video or a capture to a schedule of datagrams
  classify FILE.csv              classify losses: congestion or radio

predict
  testbed coffee-walk            stream to a phone that changes networks, with real programs
  model handover                 predict the cost of a handover for TFRC
  quality voice|video [FILE]     estimate the quality of a call or a video (MOS)

experiment
  run SCENARIO.toml              simulate a scenario, faster than real time
  emulate SCENARIO.toml          run real programs across a scenario's network, in real time
  sweep SCENARIO.toml            run its [sweep] until the intervals are narrow; resumes
  reproduce [PAPER [ITEM...]]    reproduce a paper's tables and figures
  compare A B                    what changed between two results beyond chance
  report DIR                     rebuild tables, figures and the HTML report
  schema                         print the JSON schema of scenarios
  examples                       list the packaged examples, or copy them (--copy)
  completion SHELL               print a completion script (bash, zsh, fish)
  man                            print a manual page

options
  --version                      print the version
  --json                         machine-readable output, in every command

for example
  whimbrel run examples/scenarios/wb.toml --seed 7 --set link.backbone.rate=1Mbit/s
  whimbrel reproduce lda table2 --quick && xdg-open out/index.html
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        arguments: everything after the program's name; those of this process when None.

    Returns:
        The exit status: 0, 1 for a failure, 2 for a wrong command line, 130 after Ctrl-C.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    texts.make_printable()
    try:
        return _dispatch(given)
    except CampaignInterrupted as stop:
        _complain(stop)
        if stop.abandoned:
            # Simulation threads may still run; their results are not needed, and records are written
            # atomically.
            os._exit(stop.exit_code)
        return stop.exit_code
    except WhimbrelError as error:
        _complain(error)
        return error.exit_code
    except KeyboardInterrupt:
        print("whimbrel: interrupted", file=sys.stderr)
        return CampaignInterrupted.exit_code
    except BrokenPipeError:
        # The reader has closed the pipe, as `head` does: no failure. Python would report it again at exit.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # A full disk or a read-only directory: an expected error that needs no traceback.
        print(f"whimbrel: {_what_failed(error)}", file=sys.stderr)
        return 1


def _what_failed(error: OSError) -> str:
    """Describes the failed file operation, and the remedy if the disk is full."""
    what = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"{what}; finished runs are kept: free some space and run the same command again"
    return what


def _dispatch(arguments: list[str]) -> int:
    command = arguments[0] if arguments else "--help"
    if command in ("-h", "--help", "help") and len(arguments) <= 1:
        print(_HELP, end="")
        return 0
    if command == "help":
        return _dispatch([arguments[1], "--help"])
    from whimbrel._base import compiled

    if command in ("-V", "--version"):
        print(f"whimbrel {compiled.version()}")
        return 0
    if command in _PYTHON_COMMANDS:
        from whimbrel._command import commands

        return int(getattr(commands, command)(arguments[1:]))
    return int(compiled.core().cli([*arguments, *_supplied(command, arguments)]))


def _supplied(command: str, arguments: Sequence[str]) -> list[str]:
    """What the compiled part cannot know: the commands written in Python, and the ffmpeg of the package."""
    if command in ("completion", "man"):
        from whimbrel._command import command_tree, commands

        known = {name: getattr(commands, name) for name in _PYTHON_COMMANDS}
        return [f"--commands={command_tree.described(known)}"]
    if command == "schedule" and not any(word.partition("=")[0] == "--ffmpeg" for word in arguments):
        from whimbrel._base import extras

        if extras.is_installed("imageio_ffmpeg"):
            from whimbrel.quality import ffmpeg

            return [f"--ffmpeg={ffmpeg.executable()}"]
    return []


def _complain(error: WhimbrelError) -> None:
    message = str(error)
    if len(message) > _MOST_CHARACTERS:
        # It may quote a file.
        message = f"{message[:_MOST_CHARACTERS]}... ({len(message) - _MOST_CHARACTERS} characters more)"
    print(f"whimbrel: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
