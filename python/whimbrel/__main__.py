"""The `whimbrel` command.

Four commands are written in Python and imported when they are asked for; all others belong to the
compiled part, which also exists as a program of the same name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Sequence

from whimbrel.errors import CampaignInterrupted, WhimbrelError

_PYTHON_COMMANDS = ("reproduce", "sweep", "report", "quality")

_HELP = """\
whimbrel - congestion-controlled datagrams for live media, and a laboratory to judge them in

  whimbrel COMMAND --help        every command, explained with an example

measure a real path
  perf server                    wait for measurements
  perf client HOST               measure like iperf: DCCP, TCP, UDP
  inspect FILE.pcap              explain the DCCP connections of a capture
  classify FILE.csv              was it congestion or the radio that lost these packets?

predict
  model handover                 what a handover costs TFRC, by equations
  quality voice|video [FILE]     what people would think of a call or a video (MOS)

experiment
  run SCENARIO.toml              simulate a scenario, faster than real time
  sweep SCENARIO.toml            its [sweep], repeated until the result is certain; resumes
  reproduce [PAPER [ITEM...]]    a paper's tables and figures beside what it printed
  report DIR                     make tables, figures and the HTML report anew
  schema                         the JSON schema of scenarios

options
  --version                      print the version
  --json                         machine-readable output, in every command

for example
  whimbrel run examples/lossy_link.toml --seed 7 --set link.radio.rate=2Mbit/s
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
    try:
        return _dispatch(given)
    except CampaignInterrupted as stop:
        _complain(stop)
        if stop.abandoned:
            # Threads still simulate; nobody wants their results, and records are never half written.
            os._exit(stop.exit_code)
        return stop.exit_code
    except WhimbrelError as error:
        _complain(error)
        return error.exit_code
    except KeyboardInterrupt:
        return CampaignInterrupted.exit_code
    except BrokenPipeError:
        # The reader has gone, as with `| head`; Python would complain again while it ends.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        # A disk that is full, a directory that may not be written: nothing that a traceback would explain.
        print(f"whimbrel: {_what_failed(error)}", file=sys.stderr)
        return 1


def _what_failed(error: OSError) -> str:
    """What could not be read or written, and what to do where there is no room."""
    what = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"{what}; finished runs are kept: make room and run the same command again"
    return what


def _dispatch(arguments: list[str]) -> int:
    command = arguments[0] if arguments else "--help"
    if command in ("-h", "--help", "help") and len(arguments) <= 1:
        print(_HELP, end="")
        return 0
    if command == "help":
        return _dispatch([arguments[1], "--help"])
    from whimbrel import simulation

    if command in ("-V", "--version"):
        print(f"whimbrel {simulation.version()}")
        return 0
    if command in _PYTHON_COMMANDS:
        from whimbrel import commands

        return int(getattr(commands, command)(arguments[1:]))
    return int(simulation.core().cli(arguments))


def _complain(error: WhimbrelError) -> None:
    print(f"whimbrel: {error}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
