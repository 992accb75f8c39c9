"""`whimbrel pack` and `whimbrel verify`: what is packed, and what a check of it finds."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_core import FakeCore

from whimbrel.__main__ import main
from whimbrel._simulate import record_format
from whimbrel.errors import CampaignInterrupted
from whimbrel.packing import again, manifest, verifying

Said = Callable[..., tuple[int, dict[str, Any], str]]

SCENARIO = """
title = "A link that a file drives"
[simulation]
duration = "2 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "radio"
between = ["a", "b"]
trace = { file = "../traces/walk.csv", format = "rate" }
delay = "10 ms"
queue = "20 packets"
loss = { model = "bernoulli", rate = "1 %" }
reverse = { rate = "2 Mbit/s" }
[[flow]]
name = "f"
from = "a"
to = "b"
transport = "udp"
traffic = { kind = "cbr", rate = "1 Mbit/s" }
[sweep]
"link.radio.delay" = ["10 ms", "40 ms"]
"""


@pytest.fixture(name="said")
def _said(capsys: pytest.CaptureFixture[str]) -> Said:
    """Runs a command: the exit code, the JSON and the errors that it printed."""

    def run(*words: object) -> tuple[int, dict[str, Any], str]:
        capsys.readouterr()
        code = main([*map(str, words), "--json"])
        printed = capsys.readouterr()
        return code, json.loads(printed.out) if printed.out else {}, printed.err

    return run


@pytest.fixture(name="toy")
def _toy(core: FakeCore, tmp_path: Path, said: Said) -> Path:
    """A pack of the toy paper."""
    assert said("reproduce", "toy", "--quick", "--out", "res")[0] == 0
    assert said("pack", "res", "--to", "toy.pack.zip", "--author", "Ng, Ada")[0] == 0
    return tmp_path / "toy.pack.zip"


@pytest.fixture(name="swept")
def _swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Said) -> Path:
    """A pack of a real sweep, whose scenario no longer exists."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here" / "scenarios").mkdir(parents=True)
    (tmp_path / "here" / "traces").mkdir()
    (tmp_path / "here" / "traces" / "walk.csv").write_text("0 2.0\n1 1.0\n2 3.0\n")
    (tmp_path / "here" / "scenarios" / "walk.toml").write_text(SCENARIO)
    words = ["--metric", "goodput_bps", "--max-runs", "3", "--out", "res"]
    words += ["--set", "link.radio.queue=9 packets"]
    assert said("sweep", "here/scenarios/walk.toml", *words)[0] == 0
    assert said("pack", "res", "--to", "walk.pack.zip")[0] == 0
    shutil.rmtree(tmp_path / "here")
    shutil.rmtree(tmp_path / "res")
    return tmp_path / "walk.pack.zip"


def _unpacked(pack: Path) -> Path:
    folder = pack.with_name("unpacked")
    with zipfile.ZipFile(pack) as archive:
        archive.extractall(folder)
    return folder


def _listed_again(folder: Path) -> None:
    """Gives a changed folder the list that it would have."""
    path = folder / manifest.NAME
    listed = json.loads(path.read_text())
    for name in listed["files"]:
        found = manifest.digest(folder / name)
        listed["files"][name] = {"sha256": found.sha256, "bytes": found.bytes}
    path.write_text(json.dumps(listed))


def test_a_pack_has_everything_that_a_reader_needs(toy: Path) -> None:
    folder = _unpacked(toy)
    listed = json.loads((folder / "pack.json").read_text())
    files = set(listed["files"])
    assert {
        "ARTEFACT.md", ".zenodo.json", "ro-crate-metadata.json", "licences/LICENSE-MIT",
        "licences/LICENSE-APACHE", "container/Containerfile", "container/verify.sh", "container/venv.sh",
        "container/requirements.txt", "results/index.html", "results/manifest.json",
        "results/toy/claims.json",
        "results/toy/table1.csv", "results/toy/table1-throughput.svg",
        "results/toy/records/table1.plan.json",
        "tables/toy/table1.csv", "tables/toy/table1.parquet", "tables/toy/table1-runs.csv",
        "tables/toy/table1-runs.parquet",
    } <= files  # fmt: skip
    assert sum(name.endswith(".record") for name in files) == 6
    assert all(
        manifest.digest(folder / name).sha256 == each["sha256"] for name, each in listed["files"].items()
    )
    claims = {claim["id"]: claim for claim in listed["claims"]}
    assert list(claims) == ["toy/zigzag-wins", "toy/tcp-wins", "toy/fewer-is-more"]
    claim = claims["toy/zigzag-wins"]
    assert claim["command"] == "whimbrel reproduce toy table1 --quick"
    assert (claim["runs"], claim["verdict"]) == (4, "holds")
    assert claim["seconds"] > 0
    records = list(folder.glob("results/toy/records/*.record"))
    assert 0 < claim["bytes"] < sum(path.stat().st_size for path in records) + 10_000
    # A line for each number of each run.
    assert len((folder / "tables/toy/table1-runs.csv").read_text().splitlines()) == 1 + 2 * 2 * 2
    appendix = (folder / "ARTEFACT.md").read_text()
    for word in ("## Available", "## Functional", "## Reproduced", claim["command"], "toy.pack.zip"):
        assert word in appendix
    assert json.loads((folder / ".zenodo.json").read_text())["creators"] == [{"name": "Ng, Ada"}]


