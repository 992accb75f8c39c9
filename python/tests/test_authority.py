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
        ("python/whimbrel/_show/page.py", "socket.create_server(('', 0))"),
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
