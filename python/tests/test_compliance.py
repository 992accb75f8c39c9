"""scripts/compliance.py finds all errors, and no others."""

import json
from pathlib import Path
from types import ModuleType

import pytest
import script_modules

ROOT = Path(__file__).parents[2]

LIBRARY = """
pub mod window;
/* mod commented { fn gone() {} } */
pub const LIMIT: u64 = 1; // fn in_a_comment() {}
pub enum Code { Closed, Other(u8) }
impl<T: Into<u8>> From<T> for Code { fn from(_: T) -> Self { let _ = '{'; Self::Closed } }
pub trait Sender { fn poll(&mut self); }
mod inline { pub(crate) fn deep() { let _ = "fn in_a_string() {"; } }
"""
WINDOW = """
pub struct Window<'a> { width: &'a u64 }
impl<'a> Window<'a> where 'a: 'a { pub const fn is_valid(&self) -> bool { helper(1) } }
impl Other { fn elsewhere() {} }
#[cfg(test)]
mod tests;
"""
TESTS = """
#[test]
fn holds() {}
/// Not run.
#[test]
#[ignore = "slow"]
fn sleeps() {}
fn helper() {}
proptest! {
    #[test]
    fn is_a_law(x in 0..3u8) { }
}
#[tokio::test]
async fn waits() {}
"""
MET = {"function": "whimbrel_toy::window::Window::is_valid", "test": "whimbrel_toy::window::tests::holds"}


@pytest.fixture(scope="module", name="script")
def _script() -> ModuleType:
    return script_modules.load("scripts/compliance.py")


@pytest.fixture(name="project")
def _project(tmp_path: Path, script: ModuleType) -> Path:
    files = {
        "crates/toy/src/lib.rs": LIBRARY,
        "crates/toy/src/window.rs": WINDOW,
        "crates/toy/src/window/tests.rs": TESTS,
        "crates/toy/tests/whole.rs": "#[test]\nfn end_to_end() {}\n",
        "python/tests/test_toy.py": "def test_toy():\n    pass\n",
    }
    for rfc in script.TITLES:
        files[f"compliance/{rfc}.toml"] = ""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def _entry(**values: object) -> str:
    given = {"section": "7.5.1", "level": "MUST", "text": "The window has two ends.", **values}
    return "[[requirement]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in given.items())


def _offences(script: ModuleType, project: Path, *entries: str) -> list[str]:
    (project / "compliance" / "rfc4340.toml").write_text("\n".join(entries))
    offences: list[str] = script.read(project).offences
    return offences


@pytest.mark.parametrize(
    "path",
    [
        "whimbrel_toy::window::Window::is_valid",
        "whimbrel_toy::window::Window::width",
        "whimbrel_toy::window::Window",
        "whimbrel_toy::window",
        "whimbrel_toy::LIMIT",
        "whimbrel_toy::Code::Closed",
        "whimbrel_toy::Code::Other",
        "whimbrel_toy::Code::from",
        "whimbrel_toy::Sender::poll",
        "whimbrel_toy::inline::deep",
    ],
)
def test_existing_items_are_found(script: ModuleType, project: Path, path: str) -> None:
    assert _offences(script, project, _entry(**{**MET, "function": path})) == []


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("whimbrel_toy::window::Window::helper", "Window has no helper in crates/toy/src/window.rs"),
        ("whimbrel_toy::window::Window::elsewhere", "Window has no elsewhere"),
        ("whimbrel_toy::window::Door::is_valid", "no Door in crates/toy/src/window.rs"),
        ("whimbrel_toy::wall::Wall", "no module wall in crates/toy/src/lib.rs"),
        ("whimbrel_toy::commented::gone", "no module commented"),
        ("whimbrel_toy::in_a_comment", "no in_a_comment"),
        ("whimbrel_toy::in_a_string", "no in_a_string"),
        ("whimbrel_toys::LIMIT", "no crate whimbrel_toys"),
        ("whimbrel_toy::inline::deep()", "no parentheses"),
    ],
)
def test_missing_items_are_named(script: ModuleType, project: Path, path: str, reason: str) -> None:
    (offence,) = _offences(script, project, _entry(**{**MET, "function": path}))
    assert reason in offence
    assert offence.startswith("compliance/rfc4340.toml, 7.5.1, 'The window has two ends.'")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("whimbrel_toy::window::tests::holds", ""),
        ("whimbrel_toy::window::tests::is_a_law", ""),
        ("whimbrel_toy::window::tests::waits", ""),
        ("whimbrel_toy/tests/whole.rs::end_to_end", ""),
        ("python/tests/test_toy.py::test_toy", ""),
        ("whimbrel_toy::window::tests::sleeps", "is ignored"),
        ("whimbrel_toy::window::tests::helper", "is not a #[test]"),
        ("whimbrel_toy::window::tests::dreams", "no fn dreams in crates/toy/src/window/tests.rs"),
        ("whimbrel_toy/tests/half.rs::end_to_end", "no file crates/toy/tests/half.rs"),
        ("python/tests/test_toy.py::test_other", "no test_other in python/tests/test_toy.py"),
        ("whimbrel_toy::window::tests", "a module, not a test"),
    ],
)
def test_a_test_must_run(script: ModuleType, project: Path, path: str, reason: str) -> None:
    offences = _offences(
        script, project, _entry(**{**MET, "test": ["whimbrel_toy::window::tests::holds", path]})
    )
    assert len(offences) == bool(reason)
    assert all(reason in offence for offence in offences)