def test_the_metadata_is_that_of_ro_crate(toy: Path) -> None:
    folder = _unpacked(toy)
    document = json.loads((folder / "ro-crate-metadata.json").read_text())
    assert document["@context"][0] == "https://w3id.org/ro/crate/1.1/context"
    entities = {each["@id"]: each for each in document["@graph"]}
    assert len(entities) == len(document["@graph"])
    assert entities["ro-crate-metadata.json"]["conformsTo"]["@id"] == "https://w3id.org/ro/crate/1.1"
    root = entities["./"]
    assert root["datePublished"]
    # Everything that is named is described, and every file is named.
    named = [each["@id"] for key in ("hasPart", "author", "mentions") for each in root[key]]
    named += [root["license"]["@id"]]
    named += [each["@id"] for entity in entities.values() for each in entity.get("result", [])]
    assert set(named) <= set(entities)
    described = {"pack.json", "ro-crate-metadata.json", ".zenodo.json", "ARTEFACT.md"}
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert present - described == {each["@id"] for each in root["hasPart"]}


def test_tables_are_read_by_other_programs(toy: Path) -> None:
    polars = pytest.importorskip("polars")
    folder = _unpacked(toy)
    table = polars.read_parquet(folder / "tables/toy/table1-runs.parquet")
    assert table.columns == ["row", "column", "metric", "unit", "seed", "value"]
    values = table.filter((polars.col("column") == "tcp") & (polars.col("metric") == "throughput"))
    luck = [np.random.default_rng(seed).standard_normal() for seed in (1, 2)]
    assert values["value"].to_list() == pytest.approx([58 + each for each in luck])
    assert values["seed"].to_list() == [1, 2]


def test_a_pack_is_confirmed(toy: Path, core: FakeCore, said: Said) -> None:
    calls = len(core.calls)
    code, found, _ = said("verify", toy)
    assert code == 0, found
    assert [claim["status"] for claim in found["claims"]] == ["confirmed"] * 3
    assert [claim["repeated"] for claim in found["claims"]] == [1, 1, 2]
    assert len(core.calls) == calls + 2
    # The same command repeats nothing.
    assert said("verify", toy)[0] == 0
    assert len(core.calls) == calls + 2
    code, found, _ = said("verify", toy, "--whole")
    assert (code, [claim["repeated"] for claim in found["claims"]]) == (0, [4, 4, 6])
    assert len(core.calls) == calls + 6


def test_a_sweep_is_confirmed_without_the_files_that_it_was_made_from(swept: Path, said: Said) -> None:
    code, found, _ = said("verify", swept, "--whole")
    assert code == 0, found
    (claim,) = found["claims"]
    assert (claim["repeated"], claim["runs"]) == (6, 6)
    assert claim["seconds"] > 0
    assert not found["notes"]
    # Its command works from the folder in which it was unpacked.
    folder = _unpacked(swept)
    assert "--set 'link.radio.queue=9 packets'" in claim["command"]
    words = claim["command"].replace("'link.radio.queue=9 packets'", "Q").split()[1:]
    words = ["link.radio.queue=9 packets" if word == "Q" else word for word in words]
    words[1] = str(folder / words[1])
    assert said(*words, "--out", "again")[0] == 0
    mine, theirs = Path("again/walk/sweep.csv"), folder / "results/walk/sweep.csv"
    assert mine.read_bytes() == theirs.read_bytes()


