"""Running programs in processes of their own, and what is known of each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

PATIENCE = 4
ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Result:
    """What one program and one engine came to.

    `verdict` is `right`, `wrong`, `not proved`, `error`, `crash`, `timeout`, `no derivative` or `no port`; `reason`
    says why, in the words of the error where there is one, and `note` what else is to be known. Times are in seconds,
    memory in bytes; what was not reached is None.
    `facts` is everything that the process has said.
    """

    name: str
    engine: str
    verdict: str
    reason: str = ""
    note: str = ""
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
    def processor(self) -> float | None:
        """Seconds of the processor that the shortest gradient took, once there were samples."""
        return self.facts.get("processor_seconds")

    @property
    def compiling(self) -> float | None:
        """Seconds of the processor that the first call took more than later ones."""
        if self.processor is None:
            return None
        return max(float(self.facts["first_processor"]) - self.processor, 1e-3)

    @property
    def footprint(self) -> float | None:
        """Memory of the gradient, with what it returns, in times of what the program creates, overwrites and returns.

        None unless both were counted.
        """
        if self.memory is None or not self.facts.get("handled"):
            return None
        return float((self.memory + self.facts["returned"]) / self.facts["handled"])

    @property
    def ratio(self) -> float | None:
        """Time of the gradient in times of the program alone."""
        return self.gradient / self.forward if self.gradient and self.forward else None

    def as_json(self) -> dict[str, Any]:
        """The result as JSON holds it."""
        return asdict(self) | {"ratio": self.ratio}


def run(job: dict[str, Any], timeout: float, single: bool = True) -> Result:
    """Run one job; a process is ended that takes more than `timeout` seconds to its times, or from there on.

    They are seconds of the processor, so that other work on the machine ends nothing; by the clock it may take
    `PATIENCE` times as long. `single` lets BLAS and XLA have one thread.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "facts.jsonl"
        log.touch()
        command = [sys.executable, "-m", "benchmarks.published.child", json.dumps(job), str(log)]
        environment = {**os.environ, **(single_threaded() if single else {})}
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        complaint = None
        try:
            complaint = waited(process, timeout, lambda: bool(read(log).get("measured")))
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
    fields = ("verdict", "reason", "note", "precision", "forward", "gradient", "first", "memory", "error")
    return Result(job["name"], job["engine"], **{key: known[key] for key in fields if key in known}, facts=facts)


def single_threaded() -> Mapping[str, str]:
    """The environment in which NumPy's BLAS and XLA compute with one thread."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    flags = os.environ.get("XLA_FLAGS", "").split()
    return {name: "1" for name in names} | {"XLA_FLAGS": " ".join([*flags, "--xla_cpu_multi_thread_eigen=false"])}


def waited(process: subprocess.Popen[str], timeout: float, is_measured: Callable[[], bool]) -> str | None:
    """What a process has complained of, when it has ended; None if it has taken too long to its times, or since."""
    begin = given = 0.0
    start = time.monotonic()
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=min(1.0, timeout))[1]
        elapsed = time.monotonic() - start
        taken = processor_seconds(process.pid, elapsed)
        if taken - begin > timeout or elapsed - given > PATIENCE * timeout:
            if begin or not is_measured():
                return None
            begin, given = taken, elapsed


def processor_seconds(process: int, elapsed: float) -> float:
    """Time of the processor that a process has taken; where the system does not say, what the clock says.

    A limit of the system's own would make the clocks that the process reads too coarse for its samples.
    """
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return elapsed


def read(log: Path) -> dict[str, Any]:
    """Everything that the process has said, later lines over earlier ones; a line cut off by its end is left out."""
    facts: dict[str, Any] = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        try:
            facts |= json.loads(line)
        except json.JSONDecodeError:
            break
    return facts
