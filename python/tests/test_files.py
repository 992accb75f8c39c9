"""Files that are written whole or not at all, and the cache."""

from pathlib import Path

import pytest

from whimbrel._base import files


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    monkeypatch.delenv("WHIMBREL_CACHE", raising=False)
    assert files.cache_directory() == Path("/x/whimbrel")
    monkeypatch.setenv("WHIMBREL_CACHE", "/w")
    assert files.cache_directory() == Path("/w")


def test_a_text_is_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WHIMBREL_CACHE", str(tmp_path / "cache"))
    made: list[str] = []

    def make() -> str:
        made.append("ü\r\n")
        return made[-1]

    assert [files.cached_text("a", make) for _ in range(2)] == ["ü\r\n"] * 2
    assert len(made) == 1


def test_a_cache_that_cannot_be_used_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff")
    (tmp_path / "file").write_text("")
    for cache in (tmp_path, tmp_path / "file"):
        monkeypatch.setenv("WHIMBREL_CACHE", str(cache))
        assert files.cached_text("a", lambda: "made") == "made"
    assert (tmp_path / "a").read_text() == "made"
    assert (tmp_path / "file").read_text() == ""


def test_a_file_that_cannot_be_replaced_stays(tmp_path: Path) -> None:
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="folder"):
        files.replace_text(tmp_path / "folder", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
