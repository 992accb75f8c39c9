"""All commands: the one list, from which the overview, the dispatch and the tests are made."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verb:
    """A line of the overview.

    Attributes:
        usage: the command with its main arguments.
        about: what it does.
        home: `MODULE:FUNCTION` of a command written in Python; empty for one of the compiled part.
    """

    usage: str
    about: str
    home: str = ""

    @property
    def name(self) -> str:
        """The command."""
        return self.usage.split()[0]


VERBS: Mapping[str, Sequence[Verb]] = {
    "on a real path": (
        Verb("perf server", "wait for measurements"),
        Verb("perf client HOST", "measure like iperf: DCCP, TCP, UDP"),
        Verb("key generate|show|secret", "make the keys by which two ends trust each other"),
        Verb("relay connect|listen", "carry many programs' datagrams, such as RTP, encrypted"),
        Verb("pipe connect|listen", "pass standard input to another host"),
        Verb("carry send|receive", "carry another program's datagrams, such as a camera's video"),
        Verb("record HOST", "measure a path into traces that scenarios replay"),
        Verb("inspect FILE.pcap", "explain the streams of a capture"),
        Verb("capacity FILE.pcapng", "estimate 802.11 channels from a capture in monitor mode"),
        Verb("fit FILE.pcap", "fit loss models to the losses of a capture"),
        Verb("schedule FILE", "convert a video or a capture to a schedule of datagrams"),
        Verb("classify FILE.csv", "classify losses: congestion or radio"),
    ),
    "predict": (
        Verb(
            "testbed coffee-walk",
            "stream to a phone that changes networks, with real programs",
            "whimbrel.testbed.command:main",
        ),
        Verb("model handover", "predict the cost of a handover for TFRC"),
        Verb(
            "quality voice|video [FILE]",
            "estimate the quality of a call or a video (MOS)",
            "whimbrel.quality.command:main",
        ),
    ),
    "experiment": (
        Verb("run SCENARIO.toml", "simulate a scenario, faster than real time"),
        Verb("emulate SCENARIO.toml", "run real programs across a scenario's network, in real time"),
        Verb(
            "sweep SCENARIO.toml",
            "run its [sweep] until the intervals are narrow; resumes",
            "whimbrel._command.commands:sweep",
        ),
        Verb(
            "reproduce [PAPER [ITEM...]]",
            "reproduce a paper's tables and figures",
            "whimbrel._command.commands:reproduce",
        ),
        Verb(
            "compare A B", "what changed between two results beyond chance", "whimbrel.comparing.command:main"
        ),
        Verb(
            "report DIR",
            "rebuild tables, figures and the HTML report",
            "whimbrel._command.commands:report",
        ),
        Verb("schema", "print the JSON schema of scenarios"),
        Verb(
            "examples",
            "list the packaged examples, or copy them (--copy)",
            "whimbrel._command.example_files:main",
        ),
        Verb("completion SHELL", "print a completion script (bash, zsh, fish)"),
        Verb("man", "print a manual page"),
    ),
}
"""The commands by the heading of the overview."""

NAMES = frozenset(verb.name for verbs in VERBS.values() for verb in verbs)
"""All commands, of both languages."""

PYTHON: Mapping[str, str] = {verb.name: verb.home for verbs in VERBS.values() for verb in verbs if verb.home}
"""The commands written in Python, with their homes."""


def python_command(name: str) -> Callable[[Sequence[str]], int]:
    """A command written in Python, which is imported now: most need numpy."""
    module, _, function = PYTHON[name].partition(":")
    found: Callable[[Sequence[str]], int] = getattr(importlib.import_module(module), function)
    return found


def overview() -> str:
    """A line for every command, below the headings."""
    blocks = []
    for heading, verbs in VERBS.items():
        lines = (f"  {verb.usage:<31}{verb.about}" for verb in verbs)
        blocks.append("\n".join([heading, *lines, ""]))
    return "\n".join(blocks)
