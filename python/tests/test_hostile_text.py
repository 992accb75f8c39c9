"""Files and their names do not command the terminal, through any command that is written in Python."""

import contextlib
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.table import Table

import whimbrel
from whimbrel.__main__ import main
from whimbrel._base import terminal, texts
from whimbrel._command import verbs
from whimbrel.errors import ScenarioError

# The clipboard (OSC 52), the screen, a C1 control, a right-to-left override.
HOSTILE = "\x1b]52;c;aGk=\x07\x1b[2J\x9b2J\u202e"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

SCENARIO = """
title = "\\u202Eeltit"
[simulation]
duration = "1 s"
[sweep]
c = [{ name = "\\u202Eeno", "link.l.rate" = "4 Mbit/s" }, { name = "two", "link.l.rate" = "3 Mbit/s" }]
[[node]]
name = "x"
[[node]]
name = "y"
[[link]]
name = "l"
between = ["x", "y"]
rate = "5 Mbit/s"
delay = "10 ms"
[[flow]]
name = "\\u202Ewolf"
from = "x"
to = "y"
transport = "udp"
packet_size = "500 B"
traffic = { kind = "cbr", rate = "1 Mbit/s" }
"""


def _text(file: Path, text: str) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return str(file)


def _examples(folder: Path) -> list[list[str]]:
    target = folder / HOSTILE
    _text(target / "scenarios" / "wb.toml", "another")
    return [["examples", "--copy", "--to", str(target)]]


def _compare(folder: Path) -> list[list[str]]:
    one, two = (
        _text(folder / f"{name}.json", json.dumps({HOSTILE: numbers, "x": numbers}))
        for name, numbers in (("a", [1, 1.1, 1.2]), ("b", [5, 5.1, 5.2]))
    )
    other = _text(folder / "c.json", json.dumps({HOSTILE + "c": 1, "x": [1, 2]}))
    table = _text(folder / "sweep-runs.csv", f"seed,flow\n{HOSTILE},f\n")
    broken = _text(folder / f"{HOSTILE}.json", "{")
    return [
        ["compare", one, two, "--all-metrics"],
        ["compare", one, other, "--all-metrics"],
        ["compare", table, table],
        ["compare", broken, broken],
    ]


def _quality(folder: Path) -> list[list[str]]:
    head = "flow,tag,sent_s,received_s,size_bytes\n"
    flows = _text(folder / "flows.csv", f"{head}{HOSTILE},0,0,1,9\nb,0,0,1,9\n")
    cell = _text(folder / "cell.csv", f"{head}f,0,{HOSTILE},1,9\n")
    return [["quality", "voice", flows], ["quality", "voice", cell]]


def _sweep(folder: Path) -> list[list[str]]:
    link = 'between = ["x", "y"]\nrate'
    plain = SCENARIO.replace("\\u202E", "")
    _text(folder / "l.csv", f"0,1\n{HOSTILE},1\n")
    losses = plain.replace(link, f'loss = {{ model = "trace", file = "l.csv" }}\n{link}')
    name = json.dumps(HOSTILE)
    missing = plain.replace(link, f'trace = {{ file = {name}, format = "rate" }}\n{link}')
    missing = missing.replace('rate = "5 Mbit/s"\n', "")
    out = ["--quick", "--jobs", "1", "--out", str(folder / "out")]
    names = _text(folder / "names.toml", SCENARIO)
    return [
        ["sweep", _text(folder / "losses.toml", losses), *out],
        ["sweep", _text(folder / "missing.toml", missing), *out],
        ["sweep", str(folder / HOSTILE), *out],
        ["sweep", names, *out],
    ]


def _report(folder: Path) -> list[list[str]]:
    _text(folder / HOSTILE / "records" / "sweep.plan.json", "{")
    return [["report", str(folder)], ["report", str(folder / f"{HOSTILE}2")]]


