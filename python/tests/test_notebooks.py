"""The notebooks run, hold no outputs, and link to pages that exist."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def test_the_page_about_results_runs(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "notebooks.md").read_text(), re.DOTALL)
    command = [sys.executable, "-c", block]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    assert "Interval(mean=" in done.stdout
    assert (tmp_path / "goodput.svg").read_text().startswith("<svg")
    assert (tmp_path / "ratio.pdf").read_bytes().startswith(b"%PDF")


def test_there_are_five() -> None:
    assert len(NOTEBOOKS) == 5


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_results(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No settings of the user, and nothing left behind.
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(path.parent)}})
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert all(output.output_type != "error" for output in outputs)
    shown = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert any('class="whimbrel"' in html for html in shown)
    text = "".join(output.text for output in outputs if output.output_type == "stream")
    assert "Warning" not in text
    if path.stem != "loss_differentiation":
        assert any("<svg" in html for html in shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs_and_its_links_exist(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.cells[0].source.startswith("# ")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
        else:
            for target in re.findall(r"\]\(([^)#]+)", cell.source):
                assert target.startswith("http") or (path.parent / target).is_file(), target
