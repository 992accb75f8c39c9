"""Phrases in comments have ceilings that only fall."""

from pathlib import Path

import check_english
import pytest


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    source = tmp_path / "crates" / "one" / "src" / "lib.rs"
    source.parent.mkdir(parents=True)
    source.write_text(
        "//! It counts, and is over.\n"
        "/// The rate is that of the path.\n"
        "let that_of = 1; // not a line of its own\n"
        "/// That is why a link is over a radio.\n"
        "let text = 1;\n"
        "/// What becomes of a packet,\n"
        "/// Where one is lost.\n"
        "///\n"
        "/// How it is lost.\n"
        "let text = 2;\n"
        "// Who asked?\n"
    )
    return tmp_path


def test_comments_are_counted_by_area_and_phrase(project: Path) -> None:
    found = [(area, phrase, number) for area, phrase, _, number, _ in check_english.places(project)]
    assert found == [
        ("crates/one", "pronoun", 1),
        ("crates/one", "is-over", 1),
        ("crates/one", "that-of", 2),
        ("crates/one", "is-over", 4),
        ("crates/one", "clause", 6),
        ("crates/one", "clause", 9),
    ]


def test_a_number_above_its_ceiling_fails_and_a_lower_one_moves_it(project: Path) -> None:
    assert check_english.main([], project) == 1
    assert check_english.main(["--write"], project) == 0
    assert check_english.main([], project) == 0
    source = project / "crates" / "one" / "src" / "lib.rs"
    text = source.read_text()
    source.write_text(text + "/// Whatever comes beside it: whatever.\n")
    assert check_english.main(["--write"], project) == 1
    source.write_text("/// The rate is that of the path.\n")
    assert check_english.main(["--write"], project) == 0
    assert check_english.ceilings(project) == {"crates/one": {"that-of": 1}}


PYTHON = '''#!/usr/bin/env python3
"""It counts.

Next to a wall, beside a wall.
"""

RATE = 1  # that of the path
# It waits.
"""Whatever it is."""
TEXT = "beside  # It is over"


class Path:
    """A path."""

    def rate(self) -> float:
        r"""How fast.

        How much.
        """
        return 1.0
'''


@pytest.mark.parametrize("folder", ["gst", "papers/one", "python/tests"])
def test_comments_and_docstrings_of_python_are_counted(tmp_path: Path, folder: str) -> None:
    source = tmp_path / folder / "one.py"
    source.parent.mkdir(parents=True)
    source.write_text(PYTHON)
    # A long line of code with a comment behind it is the formatter's affair.
    (source.parent / "two.py").write_text(f"RATE = {'1 + ' * 30}1  # per second\n# {'long ' * 22}\n")
    built = source.parent / "target" / "three.py"
    built.parent.mkdir()
    built.write_text("# It is built.\n")
    found = [
        (area, phrase, path.name, line) for area, phrase, path, line, _ in check_english.places(tmp_path)
    ]
    area = folder.split("/")[0]
    assert found == [
        (area, "pronoun", "one.py", 2),
        (area, "beside", "one.py", 4),
        (area, "that-of", "one.py", 7),
        (area, "pronoun", "one.py", 8),
        (area, "whatever", "one.py", 9),
        (area, "clause", "one.py", 17),
        (area, "clause", "one.py", 19),
        (area, "long", "two.py", 2),
    ]


def test_an_empty_line_precedes_each_function_after_a_block(project: Path) -> None:
    source = project / "crates" / "one" / "src" / "lib.rs"
    source.write_text(
        "impl One {\n"
        "    fn first() {\n"
        "    }\n"
        "    /// Second.\n"
        "    #[must_use]\n"
        "    pub(crate) const fn second() {\n"
        "        if true {\n"
        "        }\n"
        "    }\n"
        "\n"
        "    fn third() {}\n"
        "}\n"
        "fn fourth() {}\n"
    )
    found = [(phrase, number) for _, phrase, _, number, _ in check_english.places(project)]
    assert found == [("gap", 4), ("gap", 13)]
    check_english.main(["--mend"], project)
    assert "    }\n\n    /// Second.\n" in source.read_text()
    assert "}\n\nfn fourth" in source.read_text()
    assert not list(check_english.places(project))


def test_the_project_is_below_its_ceilings() -> None:
    assert check_english.main([]) == 0
