"""An installation without the optional dependencies: what works, and the errors of the rest."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import whimbrel
from whimbrel._base import extras
from whimbrel.errors import MissingExtra

ROOT = Path(__file__).parents[2]
OPTIONAL = sorted({module for modules in extras.MODULES.values() for module in modules})
PACKAGES = {"imageio_ffmpeg": "imageio-ffmpeg", "PIL": "pillow", "vl_convert": "vl-convert-python"}


def _small(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process that cannot import any module of an extra."""
    blocked = f"import sys; sys.modules.update(dict.fromkeys({OPTIONAL!r}))"
    program = f"{blocked}; from whimbrel.__main__ import main; sys.exit(main({list(arguments)!r}))"
    return subprocess.run(
        [sys.executable, "-c", program], cwd=cwd, capture_output=True, text=True, check=False
    )


def test_the_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {
        name: {re.split(r"[><=]", requirement)[0] for requirement in requirements}
        for name, requirements in project["optional-dependencies"].items()
    }
    assert declared.pop("all") == {f"whimbrel[{','.join(extras.MODULES)}]"}
    # pip is run as a program.
    declared["video"].discard("pip")
    assert declared == {
        name: {PACKAGES.get(module, module) for module in modules} for name, modules in extras.MODULES.items()
    }
    always = {re.split(r"[><=]", requirement)[0] for requirement in project["dependencies"]}
    assert always.isdisjoint(set().union(*declared.values()))


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "--version",
        "perf client --help",
        "run examples/scenarios/wb.toml --set simulation.duration=25s --quiet",
        "inspect examples/captures/call.pcapng.gz",
        "classify examples/captures/arrivals.csv",
        "model handover",
        "schema",
        "quality voice --codec g729a --delay 150ms",
        "quality video --bit-rate 898kbit/s --frame-rate 30 --screen 4.2in",
        "examples",
        "reproduce --help",
        "sweep --help",
        "report --help",
    ],
)
def test_without_extras_a_command_works(command: str) -> None:
    done = _small(*command.split(), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    "command", ["reproduce lda table2", "reproduce --list", "sweep any.toml", "report ."]
)
def test_without_charts_the_error_names_the_extra(command: str, tmp_path: Path) -> None:
    done = _small(*command.split(), cwd=tmp_path)
    assert done.returncode == MissingExtra.exit_code
    assert done.stderr == (
        f"whimbrel: whimbrel {command.split()[0]} needs scipy, which is not installed: "
        "pip install 'whimbrel[charts]'\n"
    )
    assert not any(tmp_path.iterdir())


def test_without_the_video_extra_the_error_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from whimbrel.__main__ import main
    from whimbrel._base import ffmpeg

    ffmpeg.executable.cache_clear()
    ffmpeg.version.cache_clear()
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    try:
        assert main(["reproduce", "lda", "video", "--quick", "--out", str(tmp_path)]) == 1
    finally:
        ffmpeg.executable.cache_clear()
        ffmpeg.version.cache_clear()
    assert (
        "needs imageio_ffmpeg, which is not installed: pip install 'whimbrel[video]'"
        in capsys.readouterr().err
    )


def test_a_result_without_pandas_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"pip install 'whimbrel\[tables\]'"):
        whimbrel.run(
            ROOT / "examples/scenarios/wb.toml", overrides=["simulation.duration=23s"]
        ).flows.to_pandas()


def test_a_broken_dependency_is_not_reported_as_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "broken_extra.py").write_text("import no_such_module_of_its_own")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError) as raised:
        extras.load("broken_extra", "charts", "a figure")
    assert not isinstance(raised.value, MissingExtra)


def test_the_packages_of_the_tour_are_those_of_the_tests() -> None:
    """`make run` installs requirements-run.lock, `make test` requirements.lock: the same versions."""
    short, full = (
        set(re.split(r"\n(?=\S)", (ROOT / name).read_text(encoding="utf-8").split("\n", 2)[2].strip()))
        for name in ("requirements-run.lock", "requirements.lock")
    )
    assert short <= full, sorted(short - full)
    assert {re.split(r"[=\s]", pin)[0] for pin in short} >= {"maturin", "numpy", "scipy", "vl-convert-python"}
