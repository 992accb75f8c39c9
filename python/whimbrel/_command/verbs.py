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
    "carry": (
        Verb("relay server|client", "carry live video, or other datagrams, to another host"),
        Verb("pipe server|client", "send standard input to another host, as datagrams"),
        Verb("key generate|show|secret", "make the keys by which two ends know each other"),
    ),
    "measure": (
        Verb("perf server|client", "measure rate, losses and delays to another host, like iperf"),
        Verb("record server|client", "record a path to another host, for simulations over the same path"),
        Verb(
            "testbed coffee-walk",
            "stream to a phone that changes networks, with real programs",
            "whimbrel.testbed.command:main",
        ),
    ),
    "explain a capture": (
        Verb("inspect FILE.pcap", "what each stream did, lost, and why it ended"),
        Verb("classify FILE.pcap", "say of each loss whether the radio or congestion lost it"),
        Verb("fit FILE.pcap", "find the loss model for a scenario from a capture's losses"),
        Verb("capacity FILE.pcapng", "estimate how much a Wi-Fi channel could carry, from its frames"),
        Verb("schedule FILE", "turn a video or a capture into datagrams for perf and scenarios"),
    ),
    "try a network": (
        Verb("run SCENARIO.toml", "simulate a scenario, faster than real time"),
        Verb("emulate SCENARIO.toml", "run real programs over the network of a scenario, in real time"),
        Verb(
            "sweep SCENARIO.toml",
            "run its [sweep] until the intervals are narrow; resumes",
            "whimbrel._command.commands:sweep",
        ),
        Verb(
            "compare A B", "what changed between two results beyond chance", "whimbrel.comparing.command:main"
        ),
        Verb(
            "contest FILE.py...",
            "congestion controls or repair policies of a class in matches",
            "whimbrel.contest.command:main",
        ),
        Verb("model handover", "predict what a handover costs, by a paper's equations"),
        Verb(
            "quality voice|video [FILE]",
            "estimate the quality of a call or a video (MOS)",
            "whimbrel.quality.command:main",
        ),
        Verb("schema", "print the JSON schema of scenarios"),
    ),
    "reproduce": (
        Verb(
            "reproduce [PAPER [ITEM...]]",
            "reproduce a paper's tables and figures",
            "whimbrel._command.commands:reproduce",
        ),
        Verb(
            "report DIR",
            "rebuild tables, figures and the HTML report",
            "whimbrel._command.commands:report",
        ),
        Verb("pack RESULTS", "pack results for others to check", "whimbrel.packing.command:pack"),
        Verb("verify PACK", "check such a pack by repeating its runs", "whimbrel.packing.command:verify"),
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
