"""JSON, TOML and CSV that fill neither memory nor stack, through every command that reads them."""

import json
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import whimbrel
from whimbrel.__main__ import main
from whimbrel._base import documents, texts
from whimbrel.comparing import samples
from whimbrel.errors import InputError, ScenarioError
from whimbrel.quality import sources
from whimbrel.scenario import Scenario

DEEP = "[" * 5_000 + "]" * 5_000


def _nested(levels: int) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for _ in range(levels - 1):
        document = {"a": document}
    return document


def test_depth_is_bounded() -> None:
    documents.check_depth(_nested(documents.MOST_LEVELS))
    for value in (_nested(documents.MOST_LEVELS + 1), _nested(100_000)):
        with pytest.raises(ValueError, match="more than 100 levels deep"):
            documents.check_depth(value)
    around: list[Any] = []
    around.append(around)
    with pytest.raises(ValueError, match="more than 100 levels deep"):
        documents.check_depth(around)
    for text in (DEEP, "[" * 100_000, '{"a":' * 5_000, "[" * 200 + "]" * 200):
        with pytest.raises(ValueError, match="more than 100 levels deep"):
            documents.json_value(text)
    with pytest.raises(ValueError, match="more than 100 levels deep"):
        documents.toml_table(f"a = {DEEP}")
    assert documents.json_value("[[1]]") == [[1]]


@pytest.mark.parametrize("text", [DEEP, "[" * 100_000, '{"a":' * 5_000])
def test_deep_files_are_errors_of_every_command(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deep = tmp_path / "deep.json"
    deep.write_text(text)
    table = tmp_path / "deep.toml"
    table.write_text(f"a = {text}".replace(":", "="))
    about = tmp_path / "out" / "lda" / "about.json"
    plan = tmp_path / "plans" / "a" / "records" / "sweep.plan.json"
    for file in (about, plan):
        file.parent.mkdir(parents=True)
        file.write_text(text)
    for arguments, code in (
        (["compare", str(deep), str(deep)], 2),
        (["compare", str(plan.parents[2]), str(plan.parents[2])], 2),
        (["quality", "voice", str(deep)], 1),
        (["sweep", str(deep), "--out", str(tmp_path / "s")], 1),
        (["sweep", str(table), "--out", str(tmp_path / "s")], 1),
        (["report", str(about.parents[1])], 1),
        (["report", str(plan.parents[2])], 1),
    ):
        assert main(arguments) == code, arguments
        message = capsys.readouterr().err
        assert "100 levels deep" in message, (arguments, message)
        assert len(message) < 500


def test_deep_scenarios_in_python_are_errors() -> None:
    for levels in (200, 5_000):
        with pytest.raises(ScenarioError, match="more than 100 levels deep"):
            whimbrel.run(_nested(levels))
    # The simulator, too, takes it for a text.
    assert list(Scenario({}).changed(f"a={DEEP}").files()) == []


def test_whatever_reads_such_a_format_reads_it_in_one_place() -> None:
    package = Path(whimbrel.__file__).parent
    form = re.compile(r"\bjson\.loads?\(|\btomllib\b|\bcsv\.(?:DictReader|reader)\(")
    readers = [file.name for file in package.rglob("*.py") if form.search(file.read_text())]
    assert readers == ["documents.py"]


def test_lines_and_rows_are_bounded(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"\xef\xbb\xbfa,b\r\n1,\r\n2\n3,4,5\n")
    table = documents.CsvFile(file)
    assert table.columns == ("a", "b")
    assert list(table) == [{"a": "1", "b": ""}, {"a": "2", "b": ""}, {"a": "3", "b": "4"}]
    file.write_bytes(b"a,b\r1,2\r3,4\r")
    assert list(documents.CsvFile(file)) == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]
    file.write_text("")
    assert documents.CsvFile(file).columns == ()
    file.write_text("a\n" + "1" * (texts.MOST_LINE_BYTES + 1))
    with pytest.raises(ValueError, match="line 2 has more than 1048576 bytes"):
        list(documents.CsvFile(file))
    file.write_text("a\n" + '"1","\n' * 5_000)
    with pytest.raises(ValueError, match="more than 1000 lines: a quotation mark"):
        list(documents.CsvFile(file))
    file.write_text("a\n" + "1\n" * 100)
    with pytest.raises(ValueError, match="more than 99 bytes"):
        list(documents.CsvFile(file, 99))
    file.write_bytes(b"a\n1\n\xff\n")
    with pytest.raises(ValueError, match=r"byte 4, in line 3"):
        list(documents.CsvFile(file))
    file.write_bytes("a\n1\n".encode("utf-16"))
    with pytest.raises(ValueError, match="UTF-16"):
        documents.CsvFile(file)


