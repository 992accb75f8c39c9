"""The commands of pages without a test of their own run as printed: simulations, and pairs of ends here."""

import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from shell_blocks import ROOT, Shell, blocks, commands

from whimbrel._base import files
from whimbrel._reproduce import paper

DOCS = ROOT / "docs"
WHIMBREL = [sys.executable, "-m", "whimbrel"]
WAIT_S = 60
QUICK = {
    r"--max-runs \d+": "--max-runs 2",
    r"iperf3 -c server --time 30": "iperf3 -c server --time 1",
    # The reader's folder of papers is not the package's.
    r"^(whimbrel reproduce --list)(?= +# now)": r"\1 --papers papers",
    r"^(whimbrel reproduce square --quick) {5,}": r"\1 --papers papers ",
    # Ten networks, in real time: two runs of a second of one of them decide nothing.
    r"RUNS=5 (sh \S+ \S+ \w+)": r"RUNS=2 TIME=1s \1 fibre",
    r"--fail-on worse": "--fail-on never",
}
ENDS = (r"^whimbrel (perf|relay|record|pipe) ", r"^whimbrel (key|testbed)", r"^curl", r"^sudo", r"^kill")
"""Commands between two ends, and commands that need root: see below."""
ELSEWHERE = (
    r"^make ",
    r"^cargo ",
    r"^gst-",
    r"^pip ",
    r"^jupyter",
    r"^\. ",
    r"interop/",
    r"^apt-get",
    r"^man ",
    r"^git clone",
    r"^python3 scripts/",
    r"^(tar|podman|sha256sum|cc|export|ffmpeg) ",
    r"^cd |^examples/c/",
    r"^python3 -m venv",
)
"""Commands of the build, of other programs, and of tests of their own."""
# The papers have tests of their own, which run every item; one command shows that they are run as printed.
OF_PAPERS = (
    r"^python -m whimbrel\.papers\.\w+\.sets ",
    r"^whimbrel reproduce (?!square|--|lda table2 --quick)",
)
OUTSIDE = (*ELSEWHERE, *OF_PAPERS)
CLUSTER = (r"--scheduler tcp",)
READERS = (r"zsh\)", r"man -l -")
PAGES = {
    "docs/campaigns.md": 1,
    "docs/cellular.md": 9,
    "docs/command-line.md": 7,
    "docs/explicit-rate.md": 6,
    "docs/fit.md": 3,
    "docs/live-view.md": 2,
    "docs/media.md": 5,
    "docs/multipath.md": 2,
    "docs/pack.md": 13,
    "docs/paper.md": 5,
    "docs/papers.md": 4,
    "docs/playground.md": 1,
    "docs/wireless.md": 7,
    "papers/confront/README.md": 1,
    "papers/freeze/README.md": 1,
    "papers/lda/README.md": 2,
}
MADE = {
    "docs/campaigns.md": {"radio.toml": blocks(DOCS / "campaigns.md", "toml")[0]},
    # As `whimbrel record` writes it.
    "docs/cellular.md": {"lte/down.delays.csv": "sent_s,delay_s,class\n0.5,0.03,ping\n"},
    "docs/paper.md": {
        "papers/mine.py": blocks(DOCS / "paper.md", "python")[0],
        "papers/expected.csv": blocks(DOCS / "paper.md", "csv")[0],
        "editor": 'cp papers/mine.py "$1" && cp papers/expected.csv papers/square',
    },
}
"""Files that the reader of a page has or writes."""
EMULATED = {
    # The camera plays in real time, in interop/live; the nested one has a scenario of the reader's.
    "docs/emulate.md": (3, ("^make", "ffmpeg", "home.toml")),
    "docs/ci.md": (10, ()),
}
MEASURED = ("handover", "mobility", "perf", "record", "reordering", "security", "command-line")
RELAYED = ("install", "live-view", "multipath", "repair")
OF_OTHERS = {
    "README.md": "python/tests/test_tasks.py",
    "docs/compare.md": "python/tests/test_tasks.py",
    "docs/getting-started.md": "python/tests/test_tasks.py",
    "docs/relay.md": "python/tests/test_tasks.py",
    "docs/teach.md": "python/tests/test_tasks.py",
    "docs/contest.md": "python/tests/test_contest.py",
    "docs/gstreamer.md": "gst/tests/all/documents.rs",
    "docs/inspect.md": "python/tests/test_documents.py",
    "docs/losses.md": "python/tests/test_documents.py",
    "docs/quality.md": "python/tests/test_documents.py",
    "docs/scenarios.md": "python/tests/test_documents.py",
    "docs/testbed.md": "python/tests/test_testbed.py",
}
"""Pages whose commands run in tests elsewhere."""