def test_numbers_that_were_changed_are_found(toy: Path, said: Said) -> None:
    folder = _unpacked(toy)
    table = folder / "results/toy/table1.csv"
    table.write_text(table.read_text().replace("zigzag,throughput,%,97.0,9", "zigzag,throughput,%,97.0,8", 1))
    code, _, error = said("verify", folder)
    assert code == 1
    assert "is damaged: results/toy/table1.csv does not have the SHA-256" in error
    _listed_again(folder)
    code, found, _ = said("verify", folder)
    assert code == 1
    assert [claim["status"] for claim in found["claims"]] == ["differs"] * 3
    assert found["claims"][0]["reason"] == "table1.csv differs from what its records give"


def test_a_verdict_that_was_changed_is_found(toy: Path, said: Said) -> None:
    folder = _unpacked(toy)
    claims = folder / "results/toy/claims.json"
    document = json.loads(claims.read_text())
    document[1] |= {"holds": True, "verdict": "holds"}
    claims.write_text(json.dumps(document))
    _listed_again(folder)
    code, found, _ = said("verify", folder)
    assert code == 1
    assert [claim["status"] for claim in found["claims"]] == ["confirmed", "differs", "confirmed"]


def test_a_record_that_was_invented_is_found(toy: Path, said: Said) -> None:
    folder = _unpacked(toy)
    for path in folder.glob("results/toy/records/*.record"):
        content = path.read_bytes()
        tables = record_format.decode(content, path.stem)
        tables["flows"]["goodput_bps"][:] += 1
        path.write_bytes(record_format.encode(path.stem, tables, record_format.about(content)))
    _listed_again(folder)
    code, found, _ = said("verify", folder, "--whole")
    assert code == 1
    assert all(claim["status"] == "differs" for claim in found["claims"])
    assert "4 of 4 repeated runs differ: seed 1 has other results" in found["claims"][0]["reason"]


def test_a_record_of_another_scenario_is_found(swept: Path, said: Said) -> None:
    folder = _unpacked(swept)
    scenario = folder / "results/walk/scenario/walk.json"
    scenario.write_text(scenario.read_text().replace('"1 %"', '"2 %"'))
    _listed_again(folder)
    code, found, _ = said("verify", folder)
    assert code == 1
    assert "its record is of another scenario" in found["claims"][0]["reason"]


def _rewritten(pack: Path, change: Callable[[zipfile.ZipFile, zipfile.ZipFile], None]) -> Path:
    target = pack.with_name("changed.zip")
    with zipfile.ZipFile(pack) as source, zipfile.ZipFile(target, "w") as into:
        change(source, into)
    return target


def _copy_but(source: zipfile.ZipFile, into: zipfile.ZipFile, *left_out: str) -> None:
    for member in source.infolist():
        if member.filename not in left_out:
            into.writestr(member, source.read(member))


@pytest.mark.parametrize(
    "name", ["../evil.txt", "/evil.txt", "results/../../evil.txt", "a\\..\\evil", "C:evil"]
)
def test_a_name_that_leads_elsewhere_is_refused(name: str, toy: Path, said: Said) -> None:
    def change(source: zipfile.ZipFile, into: zipfile.ZipFile) -> None:
        _copy_but(source, into)
        into.writestr(name, "evil")

    code, _, error = said("verify", _rewritten(toy, change))
    assert code == 1
    assert "is not the name of a file in a pack" in error
    assert not list(toy.parent.rglob("*evil*"))
    # The list alone may name it, too.
    folder = _unpacked(toy)
    listed = json.loads((folder / "pack.json").read_text())
    listed["files"][name] = listed["files"]["ARTEFACT.md"]
    (folder / "pack.json").write_text(json.dumps(listed))
    code, _, error = said("verify", folder)
    assert code == 1
    assert "is not the name of a file in a pack" in error


