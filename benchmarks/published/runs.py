"""Running programs in processes of their own, and what is known of each."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Result:
    """What one program and one engine came to.

    `verdict` is `right`, `wrong`, `not proved`, `error`, `crash`, `timeout` or `no derivative`; `reason` says why, in
    the words of the error where there is one. Times are in seconds, memory in bytes; what was not reached is None.
    `facts` is everything that the process has said.
    """

    name: str
    engine: str
    verdict: str
    reason: str = ""
    precision: str = ""
    forward: float | None = None
    gradient: float | None = None
    first: float | None = None
    memory: int | None = None
    error: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def differentiable(self) -> bool:
        """Whether there is a derivative to be computed."""
        return self.verdict != "no derivative"

    @property
    def ratio(self) -> float | None:
        """Time of the gradient in times of the program alone."""
        return self.gradient / self.forward if self.gradient and self.forward else None

    def as_json(self) -> dict[str, Any]:
        """The result as JSON holds it."""
        return asdict(self) | {"ratio": self.ratio}


def run_all(jobs: Iterable[dict[str, Any]], timeout: float) -> Iterator[Result]:
    """Run one job after another: nothing else is to take the processor while times are taken."""
    for job in jobs:
        yield run(job, timeout)


def run(job: dict[str, Any], timeout: float) -> Result:
    """Run one job; a process that takes more than `timeout` seconds is ended."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "facts.jsonl"
        log.touch()
        command = [sys.executable, "-m", "benchmarks.published.child", json.dumps(job), str(log)]
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            _, complaint = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            complaint = None
        finally:  # also when the run is interrupted
            process.kill()
            process.communicate()
        facts = read(log)
    stage = facts.get("stage", "starting")
    if complaint is None:
        fallback = {"verdict": "timeout", "reason": f"not done in {timeout:g} s, while {stage}"}
    elif process.returncode:
        last = complaint.strip().splitlines()[-1] if complaint.strip() else "no message"
        how = f"signal {-process.returncode}" if process.returncode < 0 else f"exit status {process.returncode}"
        fallback = {"verdict": "crash", "reason": f"{how} while {stage}: {last}"}
    else:
        fallback = {"verdict": "crash", "reason": f"ended while {stage} without a verdict"}
    known = facts if "verdict" in facts else fallback | facts
    fields = ("verdict", "reason", "precision", "forward", "gradient", "first", "memory", "error")
    return Result(job["name"], job["engine"], **{key: known[key] for key in fields if key in known}, facts=facts)


def read(log: Path) -> dict[str, Any]:
    """Everything that the process has said, later lines over earlier ones; a line cut off by its end is left out."""
    facts: dict[str, Any] = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        try:
            facts |= json.loads(line)
        except json.JSONDecodeError:
            break
    return facts
