"""The `whimbrel` command.

Some commands are written in Python and imported on demand; all others belong to the compiled part, which also
exists as a program of the same name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Sequence

from whimbrel._base import compiled, extras, ffmpeg, texts
from whimbrel._command import command_tree, verbs
from whimbrel.errors import CampaignInterrupted, WhimbrelError

_MOST_CHARACTERS = 2_000
"""The longest message of an error."""

_HELP = """\
whimbrel - carries live video and telemetry over bad networks, and shows why a stream froze

{commands}
each explains itself with examples (whimbrel COMMAND --help), and prints JSON with --json

for example
  whimbrel run examples/scenarios/wb.toml --seed 7 --set link.backbone.rate=1Mbit/s
  whimbrel reproduce lda table2 --quick && xdg-open out/index.html
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        arguments: everything after the program's name; this process's arguments when None.

    Returns:
        The exit status: 0, 1 for a failure, 2 for a wrong command line, 130 after Ctrl-C.
    """
    with texts.printable_streams():
        return _run(list(sys.argv[1:] if arguments is None else arguments))


def _run(given: list[str]) -> int:
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
        print(_HELP.format(commands=verbs.overview()), end="")
        return 0
    if command == "help":
        return _dispatch([arguments[1], "--help"])
    if command in ("-V", "--version"):
        print(f"whimbrel {compiled.version()}")
        return 0
    if command in verbs.PYTHON:
        return verbs.python_command(command)(arguments[1:])
    return int(compiled.core().cli([*arguments, *_supplied(command, arguments)]))


def _supplied(command: str, arguments: Sequence[str]) -> list[str]:
    """Facts for the compiled part: the commands written in Python, and the ffmpeg of the package."""
    if command in ("completion", "man"):
        known = {name: verbs.python_command(name) for name in verbs.PYTHON}
        return [f"--commands={command_tree.described(known)}"]
    names_ffmpeg = any(word.partition("=")[0] == "--ffmpeg" for word in arguments)
    if command == "schedule" and not names_ffmpeg and extras.is_installed("imageio_ffmpeg"):
        return [f"--ffmpeg={ffmpeg.executable()}"]
    return []


def _complain(error: WhimbrelError) -> None:
    message = str(error)
    if len(message) > _MOST_CHARACTERS:
        # The message may quote a file.
        message = f"{message[:_MOST_CHARACTERS]}... ({len(message) - _MOST_CHARACTERS} characters more)"
    print(f"whimbrel: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