def test_no_page_with_commands_is_without_a_test() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("papers/*/*.md")]
    pages += [*ROOT.glob("crates/*/README.md"), *(ROOT / "examples").rglob("README.md")]
    printed = {str(page.relative_to(ROOT)): commands(page) for page in pages}
    here = {*PAGES, *EMULATED, *(f"docs/{name}.md" for name in (*MEASURED, *RELAYED))}
    assert {*here, *OF_OTHERS} <= printed.keys()
    for page, test in OF_OTHERS.items():
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8"), (page, test)
    bare = {
        page: words
        for page in printed.keys() - here - OF_OTHERS.keys()
        if (words := [each for each in printed[page] if not any(re.search(out, each) for out in OUTSIDE)])
    }
    assert bare == {}


def test_items_that_pages_reproduce_exist() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("papers/*/*.md")]
    printed = [words for page in pages for words in commands(page) if re.search(OF_PAPERS[1], words)]
    named = [words.partition("#")[0].split(" --")[0].split()[2:] for words in printed]
    missing = [
        (key, item)
        for key, *items in named
        for item in items
        if item not in {each.key for each in paper.load(key).items}
    ]
    assert missing == []
    assert {key for key, *_ in named} == {path.parent.name for path in ROOT.glob("papers/*/scenarios.py")}


@pytest.mark.parametrize(("page", "number"), PAGES.items())
def test_the_commands_of_a_page_run(
    page: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Completions and manual pages go to the user's home.
    monkeypatch.setenv("WHIMBREL_CACHE", str(files.cache_directory()))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".config" / "fish" / "completions").mkdir(parents=True)
    left_out = (*ENDS, *OUTSIDE, *CLUSTER, *READERS, r"^whimbrel emulate")
    shell = Shell(tmp_path, left_out=left_out, shortened=QUICK)
    monkeypatch.setenv("EDITOR", "sh editor")
    for file, text in MADE.get(page, {}).items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)
    shell.all_of(ROOT / page)
    assert len(shell.run) == number, shell.run


@pytest.mark.parametrize(("page", "number", "left_out"), [(page, *rest) for page, rest in EMULATED.items()])
def test_the_emulations_of_a_page_run(
    page: str, number: int, left_out: tuple[str, ...], tmp_path: Path
) -> None:
    trial = [*WHIMBREL, "emulate", str(ROOT / "examples" / "scenarios" / "lte.toml"), "--", "true"]
    able = subprocess.run(trial, capture_output=True, check=False).returncode == 0
    if not able or not shutil.which("iperf3") or not shutil.which("ffmpeg"):
        pytest.skip("no namespaces, TUN devices, iperf3 or ffmpeg")
    shell = Shell(tmp_path, left_out=left_out, shortened=QUICK)
    shell.all_of(ROOT / page)
    assert len(shell.run) == number


def _port() -> int:
    # Of UDP: a free one of TCP may be in use.
    with socket.socket(type=socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _running(command: list[str], folder: Path) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=WAIT_S)


def _words(command: str, changes: dict[str, str]) -> list[str]:
    command = command.partition(" #")[0].removeprefix("whimbrel ").rstrip("& ")
    for printed, here in changes.items():
        command = re.sub(printed, here, command)
    return [*WHIMBREL, *command.split()]