def test_foreign_missing_doubled_and_linked_files_are_named(toy: Path, said: Said) -> None:
    def foreign(source: zipfile.ZipFile, into: zipfile.ZipFile) -> None:
        _copy_but(source, into)
        into.writestr("results/toy/extra.csv", "a")

    def missing(source: zipfile.ZipFile, into: zipfile.ZipFile) -> None:
        _copy_but(source, into, "results/toy/table1.csv")

    def linked(source: zipfile.ZipFile, into: zipfile.ZipFile) -> None:
        _copy_but(source, into, "ARTEFACT.md")
        member = zipfile.ZipInfo("ARTEFACT.md")
        member.external_attr = 0o120777 << 16
        into.writestr(member, "/etc/passwd")

    for change, expected in (
        (foreign, "results/toy/extra.csv is foreign"),
        (missing, "is damaged: results/toy/table1.csv is missing"),
        (linked, "ARTEFACT.md is a link, expected a file"),
    ):
        code, _, error = said("verify", _rewritten(toy, change))
        assert (code, expected in error) == (1, True), error
    folder = _unpacked(toy)
    (folder / "ARTEFACT.md").unlink()
    (folder / "ARTEFACT.md").symlink_to("/etc/passwd")
    code, _, error = said("verify", folder)
    assert code == 1
    assert "ARTEFACT.md is a link, expected a file" in error


def test_files_next_to_an_unpacked_pack_are_the_readers(
    toy: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The results of `verify .` are there, and so is an environment.
    monkeypatch.chdir(_unpacked(toy))
    Path("venv").mkdir()
    Path("venv/notes").write_text("a")
    assert [said("verify", ".")[0] for _ in range(2)] == [0, 0]
    Path("results/toy/extra.csv").write_text("a")
    code, _, error = said("verify", ".")
    assert (code, "results/toy/extra.csv is foreign" in error) == (1, True), error


def test_other_files_are_no_packs(tmp_path: Path, said: Said) -> None:
    (tmp_path / "text.zip").write_text("no archive")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a", "b")
    for name, expected in (
        ("text.zip", "is damaged, or not a pack"),
        ("other.zip", "it has no pack.json"),
        ("none.zip", "does not exist"),
        (".", "it has no pack.json"),
    ):
        code, _, error = said("verify", tmp_path / name, "--out", tmp_path / "out")
        assert (code, expected in error) == (1, True), error


def test_a_cut_archive_is_damaged(toy: Path, said: Said) -> None:
    content = toy.read_bytes()
    toy.write_bytes(content[: len(content) // 2])
    code, _, error = said("verify", toy)
    assert code == 1
    assert "is damaged" in error
    # A byte in the middle of a stored record.
    toy.write_bytes(content[:2_000] + bytes([content[2_000] ^ 1]) + content[2_001:])
    code, _, error = said("verify", toy)
    assert code == 1
    assert "is damaged" in error


def test_a_small_archive_does_not_fill_the_disk(toy: Path, said: Said) -> None:
    def change(source: zipfile.ZipFile, into: zipfile.ZipFile) -> None:
        listed = json.loads(source.read("pack.json"))
        listed["files"]["ARTEFACT.md"]["bytes"] = 1 << 40
        _copy_but(source, into, "pack.json")
        into.writestr("pack.json", json.dumps(listed))

    code, _, error = said("verify", _rewritten(toy, change))
    assert code == 1
    assert "bytes unpacked: expected at most" in error


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("version", "9.9.9", "was made by Whimbrel 9.9.9"),
        ("format", 99, "has the format 99 of Whimbrel"),
    ],
)
def test_another_version_is_named(key: str, value: object, expected: str, toy: Path, said: Said) -> None:
    folder = _unpacked(toy)
    listed = json.loads((folder / "pack.json").read_text())
    listed[key] = value
    (folder / "pack.json").write_text(json.dumps(listed))
    code, _, error = said("verify", folder)
    assert code == 2
    assert expected in error
    if key == "version":
        assert said("verify", folder, "--any-version")[0] == 0


def test_the_code_of_a_paper_is_run_on_demand_only(
    toy: Path, core: FakeCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Said
) -> None:
    from whimbrel._base import paper_folders

    monkeypatch.setattr(paper_folders, "_added", [])
    shutil.copytree(tmp_path / "papers" / "toy", tmp_path / "mine" / "toy2")
    source = tmp_path / "mine" / "toy2" / "scenarios.py"
    source.write_text(source.read_text().replace('key="toy"', 'key="toy2"'))
    assert said("reproduce", "toy2", "--quick", "--papers", "mine", "--out", "two")[0] == 0
    assert said("pack", "two", "--papers", "mine", "--to", "two.pack.zip")[0] == 0
    shutil.rmtree(tmp_path / "mine")
    monkeypatch.setattr(paper_folders, "_added", [])
    code, found, _ = said("verify", "two.pack.zip")
    assert code == 1
    assert {claim["status"] for claim in found["claims"]} == {"not repeated"}
    assert "--run-papers runs it" in found["claims"][0]["reason"]
    code, found, _ = said("verify", "two.pack.zip", "--run-papers")
    assert code == 0, found
    assert "--papers papers" in found["claims"][0]["command"]


def test_only_results_are_packed(tmp_path: Path, said: Said) -> None:
    code, _, error = said("pack", tmp_path, "--to", tmp_path / "a.zip")
    assert code == 1
    assert "holds no results of `whimbrel reproduce`, `whimbrel sweep` or `whimbrel run`" in error
    assert not (tmp_path / "a.zip").exists()


def test_incomplete_results_are_not_packed(toy: Path, tmp_path: Path, said: Said) -> None:
    lost = sorted((tmp_path / "res/toy/records").glob("*.record"))[0]
    content = lost.read_bytes()
    lost.write_bytes(content[:-9])
    code, _, error = said("pack", "res", "--to", "b.zip")
    assert code == 1
    assert "repeat the command that made it" in error
    lost.unlink()
    assert said("pack", "res", "--to", "b.zip")[0] == 1
    assert not (tmp_path / "b.zip").exists()
    assert not list(tmp_path.glob(".pack-*"))


def test_the_same_results_give_the_same_archive(toy: Path, tmp_path: Path, said: Said) -> None:
    assert said("pack", "res", "--to", "toy.again/toy.pack.zip", "--author", "Ng, Ada")[0] == 0
    assert (tmp_path / "toy.again/toy.pack.zip").read_bytes() == toy.read_bytes()


PLAIN = SCENARIO.replace('trace = { file = "../traces/walk.csv", format = "rate" }', 'rate = "2 Mbit/s"')
PLAIN = PLAIN.partition("[sweep]")[0]


def test_several_results_are_one_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Said) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text(PLAIN)
    for out, rate in (("before", "2 Mbit/s"), ("after", "500 kbit/s")):
        words = ("--max-runs", "2", "--out", out, "--set", f"link.radio.rate={rate}")
        assert said("sweep", "a.toml", *words)[0] == 0
    assert said("pack", "before", "after", "--to", "both.pack.zip")[0] == 0
    code, found, _ = said("verify", "both.pack.zip", "--whole")
    assert code == 0, found
    assert [claim["id"] for claim in found["claims"]] == ["before/a/sweep", "after/a/sweep"]
    assert found["claims"][1]["command"].startswith("whimbrel sweep results/after/a/scenario/a.json --set ")
    # The pack allows a comparison of the two.
    folder = _unpacked(tmp_path / "both.pack.zip")
    assert main(["compare", str(folder / "results/before"), str(folder / "results/after")]) == 1
    shutil.copytree("before", "other/before")
    code, _, error = said("pack", "before", "other/before", "--to", "c.zip")
    assert (code, "two of the folders have one name" in error) == (2, True)


