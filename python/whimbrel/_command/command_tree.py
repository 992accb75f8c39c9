"""The commands written in Python as data, for completion scripts and manual pages."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class _ParserReady(BaseException):
    """A command has made its parser."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__()
        self.parser = parser


def described(commands: Mapping[str, Callable[[Sequence[str]], int]]) -> str:
    """The commands as JSON, in the form that `completion --commands` reads.

    Args:
        commands: by name; each makes a parser of `argparse` before anything else.
    """
    return json.dumps([_command(name, _parser(command)) for name, command in commands.items()])


def _parser(command: Callable[[Sequence[str]], int]) -> argparse.ArgumentParser:
    with _intercepted():
        try:
            command([])
        except _ParserReady as ready:
            return ready.parser
    raise AssertionError("the command parsed no arguments")


@contextmanager
def _intercepted() -> Iterator[None]:
    """`parse_args` hands over its parser instead: commands make theirs where they use them."""

    def hand_over(parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        raise _ParserReady(parser)

    original = argparse.ArgumentParser.parse_args
    argparse.ArgumentParser.parse_args = hand_over  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        argparse.ArgumentParser.parse_args = original  # type: ignore[method-assign]


def _command(name: str, parser: argparse.ArgumentParser, about: str = "") -> dict[str, Any]:
    arguments, commands = [], []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            commands += [_command(key, each, helps.get(key, "")) for key, each in action.choices.items()]
        elif not isinstance(action, argparse._HelpAction):
            arguments.append(_argument(parser, action))
    return {
        "name": name,
        "about": parser.description or about,
        "epilog": parser.epilog or "",
        "arguments": arguments,
        "commands": commands,
    }


def _argument(parser: argparse.ArgumentParser, action: argparse.Action) -> dict[str, Any]:
    long = next((text[2:] for text in action.option_strings if text.startswith("--")), None)
    short = next((text[1:] for text in action.option_strings if len(text) == 2), None)
    repeated = isinstance(action, argparse._AppendAction) or action.nargs in ("*", "+")
    positional = not action.option_strings
    found: dict[str, Any] = {
        "id": action.dest,
        "long": long,
        "short": short,
        "help": _help(parser, action),
        "is_required": action.required and not (positional and action.nargs in ("?", "*")),
        "is_repeated": repeated,
        "is_path": action.type is Path,
    }
    if action.nargs != 0:
        metavar = action.metavar if isinstance(action.metavar, str) else None
        found["value_name"] = metavar or action.dest.upper().replace("_", "-")
        found["values"] = [str(choice) for choice in action.choices or ()]
    return found


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """The help text with its defaults filled in, as `--help` shows it."""
    if not action.help:
        return ""
    values = {name: value for name, value in vars(action).items() if value is not argparse.SUPPRESS}
    return action.help % {**values, "prog": parser.prog}