def _ended(words: list[str], folder: Path) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("name", MEASURED)
def test_the_measurements_of_a_page_run_between_two_ends_here(name: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "camera.csv").write_text("time_s,size_bytes\n0,100\n0.02,1000\n")
    port = _port()
    _ended([*WHIMBREL, "key", "secret", "--file", "perf.secret"], tmp_path)
    keys = {
        end: _ended([*WHIMBREL, "key", "generate", "--file", f"{end}.pem"], tmp_path) for end in ("a", "b")
    }
    fingerprints = {end: re.search(r"SHA256:\S+", printed)[0] for end, printed in keys.items()}  # type: ignore[index]
    changes = {
        r"\b(perf|record) server": rf"\1 server --bind 127.0.0.1:{port}",
        r"\b(perf|record) client HOST": rf"\1 client 127.0.0.1:{port}",
        r" --time \d+": "",
    }
    of_page = [
        words
        for words in commands(DOCS / f"{name}.md")
        if re.match(r"whimbrel (perf|record) ", words) and "--help" not in words and "--tun" not in words
    ]
    servers = [words for words in of_page if " server" in words] or ["whimbrel perf server"]
    clients = [words for words in of_page if " server" not in words]
    assert clients
    for number, client in enumerate(clients):
        server = servers[min(number, len(servers) - 1)]
        if "--secret-file" in client and "--secret-file" not in server:
            server += " --secret-file perf.secret"
        given, asked = _words(server, changes), [*_words(client, changes), "--time", "0.3"]
        if "--peer-fingerprint" in asked:
            given[given.index("--peer-fingerprint") + 1 :] = [fingerprints["b"], "--key", "a.pem"]
            at = asked.index("--peer-fingerprint")
            asked[at + 1] = fingerprints["a"]
            asked += ["--key", "b.pem"]
        with _running(given, tmp_path) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            assert first
            assert process.poll() is None, first
            assert _ended(asked, tmp_path)
    if name == "record":
        for words in ("run lte/scenario.toml", "run lte/scenario.toml --set flow.stream.transport=tcp"):
            assert f"whimbrel {words}" in commands(DOCS / "record.md")
            _ended([*WHIMBREL, *words.split()], tmp_path)


@pytest.mark.parametrize("name", RELAYED)
def test_the_relays_of_a_page_connect(name: str, tmp_path: Path) -> None:
    for file in ("relay.secret", "page.token"):
        _ended([*WHIMBREL, "key", "secret", "--file", file], tmp_path)
    of_page = [words for words in commands(DOCS / f"{name}.md") if words.startswith("whimbrel relay ")]
    servers = [words for words in of_page if " server " in words]
    clients = [words for words in of_page if " client " in words]
    servers = servers or ["whimbrel relay server --to 127.0.0.1:5004 --secret-file relay.secret"]
    assert clients
    for number in range(max(len(servers), len(clients))):
        port = _port()
        changes = {
            "relay server": f"relay server --bind 127.0.0.1:{port}",
            r"client (VIEWER|192\.0\.2\.7)": f"client 127.0.0.1:{port}",
            "--from 127.0.0.1:5004": "--from 127.0.0.1:0",
            r"--http [\d.]+:9611": "--http 127.0.0.1:0",
            "--path wlan0": "--path 127.0.0.2",
            "--path wwan0": "--path 127.0.0.3",
        }
        server = servers[min(number, len(servers) - 1)]
        client = clients[min(number, len(clients) - 1)]
        with (
            _running(_words(server, changes), tmp_path),
            _running(_words(client, changes), tmp_path) as process,
        ):
            assert process.stdout is not None
            deadline = time.monotonic() + WAIT_S
            lines = iter(process.stdout.readline, "")
            assert any("connected with" in line for line in lines if time.monotonic() < deadline), client