def test_a_pack_removes_nothing_elsewhere(toy: Path, tmp_path: Path, said: Said) -> None:
    folder = _unpacked(toy)
    listed = json.loads((folder / "pack.json").read_text())
    (tmp_path / "precious").mkdir()
    for name in ("../../../precious", "..", str(tmp_path / "precious")):
        (folder / "pack.json").write_text(json.dumps({**listed, "folders": [name]}))
        code, _, error = said("verify", folder, "--out", tmp_path / "out")
        assert (code, "are not names of folders" in error) == (1, True), error
    assert (tmp_path / "precious").is_dir()
    # Nor is a pack without claims confirmed.
    (folder / "pack.json").write_text(json.dumps({**listed, "claims": []}))
    assert said("verify", folder)[0] == 1


def test_an_interrupted_check_resumes(
    toy: Path, core: FakeCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Said
) -> None:
    compare, compared = again._compare, [0]

    def interrupted(*given: Any) -> None:
        compared[0] += 1
        if compared[0] == 3:
            raise KeyboardInterrupt
        compare(*given)

    wish = verifying.Wish(tmp_path / "out/verify", whole=True, jobs=1, quiet=True)
    with monkeypatch.context() as patched:
        patched.setattr(again, "_compare", interrupted)
        with pytest.raises(CampaignInterrupted, match="keeps 3 repeated runs; the same command resumes"):
            verifying.verify(toy, wish)
    # Threads end the runs that they have begun.
    before = len(core.calls)
    code, found, _ = said("verify", toy, "--whole")
    assert (code, [claim["repeated"] for claim in found["claims"]]) == (0, [4, 4, 6])
    assert len(core.calls) - before <= 3