# A sparse file of 300 MB takes no room on the disk.
@pytest.mark.parametrize(
    ("name", "arguments", "code", "expected"),
    [
        ("a", ("quality", "voice"), 1, "line 1 has more than 1048576 bytes"),
        ("a.json", ("quality", "voice"), 1, "it has more than 67108864 bytes"),
        ("a.csv", ("compare",), 2, "line 1 has more than 1048576 bytes"),
        ("a.json", ("compare",), 2, "it has more than 67108864 bytes"),
        ("a.toml", ("sweep",), 1, "it has more than 16777216 bytes"),
    ],
)
def test_a_long_file_takes_little_memory(
    name: str, arguments: tuple[str, ...], code: int, expected: str, tmp_path: Path
) -> None:
    file = tmp_path / name
    with file.open("wb") as long:
        long.truncate(300_000_000)
    given = [str(file)] * (2 if arguments == ("compare",) else 1)
    # Linux counts the memory of the parent in a child's ru_maxrss, but not in its VmHWM.
    script = (
        "import re, resource, sys; from pathlib import Path; from whimbrel.__main__ import main;"
        "code = main(sys.argv[1:]); status = Path('/proc/self/status');"
        "used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "print(re.search(r'VmHWM:\\s+(\\d+)', status.read_text())[1] if status.exists() else used);"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments, *given],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert expected in done.stderr
    assert len(done.stderr) < 500
    assert int(done.stdout) < 300_000


def test_a_small_table_does_not_fill_the_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = "flow,tag,sent_s,received_s,size_bytes\n"
    table = tmp_path / "packets.csv"
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, hard))
    try:
        for tag in ("1e15", "-1", "nan", "inf", ""):
            table.write_text(f"{head}f,0,0,1,9\nf,{tag},0,1,9\n")
            assert main(["quality", "voice", str(table)]) == 1
            assert "expected numbers of datagrams from 0 to 16777216" in capsys.readouterr().err
        table.write_text(f"{head}{'f' * 100_000},0,0,1,9\n" + "b,,,,\n" * 3_000)
        assert main(["quality", "voice", str(table), "--flow", "b"]) == 1
        assert "the names of its flows are too long for 3001 rows" in capsys.readouterr().err
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def test_a_table_has_a_bounded_number_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sources, "_MOST_DATAGRAMS", 3)
    table = tmp_path / "packets.csv"
    table.write_text("flow,tag,sent_s,received_s,size_bytes\n" + "f,0,0,1,9\n" * 4)
    assert main(["quality", "voice", str(table)]) == 1
    assert "has more than 3 rows" in capsys.readouterr().err


def test_results_name_no_files_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "a.toml"
    scenario.write_text(SCENARIO)
    out = tmp_path / "in" / "out"
    assert main(["sweep", str(scenario), "--quick", "--jobs", "1", "--out", str(out)]) == 0
    assert main(["report", str(out)]) == 0
    before = {path for path in tmp_path.rglob("*") if out not in path.parents}
    plan = out / "a" / "records" / "sweep.plan.json"
    written = plan.read_text()
    for old, new in (
        ('"item": "sweep"', '"item": "../../evil"'),
        ('"group": "a"', '"group": "../evil"'),
        ('"group": "a"', f'"group": {json.dumps(str(tmp_path / "evil"))}'),
    ):
        assert old in written
        plan.write_text(written.replace(old, new))
        (tmp_path / "evil").mkdir(exist_ok=True)
        (tmp_path / "in" / "evil").mkdir(exist_ok=True)
        capsys.readouterr()
        assert main(["report", str(out)]) == 1
        assert "its group and item are not those of its place" in capsys.readouterr().err
    plan.write_text(written)
    for file, old, new in (
        (out / "b" / "about.json", '"sweep"', '"../../secret"'),
        (out / "b" / "sweep.json", '"sweep-goodput"', '"../../secret"'),
    ):
        shutil.copytree(out / "a", out / "b", ignore=shutil.ignore_patterns("records"), dirs_exist_ok=True)
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))
        assert main(["report", str(out)]) == 1
        assert "'../../secret' is not the name of a file" in capsys.readouterr().err
    after = {path for path in tmp_path.rglob("*") if out not in path.parents}
    assert after - before <= {tmp_path / "evil", tmp_path / "in" / "evil"}


SCENARIO = """
[simulation]
duration = "1 s"
[sweep]
"link.l.rate" = ["4 Mbit/s", "3 Mbit/s"]
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
name = "f"
from = "x"
to = "y"
transport = "udp"
traffic = { kind = "cbr", rate = "1 Mbit/s" }
"""


def test_numbers_without_a_float_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    for number in ("1e999", "-Infinity", "1" + "0" * 400):
        file.write_text(f'{{"b": {{"a": {number}}}}}')
        with pytest.raises(InputError, match=r"a\.json: a of b is infinite: expected finite numbers"):
            samples.read(file)
    with pytest.raises(ScenarioError, match=r"^simulation\.duration = inf: expected a finite number$"):
        whimbrel.run({"simulation": {"duration": float("inf")}})
    with pytest.raises(ScenarioError, match=r"^link\[1\]\.rate = nan: expected a finite number$"):
        whimbrel.run({"link": [{"rate": 1.0}, {"rate": float("nan")}]})
