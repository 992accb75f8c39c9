"""A Dask cluster of local processes, for tests and benchmarks, parts of which can be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

HERE = Path(__file__).parent


class DaskCluster:
    """A scheduler with workers of one thread each; ended with the `with` block.

    Args:
        directory: for logs; the workers' working directories are made in it.
        workers: to start with.
        settings: of Dask, as environment variables.
    """

    def __init__(self, directory: Path, workers: int = 2, settings: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self._settings = settings or {}
        self._file = directory / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(self._file)
        )
        try:
            self.address = self._wait_for_address()
            for _ in range(workers):
                self.add_worker()
            if workers:
                self.wait_for_workers()
        except BaseException:
            self.close()
            raise

    def add_worker(self, *arguments: str, python_path: str = "") -> subprocess.Popen[bytes]:
        """Starts one more worker."""
        worker = self._start(
            "worker",
            self.address,
            "--nthreads",
            "1",
            "--no-nanny",
            *arguments,
            number=len(self.workers),
            python_path=python_path,
        )
        self.workers.append(worker)
        return worker

    def wait_for_workers(self) -> None:
        """Waits until every living worker has joined."""
        from distributed import Client

        alive = sum(worker.poll() is None for worker in self.workers)
        with Client(self.address, set_as_default=False) as client:  # type: ignore[no-untyped-call]
            client.wait_for_workers(alive, timeout=60)

    def close(self) -> None:
        """Ends all processes."""
        for process in [*self.workers, self.scheduler]:
            if process.poll() is None:
                process.kill()
            process.wait()

    def _start(
        self, kind: str, *arguments: str, number: int = 0, python_path: str = ""
    ) -> subprocess.Popen[bytes]:
        place = self.directory / f"{kind}{number}"
        place.mkdir()
        path = [*([python_path] if python_path else []), str(HERE), *sys.path]
        with (place / "log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments, "--no-dashboard"],
                stdout=log,
                stderr=log,
                cwd=place,
                env={**os.environ, **self._settings, "PYTHONPATH": os.pathsep.join(path)},
            )

    def _wait_for_address(self) -> str:
        for _ in range(3000):
            try:
                return str(json.loads(self._file.read_text())["address"])
            except (OSError, ValueError):
                time.sleep(0.01)
        raise TimeoutError((self.directory / "scheduler0" / "log").read_text())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