def test_entries_must_be_well_formed(script: ModuleType, project: Path) -> None:
    def reasons(**values: object) -> str:
        return "\n".join(_offences(script, project, _entry(**values)))

    assert "both met (function, test) and excepted" in reasons(**MET, excepted="no time")
    assert "no function, and not excepted" in reasons(test=MET["test"])
    assert "no test, and not excepted" in reasons(function=MET["function"])
    assert "excepted must give the reason" in reasons(excepted=" ")
    assert "level 'MAY': expected one of MUST" in reasons(**MET, level="MAY")
    assert "unknown key 'tests'" in reasons(**MET, tests="x")
    assert "section must be a text" in reasons(**MET, section=7)
    assert "test must be a path or a list" in reasons(**{**MET, "test": []})
    assert reasons(excepted="nothing to do with a transport in user space") == ""
    again = _offences(script, project, _entry(**MET), _entry(excepted="why"))
    assert again == ["compliance/rfc4340.toml, 7.5.1, 'The window has two ends.': twice"]
    (syntax,) = _offences(script, project, "[[requirement]")
    assert syntax.startswith("compliance/rfc4340.toml: ")
    (project / "compliance" / "rfc4341.toml").unlink()
    assert "compliance/rfc4341.toml: missing" in _offences(script, project)


def test_the_page_and_the_counts_have_every_requirement(
    script: ModuleType, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [
        _entry(**MET),
        _entry(**MET, section="10.1", level="SHOULD", text="Ten | comes later."),
        _entry(section="9", text="Nothing.", excepted="no socket has it"),
    ]
    (project / "compliance" / "rfc4340.toml").write_text("\n".join(entries))
    page = script.page(script.read(project))
    assert "|RFC 4340|1/2|-|1/1|-|2/3|0|1|0|" in page
    assert "|9|MUST|Nothing.|no socket has it|" in page
    assert page.index("|7.5.1|") < page.index("|10.1|SHOULD|Ten \\| comes later.|")
    assert script.main(["--json"], project) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["counts"]["rfc4340"]["MUST"] == {"met": 1, "deviates": 0, "excepted": 1, "open": 0}
    assert [one["section"] for one in printed["requirements"]] == ["7.5.1", "10.1", "9"]
    (project / "crates" / "toy" / "src" / "window.rs").write_text("")
    assert script.main([], project) == 1


def test_open_requirements_are_offences_unless_allowed(
    script: ModuleType, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [_entry(missing=True), _entry(**{**MET, "section": "1", "test": "TODO"})]
    assert _offences(script, project, *entries) == []
    assert script.main(["--allow-open"], project) == 0
    assert "|RFC 4340|0/2|-|-|-|0/2|0|0|2|" in script.page(script.read(project))
    assert "2 still to be done" in capsys.readouterr().out
    assert script.main([], project) == 1
    complaints = capsys.readouterr().err.splitlines()
    assert [line.rpartition(": ")[2] for line in complaints] == ["not done yet", "test still to be written"]


def test_moved_items_are_followed(
    script: ModuleType, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = project / "crates" / "toy" / "src"
    (source / "window").mkdir(exist_ok=True)
    (source / "window" / "inner.rs").write_text(WINDOW)
    (source / "window.rs").write_text("mod inner;")
    (source / "window" / "inner").mkdir()
    (source / "window" / "tests.rs").rename(source / "window" / "inner" / "tests.rs")
    (offence, other) = _offences(script, project, _entry(**MET))
    assert "(now whimbrel_toy::window::inner::Window::is_valid?)" in offence
    assert "(now whimbrel_toy::window::inner::tests::holds?)" in other
    assert script.main(["--fix"], project) == 0
    assert "whimbrel_toy::window::inner::tests::holds" in script.page(script.read(project))
    # With two candidates, the choice must be made by hand.
    (source / "window" / "outer.rs").write_text(WINDOW)
    gone = "whimbrel_toy::window::gone::Window::is_valid"
    (offence,) = _offences(
        script,
        project,
        _entry(**{**MET, "function": gone, "test": "whimbrel_toy::window::inner::tests::holds"}),
    )
    assert "inner::Window::is_valid or whimbrel_toy::window::outer::Window::is_valid?" in offence
    capsys.readouterr()
    assert script.main(["--fix"], project) == 1


def test_reasons_are_checked(script: ModuleType, project: Path) -> None:
    window = "whimbrel_toy::window::Window"
    assert _offences(script, project, _entry(excepted=f"as `{window}` does")) == []
    (gone,) = _offences(script, project, _entry(excepted="done by `whimbrel_toy::window::Door` only"))
    assert "the reason names whimbrel_toy::window::Door" in gone
    (gone,) = _offences(script, project, _entry(**MET, deviation="but `whimbrel_toy::window::Door` does not"))
    assert "the reason names whimbrel_toy::window::Door" in gone
    assert _offences(script, project, _entry(excepted="not done", until="whimbrel_toy::window::Door")) == []
    (stale,) = _offences(script, project, _entry(excepted="windows do not exist", until=window))
    assert f"excepted until {window} exists, which it does" in stale
    (misplaced,) = _offences(script, project, _entry(**MET, until=window))
    assert "until belongs to what is excepted" in misplaced


def test_requirements_met_with_a_deviation_count_and_are_shown(script: ModuleType, project: Path) -> None:
    entry = _entry(**MET, deviation="not on Sundays")
    assert _offences(script, project, entry) == []
    page = script.page(script.read(project))
    assert "|RFC 4340|1/1|-|-|-|1/1|1|0|0|" in page
    assert "|The window has two ends.|not on Sundays|" in page
