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


def test_comments_are_counted_by_crate_and_phrase(project: Path) -> None:
    found = [(crate, phrase, number) for crate, phrase, _, number, _ in check_english.places(project)]
    assert found == [
        ("one", "pronoun", 1),
        ("one", "is-over", 1),
        ("one", "that-of", 2),
        ("one", "is-over", 4),
        ("one", "clause", 6),
        ("one", "clause", 9),
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
    assert check_english.ceilings(project) == {"one": {"that-of": 1}}


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


def test_the_crates_are_below_their_ceilings() -> None:
    assert check_english.main([]) == 0
