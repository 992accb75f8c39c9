"""One syntax for rates, times and shares, in commands of both languages and in scenarios."""

import argparse
from pathlib import Path

import pytest

import whimbrel
from whimbrel.__main__ import main
from whimbrel._base import quantities

SCENARIO = Path(__file__).parents[2] / "examples" / "scenarios" / "wb.toml"


def test_quantities_have_their_units() -> None:
    assert [quantities.seconds(text) for text in ("150ms", "0.15 s", "2min")] == [0.15, 0.15, 120.0]
    assert {quantities.bits_per_second(text) for text in ("2M", "2 Mbit/s", "250kB/s", "2e6")} == {2e6}
    assert [quantities.share(text) for text in ("1%", "0.01", "100 %")] == [0.01, 0.01, 1.0]


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (quantities.seconds, "150"),
        (quantities.seconds, "1 fortnight"),
        (quantities.bits_per_second, "0"),
        (quantities.bits_per_second, "fast"),
        (quantities.share, "1.5"),
        (quantities.share, "-1%"),
    ],
)
def test_other_text_is_an_error_that_says_what_was_expected(read: object, text: str) -> None:
    assert callable(read)
    with pytest.raises(argparse.ArgumentTypeError, match=f"'{text}'|\"{text}\".* such as "):
        read(text)


def test_scenarios_have_the_same_syntax() -> None:
    short, long = (
        whimbrel.run(SCENARIO, overrides=["simulation.duration=22.1s", f"link.backbone.rate={rate}"])
        for rate in ("'1M'", "'1 Mbit/s'")
    )
    assert list(short.flows["goodput_bps"]) == list(long.flows["goodput_bps"])


def test_a_sweep_takes_its_precision_as_a_share(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["sweep", "a.toml", "--precision", "200%"])
    assert "a share from 0 to 1, such as 1% or 0.01" in capsys.readouterr().err
