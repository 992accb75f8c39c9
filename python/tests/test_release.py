"""The parts of a release that need no build: scripts/release."""

import io
import os
import tarfile
import zipfile
from pathlib import Path

import archives
import crates
import pytest
import recipes

CONTAINER = 'FROM scratch\nADD a.tar.gz /\n# A comment.\nLABEL a=1 \\\n      b=2\nENTRYPOINT ["/a"]\n'


def folder(place: Path, names: list[str]) -> Path:
    """A folder with files, made in that order, whose times differ from run to run."""
    top = place / "whimbrel-1.0.0"
    for name in names:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        path.chmod(0o750 if name.startswith("bin") else 0o640)
    (top / "link").symlink_to("bin/b")
    return top


def test_an_archive_depends_on_names_and_contents_only(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", ["bin/b", "share/a"])
    other = folder(tmp_path / "other", ["share/a", "bin/b"])
    os.utime(other / "share/a", (1, 1))
    for pack, suffix in ((archives.tar_gz, "tar.gz"), (archives.zipped, "zip")):
        packed = [tmp_path / f"{name}.{suffix}" for name in ("one", "other")]
        pack(one, packed[0], 1_700_000_000)
        pack(other, packed[1], 1_700_000_000)
        assert packed[0].read_bytes() == packed[1].read_bytes()
    with tarfile.open(tmp_path / "one.tar.gz") as tar:
        found = {member.name.partition("/")[2]: member for member in tar}
        assert [oct(found[name].mode) for name in ("bin/b", "share/a")] == ["0o755", "0o644"]
        assert found["link"].linkname == "bin/b"
        assert {(member.uid, member.mtime) for member in tar} == {(0, 1_700_000_000)}
    with zipfile.ZipFile(io.BytesIO((tmp_path / "one.zip").read_bytes())) as packed_zip:
        assert packed_zip.read("whimbrel-1.0.0/share/a") == b"share/a"


def test_crates_are_published_after_what_they_depend_on() -> None:
    assert crates.order({"net": {"proto", "units"}, "proto": {"units"}, "units": set()}) == [
        "units",
        "proto",
        "net",
    ]
    with pytest.raises(ValueError, match="in a ring"):
        crates.order({"a": {"b"}, "b": {"a"}})
    needs = crates.published()
    names = crates.order(needs)
    assert "whimbrel-net" in names
    assert all(names.index(needed) < names.index(name) for name in names for needed in needs[name])


def test_recipes_name_what_there_is() -> None:
    assert recipes.filled("version @VERSION@ of a@b", {"VERSION": "1.0.0"}) == "version 1.0.0 of a@b"
    with pytest.raises(KeyError):
        recipes.filled("@NOTHING@", {})
    assert recipes.container_offences(CONTAINER) == []
    assert recipes.container_offences(CONTAINER.replace("ADD", "ADDED")) == [
        "Containerfile: no instruction ADDED"
    ]
    assert recipes.container_offences(CONTAINER.replace("ENTRYPOINT", "CMD")) == [
        "Containerfile: expected FROM first, and one ENTRYPOINT"
    ]