def _verify(folder: Path) -> list[list[str]]:
    listed = {"format": HOSTILE, "version": HOSTILE}
    (folder / "unpacked").mkdir()
    with zipfile.ZipFile(folder / "foreign.zip", "w") as archive:
        archive.writestr(HOSTILE, "a")
        archive.writestr("pack.json", "{}")
    _text(folder / "unpacked" / "pack.json", json.dumps(listed))
    out = ["--out", str(folder / "verified")]
    return [["verify", str(folder / name), *out] for name in ("foreign.zip", "unpacked", HOSTILE)]


def _contest(folder: Path) -> list[list[str]]:
    file = _text(folder / f"{HOSTILE}.py", "a")
    wrong = _text(folder / "wrong.py", f"raise ValueError({HOSTILE!r})")
    words = ["contest", wrong, "--reference", "gcc", "--network", str(CONTEST / "home.toml"), "--runs", "1"]
    return [["contest", file, file], [*words, "--out", str(folder / "contest")]]


CONTEST = Path(whimbrel.__file__).parent / "examples" / "contest"
COMMANDS: dict[str, Callable[[Path], list[list[str]]]] = {
    "compare": _compare,
    "contest": _contest,
    "examples": _examples,
    "pack": lambda folder: [["pack", str(folder / HOSTILE)]],
    "quality": _quality,
    "report": _report,
    "reproduce": lambda _: [["reproduce", HOSTILE], ["reproduce", f"--{HOSTILE}"]],
    "sweep": _sweep,
    # A campaign takes minutes; what it prints of a file is printed by the same streams.
    "testbed": lambda _: [["testbed", "coffee-walk", f"--{HOSTILE}"]],
    "verify": _verify,
}


def test_each_command_has_hostile_files() -> None:
    assert COMMANDS.keys() == verbs.PYTHON.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_hostile_file_does_not_command_the_terminal(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in COMMANDS[name](tmp_path):
        with contextlib.suppress(SystemExit):
            main(arguments)
        printed = capsys.readouterr()
        # The text arrived, and is escaped.
        assert "u202e" in printed.out + printed.err, (arguments, printed)
        assert not OBEYED.search(printed.out + printed.err), (arguments, printed)


def test_names_of_a_sweep_turn_no_text_around(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    *_, arguments = _sweep(tmp_path)
    assert main(arguments) == 0
    assert "\\u202ewolf" in capsys.readouterr().out
    out = tmp_path / "out"
    for file in (out / "index.html", *(out / "names").glob("*.csv"), *(out / "names").glob("*.svg")):
        content = file.read_text()
        assert "wolf" in content, file
        assert not OBEYED.search(content), file
    # The other pages are made of the same frame.
    one, two = (_text(tmp_path / f"{name}.json", json.dumps({HOSTILE: 1})) for name in "ab")
    assert main(["compare", one, two, "--html", str(tmp_path / "page.html")]) == 0
    assert not OBEYED.search((tmp_path / "page.html").read_text())


def test_errors_and_tables_in_python_are_printable(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as error:
        whimbrel.run(_sweep(tmp_path)[0][1])
    assert "\\u001b]52" in str(error.value)
    assert not OBEYED.search(str(error.value))
    table = whimbrel.run(tmp_path / "names.toml").flows
    for shown in (repr(table), table._repr_html_()):
        assert "\\u202ewolf" in shown
        assert not OBEYED.search(shown)


def test_consoles_are_made_in_one_place() -> None:
    package = Path(whimbrel.__file__).parent
    makers = [path.name for path in package.rglob("*.py") if re.search(r"\b_?Console\(", path.read_text())]
    assert makers == ["terminal.py"]


def test_an_escape_is_as_wide_as_it_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("a", "b", box=None)
    table.add_row(terminal.markup(HOSTILE), "x")
    table.add_row(HOSTILE, "y")
    with texts.printable_streams():
        terminal.print_table(table)
    shown = capsys.readouterr().out
    assert shown.count("\\u001b]52;c;aGk=\\u0007\\u001b[2J\\u009b2J\\u202e") == 2
    assert not OBEYED.search(shown)
