"""The origin of results: sufficient to repeat them, or to explain differences."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whimbrel._base import compiled, documents
from whimbrel._base.files import replace_text
from whimbrel._campaigns.scheduler import available_processors
from whimbrel._reproduce.plan import Plan

NAME = "manifest.json"


def write_manifest(out: Path, plans: Sequence[Plan], command: str) -> None:
    """Writes `manifest.json`: version, git id, command, machine, and the seeds and engine of every item.

    Args:
        out: the directory of the results.
        plans: the runs, as recorded by `reproduce` and `sweep`.
        command: the command line; empty keeps the one of the last manifest.

    Its `form` is `quick`, `full`, or `mixed`.
    """
    path = out / NAME
    if not command and path.is_file():
        try:
            command = documents.read_json(path).get("command", "")
        except (ValueError, AttributeError):
            command = ""
    manifest = {
        "version": compiled.version(),
        "git": git_id(),
        "command": command,
        "form": _form(plans),
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "items": {f"{plan.group}/{plan.item}": _item(plan) for plan in plans},
    }
    out.mkdir(parents=True, exist_ok=True)
    replace_text(path, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def machine() -> dict[str, Any]:
    """The computer and its Python, without names and addresses."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "processors": available_processors(),
        "python": platform.python_version(),
    }


def git_id() -> str | None:
    """The commit of the source tree in use, with `+` if it was modified."""
    tree = Path(__file__).resolve().parents[1]
    if not (tree.parent.parent / ".git").exists():
        return None
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(tree), *arguments],  # noqa: S607 - the git of the user
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        return done.stdout.strip()

    try:
        commit = git("rev-parse", "--short=12", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit}+" if changed else commit


def _form(plans: Sequence[Plan]) -> str:
    forms = {"quick" if plan.quick else "full" for plan in plans}
    return forms.pop() if len(forms) == 1 else "mixed"


def _item(plan: Plan) -> dict[str, Any]:
    repetitions = [len(cell.seeds) for cell in plan.cells]
    return {
        "seed": plan.seed,
        "quick": plan.quick,
        "engine": plan.engine,
        "runs": plan.runs,
        "repetitions": [min(repetitions, default=0), max(repetitions, default=0)],
    }


def _processor() -> str:
    if sys.platform == "linux":
        try:
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
        except OSError:
            pass
    return platform.processor() or platform.machine()
