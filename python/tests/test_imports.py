"""scripts/check_imports.py finds rings, bypassed doors, floors and hidden imports of the package."""

from pathlib import Path

import pytest
from script_modules import load

check = load("scripts/check_imports.py")

FILES = {
    "__init__": "HOMES = {'Sheet': 'whimbrel._values.sheet'}",
    "_core.pyi": "",
    "errors": "",
    "sheet": "from whimbrel._values.sheet import Sheet",
    "_values/__init__": "",
    "_values/sheet": "from whimbrel.errors import WhimbrelError",
    "_show/__init__": "",
    "_show/page": "from whimbrel import _core, errors\nfrom whimbrel._values import sheet",
}


def offences(tmp_path: Path, **more: str) -> list[str]:
    for name, text in {**FILES, **{name.replace("__in__", "/"): text for name, text in more.items()}}.items():
        path = tmp_path / "python/whimbrel" / (name if "." in name else f"{name}.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return list(check.offences(tmp_path))


def test_the_package_has_no_offence() -> None:
    assert list(check.offences(check.ROOT)) == []


def test_layers_pass(tmp_path: Path) -> None:
    assert offences(tmp_path) == []
    assert check.floors(check.between_rooms(check.modules(tmp_path))) == {
        "_core": 1,
        "errors": 1,
        "_values": 2,
        "_show": 3,
        "sheet": 3,
        "": 3,
    }


@pytest.mark.parametrize(
    "back",
    [
        "from whimbrel._show import page",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from whimbrel._show.page import x",
        "import importlib\nimportlib.import_module('whimbrel._show.page')",
        "COMMAND = 'whimbrel._show.page:main'",
    ],
)
def test_a_ring_is_found_however_it_is_closed(tmp_path: Path, back: str) -> None:
    (offence,) = offences(tmp_path, _values__in__sheet=back)
    assert offence.startswith("these import each other in a ring: _")


def test_a_ring_between_rooms_is_found(tmp_path: Path) -> None:
    # No module is in a ring: another one of the room closes it.
    (offence,) = offences(tmp_path, _values__in__other="from whimbrel._show import page")
    assert offence.startswith("these import each other in a ring: _")


def test_a_door_is_for_others(tmp_path: Path) -> None:
    assert offences(tmp_path, _show__in__page="from whimbrel.sheet import Sheet") == [
        "_show.page: imports sheet, a door; import the room that has it"
    ]
    assert offences(tmp_path, _show__in__page="import whimbrel") == [
        "_show.page: imports whimbrel, a door; import the room that has it"
    ]


def test_an_import_within_a_function_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = "def f():\n    from scipy.stats import norm"
    expected = ["_show.page, line 2: scipy.stats is imported within a function"]
    assert offences(tmp_path, _show__in__page=hidden) == expected
    monkeypatch.setattr(check, "INNER", {("_show.page", "scipy.stats")})
    assert offences(tmp_path, _show__in__page=hidden) == [
        "_show.page, line 2: no comment says why scipy.stats is imported within a function"
    ]
    explained = hidden.replace("\n", "\n    # It takes a second.\n")
    assert offences(tmp_path, _show__in__page=explained) == []


def test_papers_import_no_private_room(tmp_path: Path) -> None:
    (tmp_path / "papers/p").mkdir(parents=True)
    paper = tmp_path / "papers/p/scenarios.py"
    paper.write_text("from whimbrel import sheet\nfrom whimbrel.sheet import Sheet")
    assert offences(tmp_path) == []
    paper.write_text("from whimbrel._values import sheet")
    assert offences(tmp_path) == ["papers/p/scenarios.py: imports whimbrel._values.sheet, which is private"]


def test_floors_have_a_ceiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "FLOORS", 2)
    assert offences(tmp_path) == ["3 floors, expected at most 2: see --draw"]
