"""The command itself: one screen of help, a quick start, correct exit codes."""

import resource
import subprocess
import sys
from pathlib import Path

import polars
import pytest

import whimbrel
from whimbrel.__main__ import main
from whimbrel._base import compiled
from whimbrel._command import verbs
from whimbrel.errors import CampaignInterrupted, WhimbrelError


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_help_is_one_screen(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 44
    assert max(map(len, lines)) <= 100
    for command in verbs.NAMES:
        assert any(f"{line} ".startswith(f"  {command} ") for line in lines)


def test_other_commands_go_to_the_compiled_part(monkeypatch: pytest.MonkeyPatch) -> None:
    class Core:
        @staticmethod
        def cli(argv: list[str]) -> int:
            return 7 if argv == ["run", "a.toml", "--json"] else 9

    monkeypatch.setattr(compiled, "core", lambda: Core)
    assert main(["run", "a.toml", "--json"]) == 7
    assert main(["help", "run"]) == 9


def test_errors_are_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stop(error: BaseException) -> int:
        def cli() -> None:
            raise error

        monkeypatch.setattr(compiled, "core", cli)
        return main(["run"])

    assert stop(WhimbrelError("no such thing")) == 1
    assert capsys.readouterr().err == "whimbrel: no such thing\n"
    assert stop(CampaignInterrupted("interrupted: 3 runs are kept")) == 130
    assert stop(KeyboardInterrupt()) == 130
    with pytest.raises(ZeroDivisionError):
        stop(ZeroDivisionError())


def test_help_and_import_load_nothing_heavy() -> None:
    script = (
        "import sys, whimbrel, whimbrel.__main__ as m; m.main([]);"
        "print([n for n in ('numpy', 'scipy', 'rich', 'vl_convert', 'PIL') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_every_public_name_exists() -> None:
    assert sorted(whimbrel.__all__) == list(dir(whimbrel)) == whimbrel.__all__
    for name in whimbrel.__all__:
        assert getattr(whimbrel, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = whimbrel.nothing


def test_a_report_that_does_not_fit_on_the_disk_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    def small_files() -> None:
        # Records fit, the page with its figures does not.
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    command = [
        sys.executable,
        "-m",
        "whimbrel",
        "reproduce",
        "lda",
        "fig8",
        "--quick",
        "--out",
        str(tmp_path),
    ]
    ended = subprocess.run(
        command, capture_output=True, text=True, preexec_fn=small_files, check=False, timeout=300
    )
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert (
        ended.stderr.strip()
        .splitlines()[-1]
        .endswith("finished runs are kept: free some space and run the same command again")
    )
    records = {path: path.stat().st_mtime_ns for path in tmp_path.glob("lda/records/*.record")}
    assert records
    again = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "index.html").is_file()
    # None was repeated.
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("lda/records/*.record")} == records


def test_data_frames_read_the_tables_of_a_run(tmp_path: Path) -> None:
    # A flow that starts late: its first hundred rows say nothing about the rest.
    (tmp_path / "late.toml").write_text(LATE)
    assert (
        main(["run", str(tmp_path / "late.toml"), "--out", str(tmp_path / "out"), "--parquet", "--quiet"])
        == 0
    )
    names = {path.stem for path in (tmp_path / "out").glob("*.csv")}
    assert {"flows", "links", "intervals", "losses", "packets"} <= names
    result = whimbrel.run(tmp_path / "late.toml")
    for name in names:
        text = polars.read_csv(tmp_path / "out" / f"{name}.csv")
        stored = polars.read_parquet(tmp_path / "out" / f"{name}.parquet")
        assert text.shape == stored.shape
        assert text.columns == stored.columns == list(result[name])
        for column in text.columns:
            kind = result[name][column].dtype.kind
            assert text[column].dtype.is_float() == stored[column].dtype.is_float() == (kind == "f"), column
            assert stored[column].dtype.is_integer() == (kind == "u"), column
            assert stored[column].equals(polars.Series(column, result[name][column])), column
    intervals = polars.read_csv(tmp_path / "out" / "intervals.csv").filter(polars.col("flow") == "f")
    assert intervals["goodput_bps"].max() > 0  # type: ignore[operator]


LATE = """
[simulation]
duration = "60 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "l"
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "10 ms"
loss = { model = "bernoulli", rate = "1 %" }
[[flow]]
name = "f"
from = "a"
to = "b"
transport = "dccp"
ccid = 3
packet_size = "333 B"
start = "55 s"
[[flow]]
name = "g"
from = "a"
to = "b"
transport = "tcp"
start = "57 s"
[record]
interval = "0.5 s"
packets = true
losses = true
delays = true
"""


def test_a_sweep_is_not_changed_by_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = Path(__file__).parents[2] / "examples/scenarios/radio.toml"
    words = ["sweep", str(scenario), "--set", "sweep.queue=[1]", "--out", str(tmp_path / "out")]
    assert main(words) == 2
    assert "--set sweep.queue=[1]: expected a key of the scenario" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
