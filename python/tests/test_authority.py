"""scripts/authority.py finds every listener and reader without rows."""

import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import script_modules

SURFACES = """
[[surface]]
name = "echo"
kind = "listener"
files = ["crates/net/src/echo.rs"]
[[surface.bound]]
actor = "unproven address"
effect = "bytes sent"
limit = "none"
test = "whimbrel_net::echo::tests::holds"
[[surface.bound]]
actor = "proven address"
effect = "memory"
limit = "a packet"
none = "too small"
"""
ECHO = """
/// Not `TcpListener::bind` in a comment.
fn serve() { UdpSocket::bind("127.0.0.1:0"); }
#[cfg(test)]
mod tests {
    #[test]
    fn holds() {}
}
"""


@pytest.fixture(scope="module", name="script")
def _script() -> ModuleType:
    return script_modules.load("scripts/authority.py")


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    files = {
        "compliance/authority/surfaces.toml": SURFACES,
        "crates/net/src/lib.rs": "mod echo;\nmod quiet;\n",
        "crates/net/src/echo.rs": ECHO,
        "crates/net/src/quiet.rs": 'fn quiet() { let _ = "File::open"; }\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def offences(script: ModuleType, project: Path, surfaces: str = SURFACES) -> list[str]:
    return list(script.check(project, tomllib.loads(surfaces)))


def test_the_page_has_every_row(script: ModuleType, project: Path) -> None:
    assert offences(script, project) == []
    assert script.main([], project) == 0
    page = script.page(script.read(project))
    assert "### Echo" in page
    assert "| unproven address | bytes sent | none |" in page
    assert "| proven address | memory | a packet (not tested: too small) |" in page


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("crates/net/src/quiet.rs", "fn open() { std::fs::read_to_string(path); }"),
        ("crates/cli/src/page.rs", "fn page() { http1::Builder::new(); }"),
        ("crates/cli/src/table.rs", "fn open() { csv::Reader::from_path(path); }"),
        ("crates/cli/src/table.rs", "fn open() { csv::ReaderBuilder::new(); }"),
        ("crates/cli/src/open.rs", "fn open() { OpenOptions::new().read(true); }"),
        ("crates/cli/src/open.rs", "fn open() { std::fs::File::options(); }"),
        ("crates/cli/src/open.rs", "fn open() { unsafe { Mmap::map(&file) }; }"),
        ("crates/cli/src/local.rs", "fn serve() { UnixListener::bind(path); }"),
        ("crates/cli/src/local.rs", "fn call() { UnixStream::connect(path); }"),
        ("crates/cli/src/tcp.rs", "fn serve() { TcpSocket::new_v4(); }"),
        ("crates/cli/src/media.rs", "use std::process::{self, Command};"),
        # A crate that did not read anything until now.
        ("crates/wire/src/file.rs", "fn open() { File::open(path); }"),
        ("gst/src/element.rs", "fn serve() { TcpListener::bind(address); }"),
        ("gst/src/element.rs", "fn run() { whimbrel_relay::listen(far, observer, stop); }"),
        ("python/whimbrel/_show/page.py", "socket.create_server(('', 0))"),
        ("python/whimbrel/_show/page.py", "await asyncio.start_server(serve)"),
        ("python/whimbrel/_show/page.py", "await loop.create_datagram_endpoint(Echo)"),
        ("python/whimbrel/_show/page.py", "ThreadingHTTPServer(('', 80), Handler)"),
        ("python/whimbrel/_show/page.py", "urllib.request.urlopen(address)"),
        ("python/whimbrel/quality/file.py", "path.read_text(encoding='utf-8')"),
        ("python/whimbrel/quality/file.py", "path.read_bytes()"),
        ("python/whimbrel/quality/file.py", "open(path)"),
        ("python/whimbrel/quality/file.py", "path.open(encoding='utf-8')"),
        ("python/whimbrel/quality/file.py", "path.open('rb')"),
        ("python/whimbrel/quality/file.py", "json.loads(text)"),
        ("python/whimbrel/quality/file.py", "json.load(file)"),
        ("python/whimbrel/quality/file.py", "tomllib.load(file)"),
        ("python/whimbrel/quality/file.py", "csv.DictReader(lines)"),
        ("python/whimbrel/quality/file.py", "documents.read_json(path)"),
        ("python/whimbrel/quality/file.py", "texts.read(path)"),
        ("python/whimbrel/quality/file.py", "np.memmap(path)"),
        ("python/whimbrel/quality/file.py", "subprocess.run(command)"),
        ("python/whimbrel/quality/file.py", "ffmpeg.run(['-i', clip])"),
    ],
)
def test_a_new_entrance_without_rows_is_an_offence(
    script: ModuleType, project: Path, file: str, text: str
) -> None:
    (project / file).parent.mkdir(parents=True, exist_ok=True)
    (project / file).write_text(text)
    (found,) = offences(script, project)
    assert found.startswith(f"{file} listens or reads, and belongs to no surface")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("crates/net/src/quiet.rs", "fn tree() { clap::Command::new(name); let _ = File::create(path); }"),
        ("crates/net/src/quiet.rs", "fn pair() { UnixStream::pair(); }"),
        (
            "python/whimbrel/quality/file.py",
            "path.open('w', newline=''); path.write_text(json.dumps(1))",
        ),
    ],
)
def test_what_only_writes_is_none(script: ModuleType, project: Path, file: str, text: str) -> None:
    (project / file).parent.mkdir(parents=True, exist_ok=True)
    (project / file).write_text(text)
    assert offences(script, project) == []


def test_tests_of_the_elements_of_gstreamer_are_found(script: ModuleType, project: Path) -> None:
    tests = project / "gst" / "tests" / "all" / "control.rs"
    tests.parent.mkdir(parents=True)
    tests.write_text("#[test]\nfn a_secret() {}\n")
    for name, expected in (("a_secret", 0), ("another", 1)):
        moved = SURFACES.replace("whimbrel_net::echo::tests::holds", f"gst/tests/all/control.rs::{name}")
        assert len(offences(script, project, moved)) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"proven address"', '"authenticated peer"', "no row for the actor 'proven address'"),
        ("tests::holds", "tests::gone", "test whimbrel_net::echo::tests::gone"),
        ('none = "too small"', "", "expected test, or none with the reason"),
        ('"memory"', '"noise"', "effect: expected one of"),
        ("echo.rs", "old.rs", "crates/net/src/old.rs does not exist"),
        ('kind = "listener"', 'kind = "system"', "note must say"),
    ],
)
def test_a_row_that_says_nothing_is_an_offence(
    script: ModuleType, project: Path, old: str, new: str, expected: str
) -> None:
    assert any(expected in found for found in offences(script, project, SURFACES.replace(old, new)))
