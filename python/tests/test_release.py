"""The parts of a release that need no build: scripts/release."""

import io
import os
import re
import tarfile
import zipfile
from contextlib import nullcontext
from pathlib import Path

import archives
import crates
import pytest
import recipes
import semver
from workspace import Release, ReleaseError

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


def test_a_version_is_compared_with_the_newest_one_before_it() -> None:
    tags = ["v0.2.0", "v0.10.1", "v0.9.0", "v0.11.0", "v0.10.2-rc1", "draft"]
    assert semver.baseline(tags, "0.11.0") == ("0.10.1", "v0.10.1")
    assert semver.baseline(tags, "0.2.0") == semver.FIRST


def test_a_minor_version_may_break_interfaces_before_the_first_major_one_only() -> None:
    assert semver.may_break("0.1.0", "0.2.0")
    assert not semver.may_break("0.2.0", "0.2.1")
    assert semver.may_break("0.9.0", "1.0.0")
    assert not semver.may_break("1.0.0", "1.1.0")


@pytest.mark.parametrize(
    ("version", "crates_before", "status", "message"),
    [
        ("0.1.1", {"whimbrel-proto"}, 0, None),
        ("0.2.0", {"whimbrel-proto"}, 100, None),
        ("0.1.1", {"whimbrel-proto"}, 100, "0.1.1 breaks"),
        ("0.1.1", {"whimbrel-proto", "whimbrel-gone"}, 0, "0.1.1 breaks"),
        ("0.2.0", {"whimbrel-proto"}, 101, "exit status 101"),
    ],
)
def test_a_patch_version_that_breaks_an_interface_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    crates_before: set[str],
    status: int,
    message: str | None,
) -> None:
    tool = tmp_path / "cargo-semver-checks"
    tool.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\nexit {status}\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(semver, "baseline", lambda _tags, _version: semver.FIRST)
    monkeypatch.setattr(semver, "published", lambda _revision: crates_before)
    with pytest.raises(ReleaseError, match=message) if message else nullcontext():
        semver.check(Release(tmp_path, version, "0" * 40, 0))
    words = (tmp_path / "words").read_text()
    assert f"--baseline-rev {semver.FIRST[1]}" in words
    # A new crate has no baseline.
    assert re.findall(r"--package=(\S+)", words) == ["whimbrel-proto"]


def test_interfaces_are_not_compared_without_the_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("REQUIRE_ALL", raising=False)
    semver.check(Release(tmp_path, "0.2.1", "0" * 40, 0))
    assert "cargo install cargo-semver-checks" in capsys.readouterr().err
