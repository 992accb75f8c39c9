"""scripts/check_rings.py finds rings among the files of a connection, and lets layers pass."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from script_modules import load

ROOT = Path(__file__).parents[2]

# Two concerns, the state that they share, and two layers that compose them.
FILES = {
    "connection": """
use close::Closing;
pub struct Connection {
    cx: Context,
    fx: Effects,
    /// The end of the connection.
    closing: Closing,
    freezing: Option<Box<Freezing>>,
}
impl Connection {
    pub fn close(&mut self) { self.finish(); }
}
""",
    "connection/context": """
use super::timer::Timers;
pub(super) struct Context { pub(super) now: u64 }
pub(super) struct Effects { pub(super) timers: Timers, pub(super) count: u64 }
""",
    "connection/timer": "pub(super) struct Timers; impl Timers { pub(super) fn set(&mut self) {} }",
    "connection/close": """
use super::context::{Context, Effects};
use super::timer::helper;
#[derive(Debug)]
pub(super) struct Closing { over: bool }
impl Closing {
    pub(super) fn finish(&mut self, cx: &Context, fx: &mut Effects) { fx.timers.set(); self.note() }
    fn note(&mut self) { self.over = true; }
}
""",
    "connection/freeze": """
pub(super) struct Freezing { local: bool }
impl Freezing { pub(super) fn is_frozen(&self) -> bool { self.local } }
""",
    "connection/outcome": """
use super::Connection;
impl Connection {
    // self.close() would be a ring.
    pub(super) fn finish(&mut self) {
        if let Some(freezing) = &self.freezing { freezing.is_frozen(); }
        self.closing.finish(&self.cx, &mut self.fx);
    }
}
""",
    "connection/outcome/tests": "fn test(connection: &mut Connection) { connection.close(); }",
}
LAYERS = {
    "connection": {"outcome"},
    "context": set(),
    "timer": set(),
    "close": {"timer"},
    "freeze": set(),
    "outcome": {"close", "context", "freeze"},
}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load("scripts/check_rings.py")


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / "crates/proto/src" / f"{name}.rs"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def changed(root: Path, name: str, old: str, new: str) -> Path:
    assert old in FILES[name]
    return write(root, {**FILES, name: FILES[name].replace(old, new)})


def test_layers_are_no_ring(script: ModuleType, tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    assert script.offences(root) == []
    assert script.Crate(root).calls == LAYERS
    assert script.Crate(root).concerns() == {"Closing": "close", "Freezing": "freeze"}


@pytest.mark.parametrize(
    ("name", "old", "new", "ring"),
    [
        # A method of the connection, in another file.
        (
            "connection/outcome",
            "self.closing.finish",
            "self.close(); self.closing.finish",
            "connection, outcome",
        ),
        (
            "connection/outcome",
            "self.closing.finish",
            "Self::close(self); self.closing.finish",
            "connection, outcome",
        ),
        (
            "connection/outcome",
            "self.closing.finish",
            "self\n  .close();\n self.closing.finish",
            "connection, outcome",
        ),
        # An associated function.
        ("connection/timer", "fn set(&mut self) {}", "fn set(&mut self) { Closing::note() }", "close, timer"),
    ],
)
def test_a_ring_is_found(
    script: ModuleType, tmp_path: Path, name: str, old: str, new: str, ring: str
) -> None:
    found = script.offences(changed(tmp_path, name, old, new))
    assert f"these call each other in a ring: {ring}" in found


def test_a_ring_through_imported_functions_and_fields_is_found(script: ModuleType, tmp_path: Path) -> None:
    timer = """
use super::close::text;
pub(super) struct Timers;
impl Timers { pub(super) fn set(&mut self) { text(); } }
"""
    close = FILES["connection/close"] + "pub(super) fn text() {}\n"
    root = write(tmp_path, {**FILES, "connection/timer": timer, "connection/close": close})
    assert script.offences(root) == ["these call each other in a ring: close, timer"]


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        (
            "connection/freeze",
            "self.local",
            "Connection::over(self)",
            "freeze: a concern is not handed the Connection",
        ),
        (
            "connection/freeze",
            "pub(super) struct",
            "use super::close::{Closing};\npub(super) struct",
            "freeze: a concern names another, Closing of close",
        ),
        (
            "connection/freeze",
            "self.local",
            "super::close::Closing::over()",
            "names another, Closing of close",
        ),
        (
            "connection/outcome",
            "impl Connection",
            "struct Part;\nimpl Part {}\nimpl Connection",
            "outcome: implements Connection and Part",
        ),
        (
            "connection/outcome",
            "self.closing.finish",
            "self.lost(); self.closing.finish",
            "self.lost() is no method",
        ),
        (
            "connection/outcome",
            "use super::Connection;",
            "use super::Connection;\nfn helper(connection: &mut Connection) {}",
            "outcome: calls by another name than self",
        ),
    ],
)
def test_what_could_hide_a_ring_is_an_offence(
    script: ModuleType, tmp_path: Path, name: str, old: str, new: str, reason: str
) -> None:
    found = script.offences(changed(tmp_path, name, old, new))
    assert any(reason in offence for offence in found), found


def test_the_command_fails_on_a_ring_and_draws_the_calls(tmp_path: Path) -> None:
    def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(ROOT / "scripts/check_rings.py"), "--root", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert run(write(tmp_path / "good", FILES)).stdout == "rings: ok\n"
    drawn = run(tmp_path / "good", "--draw", "dot").stdout
    assert drawn.startswith("digraph")
    assert "  outcome -> close;" in drawn
    assert "outcome -> close, context, freeze" in run(tmp_path / "good", "--draw").stdout
    bad = changed(
        tmp_path / "bad", "connection/outcome", "self.closing.finish", "self.close(); self.closing.finish"
    )
    result = run(bad)
    assert result.returncode == 1
    assert "ring: connection, outcome" in result.stderr


def test_methods_and_rings_have_ceilings(script: ModuleType, tmp_path: Path) -> None:
    files = {
        "radio": "pub struct Radio { first: u8 }\nimpl Radio {\n fn send(&self) { self.back_off(); }\n}\n",
        "radio/backoff": "impl Radio {\n fn back_off(&self) { self.first(); }\n fn first(&self) {}\n}\n",
        "radio/receive": "impl Radio {\n fn receive(&self) { self.send() }\n}\nimpl Drop for Radio {}\n",
    }
    root = write(tmp_path, files)
    home = "crates/proto/src/radio.rs"
    assert script.above_ceilings(root, [script.Owner("Radio", home, 4)]) == []
    assert script.above_ceilings(root, [script.Owner("Radio", home, 3)]) == ["Radio has 4 methods, at most 3"]
    write(tmp_path, {"radio/backoff": files["radio/backoff"].replace("self.first()", "Self::receive(self)")})
    assert script.above_ceilings(root, [script.Owner("Radio", home, 4)]) == [
        "Radio has 3 files in a ring, at most 1"
    ]


def test_this_project_has_no_ring(script: ModuleType) -> None:
    for owner in script.OWNERS:
        assert not owner.composed or script.offences(ROOT, owner) == []
    assert script.above_ceilings(ROOT, script.OWNERS) == []
    calls = script.Crate(ROOT).calls
    # Calls of each kind are found.
    assert {"emit", "packets", "outbound", "congestion"} <= calls["transmit"]
    assert {"options", "arrival", "opening"} <= calls["receive"]
    assert {"timer", "outbound"} <= calls["freeze"]
