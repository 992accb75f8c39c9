"""`whimbrel compare`: what is found, what is not, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from whimbrel.__main__ import main
from whimbrel._reproduce.plan import Cell, Plan
from whimbrel._simulate.record_format import encode
from whimbrel._simulate.records import Records
from whimbrel.comparing import Change, Rules, Samples, compare, read
from whimbrel.errors import UsageError, WhimbrelError
from whimbrel.result import Result

SEEDS = range(1, 11)


def _samples(name: str, numbers: dict[tuple[str, str], list[float]], seeds: bool = True) -> Samples:
    samples = Samples(name, "run")
    for (place, metric), values in numbers.items():
        for index, value in enumerate(values):
            samples.add(place, metric, index + 1 if seeds else -1 - index, value)
    return samples


def _one(
    a: list[float],
    b: list[float],
    rules: Rules | None = None,
    seeds: bool = True,
    metric: str = "delay_mean_s",
) -> Change:
    key = ("call", metric)
    found = compare(_samples("a", {key: a}, seeds), _samples("b", {key: b}, seeds), rules)
    (change,) = found.changes
    return change


def test_runs_of_the_same_seed_are_pairs() -> None:
    # The seeds differ by far more than the change: only pairs show it.
    base = [10.0, 20.0, 30.0, 40.0, 50.0]
    shifted = [value + shift for value, shift in zip(base, (1.0, 1.1, 0.9, 1.0, 1.05), strict=True)]
    paired = _one(base, shifted)
    assert (paired.verdict, paired.judgement, paired.pairs) == ("changed", "worse", 5)
    assert paired.difference.mean == pytest.approx(1.01)
    independent = _one(base, shifted, seeds=False)
    assert (independent.verdict, independent.pairs) == ("unchanged", 0)


def test_welchs_test_has_its_known_probability() -> None:
    # By hand: means 2 and 6, variances of the means 1/3 and 4/3, t = 4 / sqrt(5/3) = 3.098, 2.94 degrees.
    found = _one([1.0, 2.0, 3.0], [4.0, 6.0, 8.0], seeds=False)
    assert found.probability == pytest.approx(0.0545, abs=5e-4)
    assert found.difference.mean == 4.0


def test_identical_runs_are_the_same_and_do_not_count() -> None:
    numbers = {("call", f"lost_{index}"): [1.0, 2.0, 3.0] for index in range(50)}
    rules = Rules(every_metric=True)
    both = {**numbers, ("call", "delay_mean_s"): [1.0, 1.1, 1.2]}
    other = {**numbers, ("call", "delay_mean_s"): [1.2, 1.31, 1.39]}
    found = compare(_samples("a", both), _samples("b", other), rules)
    assert [each.metric for each in found.changed()] == ["delay_mean_s"]
    assert sum(each.verdict == "same" for each in found.changes) == 50


def test_pairs_that_differ_by_the_same_amount_changed() -> None:
    found = _one([1.0, 2.0], [1.5, 2.5])
    assert (found.verdict, found.probability) == ("changed", 0.0)
    # Deterministic runs without seeds, measured again.
    assert _one([1.0, 1.0], [2.0, 2.0], seeds=False).verdict == "changed"


def test_numbers_that_differ_by_their_rounding_are_the_same() -> None:
    base = [0.1, 0.2, 0.3, 0.4]
    rounded = [value * (1 + 2e-16) for value in base]
    assert _one(base, rounded).verdict == "same"
    assert _one(base[:1], rounded[:1], seeds=False).verdict == "same"
    assert _one(base, rounded, Rules(exact=True)).verdict == "changed"


def test_single_runs_are_undecided_unless_they_must_be_identical() -> None:
    assert _one([1.0], [2.0]).verdict == "undecided"
    assert _one([1.0], [1.0]).verdict == "same"
    assert _one([1.0], [1.0], seeds=False).verdict == "same"
    assert _one([1.0], [2.0], seeds=False).verdict == "undecided"
    assert _one([1.0], [2.0], Rules(exact=True)).verdict == "changed"
    assert _one([1.0, 2.0, 3.0], [1.0, 2.0, 3.1], Rules(exact=True)).verdict == "changed"


def test_a_tolerance_must_be_exceeded_beyond_chance() -> None:
    base = [100.0, 101.0, 99.0, 100.5, 99.5]
    more = [value * factor for value, factor in zip(base, (1.030, 1.031, 1.029, 1.030, 1.0305), strict=True)]
    assert _one(base, more).verdict == "changed"
    assert _one(base, more, Rules(tolerance=0.02)).verdict == "changed"
    assert _one(base, more, Rules(tolerance=0.04)).verdict == "unchanged"
    assert _one(base, more, Rules(tolerance=0.02, tolerances={"delay*": 0.04})).verdict == "unchanged"
    # Of negative numbers, too.
    assert _one([-x for x in base], [-x for x in more], Rules(tolerance=0.02)).verdict == "changed"
    assert _one([-x for x in base], [-x for x in more], Rules(tolerance=0.04)).verdict == "unchanged"


def test_a_change_is_judged_by_the_direction_of_its_metric() -> None:
    low, high = [1.0, 1.1, 1.2], [2.0, 2.1, 2.21]
    assert _one(low, high, metric="goodput_bps", rules=Rules(every_metric=True)).judgement == "better"
    assert _one(high, low, metric="goodput_bps", rules=Rules(every_metric=True)).judgement == "worse"
    assert (
        _one(low, high, metric="links.queue_mean_packets", rules=Rules(every_metric=True)).judgement
        == "worse"
    )
    assert _one(low, high, metric="colour", rules=Rules(every_metric=True)).judgement == "different"
    rules = Rules(every_metric=True, better={"col*": "lower"})
    assert _one(low, high, metric="colour", rules=rules).judgement == "worse"


def test_of_many_numbers_without_a_change_hardly_any_is_called_changed() -> None:
    """Of 300 comparisons of 40 numbers, at most 5 % have a false change: 15, with a deviation of 3.8."""
    generator = np.random.default_rng(5)
    false = 0
    rules = Rules(every_metric=True)
    for _ in range(300):
        keys = [("call", f"m{index}") for index in range(40)]
        a, b = ({key: list(generator.normal(10, 1, 6)) for key in keys} for _ in range(2))
        false += bool(compare(_samples("a", a), _samples("b", b), rules).changed())
    assert 3 <= false <= 28


def test_repetitions_and_metrics_that_one_side_lacks_are_left_out_and_listed() -> None:
    a = _samples("a", {("call", "delay_mean_s"): [1.0, 1.1, 1.2, float("nan")], ("x", "jitter_s"): [1.0]})
    b = _samples("b", {("call", "delay_mean_s"): [2.0, 2.1, 2.21], ("y", "jitter_s"): [1.0]})
    found = compare(a, b)
    (change,) = found.changes
    assert (change.n_a, change.n_b, change.pairs, change.verdict) == (3, 3, 3, "changed")
    assert (found.only_a, found.only_b) == ((("x", "jitter_s"),), (("y", "jitter_s"),))
    with pytest.raises(UsageError, match="no number in common: jitter_s of x in the first, jitter_s of y"):
        compare(_samples("a", {("x", "jitter_s"): [1.0]}), _samples("b", {("y", "jitter_s"): [1.0]}))
    with pytest.raises(UsageError, match="no metric is called goodput; a has delay_mean_s, jitter_s"):
        compare(a, b, Rules(metrics=("goodput",)))


def _records(directory: Path, delays: dict[int, float]) -> Path:
    for seed, delay in delays.items():
        flows = {"flow": ["call", "noise"], "background": [False, True], "delay_mean_s": [delay, 9.0]}
        flows |= {"sent_packets": [100, 1], "lost_queue": [seed, 0], "lost_wireless": [1, 0]}
        flows |= {"lost_down": [0, 0], "lost_other": [0, 0]}
        key = f"{seed:04x}"
        content = encode(key, Result({"flows": flows}).tables, {"case": "radio = 1", "seed": seed})
        Records(directory).save(key, content)
    return directory


def test_records_are_read_by_case_seed_and_flow(tmp_path: Path) -> None:
    samples = read(_records(tmp_path / "a", {7: 0.1, 8: 0.2}))
    assert samples.values["radio = 1, call", "delay_mean_s"] == {7: 0.1, 8: 0.2}
    assert samples.values["radio = 1, call", "loss_ratio"] == {7: 0.08, 8: 0.09}
    assert not any("noise" in place for place, _ in samples.values)
    (tmp_path / "a" / "0007.record").write_bytes(b"no zip")
    with pytest.raises(WhimbrelError, match="damaged"):
        read(tmp_path / "a")


def test_sweeps_with_the_same_combinations_are_kept_apart(tmp_path: Path) -> None:
    for group, goodput in (("dsl", 1e6), ("lte", 2e6)):
        records = Records(tmp_path / group / "records")
        result = Result({"flows": {"flow": ["f"], "goodput_bps": np.array([goodput])}})
        records.save("k1", encode("k1", result.tables, {}))
        Plan("sweep", group, "emulation", False, 1, "e", (Cell("-", "", (1,), ("k1",)),)).write(tmp_path)
    # As an emulation leaves them, of its last run.
    (tmp_path / "flows.csv").write_text("flow,goodput_bps\nf,3e6\n")
    values = read(tmp_path).values
    assert {place: each for (place, metric), each in values.items() if metric == "goodput_bps"} == {
        "dsl, f": {1: 1e6},
        "lte, f": {1: 2e6},
    }
    assert {place for place, _ in read(tmp_path / "dsl").values} == {"-, f"}


def test_json_of_any_shape_is_read(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    file.write_text(
        json.dumps(
            {"parts": [{"part": "codel", "ns": 12.5, "ok": True}, {"part": "red", "ns": 8}], "x": [1, 2, 4]}
        )
    )
    samples = read(file)
    assert samples.values == {
        ("parts/codel", "ns"): {-1: 12.5},
        ("parts/red", "ns"): {-1: 8.0},
        ("", "x"): {-1: 1.0, -2: 2.0, -3: 4.0},
    }
    lines = tmp_path / "lines.json"
    lines.write_text('{"name": "a", "v": 1}\n{"name": "b", "v": 2}\n')
    assert read(lines).values == {("a", "v"): {-1: 1.0}, ("b", "v"): {-1: 2.0}}
    run = tmp_path / "run.json"
    tables = {"flows": {"flow": ["call"], "delay_mean_s": [0.5], "rtt_mean_s": [None]}}
    run.write_text(json.dumps({"seed": 3, "tables": tables}))
    assert read(run).values["call", "delay_mean_s"] == {3: 0.5}
    several = tmp_path / "several"
    several.mkdir()
    for index, value in enumerate((1.0, 3.0)):
        (several / f"{index}.json").write_text(json.dumps({"rate_bps": value}))
    assert read(several).values == {("", "rate_bps"): {-1: 1.0, -2: 3.0}}


def test_the_exit_code_tells_a_change_from_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = str(_records(tmp_path / "a", {seed: 0.1 + seed / 1e4 for seed in SEEDS}))
    b = str(_records(tmp_path / "b", {seed: 0.2 + seed / 1.1e4 for seed in SEEDS}))
    assert main(["compare", a, a]) == 0
    assert "0 of 2 numbers changed beyond chance" in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert main(["compare", a, b, "--html", str(page)]) == 1
    shown = capsys.readouterr().out
    assert "1 of 2 numbers changed beyond chance (1 worse)" in shown
    text = page.read_text()
    for expected in ("<td>radio = 1, call</td>", "<td>worse</td>"):
        assert expected in text
    assert "src=" not in text
    assert main(["compare", a, b, "--fail-on", "better"]) == 0
    assert main(["compare", b, a, "--fail-on", "better"]) == 1
    with pytest.raises(SystemExit, match="2"):
        main(["compare", a, b, "--tolerance", "200%"])
    capsys.readouterr()
    assert main(["compare", a, b, "--tolerance", "delay*=100%", "--json"]) == 0
    document = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [each["pairs"] for each in document["numbers"]] == [10, 10]
    for wrong in ([a, str(tmp_path / "none")], [a, str(tmp_path)], [a, b, "--metric", "colour"]):
        assert main(["compare", *wrong]) == 2
