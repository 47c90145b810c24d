"""One eval of GradBench's talks with one tool: two processes whose pipes meet here, and what was said."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any


@dataclass
class Evaluation:
    """One function that the eval had evaluated; times are in seconds, and `valid` is None if nobody judged it."""

    function: str
    description: str
    times: list[float]
    valid: bool | None = None
    reason: str = ""

    @property
    def first(self) -> float:
        """The first run, which is the one that compiles."""
        return self.times[0]

    @property
    def median(self) -> float:
        """The median of the others, or the only one there is."""
        return statistics.median(self.times[1:] or self.times)


@dataclass
class Outcome:
    """What an eval and a tool came to.

    `verdict` is `valid`, `invalid` (the eval rejects an output), `refused` (the tool does not have the module), `error`
    (the tool could not evaluate), `timeout`, `crash` (a process ended early) or `absent` (something is not there).
    """

    eval: str
    tool: str
    verdict: str
    reason: str = ""
    evaluations: list[Evaluation] = field(default_factory=list)


@dataclass
class Process:
    """A command, where it runs, and with what environment beyond this one's."""

    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def started(self, complaints: IO[str]) -> subprocess.Popen[str]:
        """The process, in a group of its own, so that what it starts ends with it."""
        return subprocess.Popen(
            self.command, cwd=self.folder, env={**os.environ, **self.environment}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=complaints, text=True, bufsize=1, start_new_session=True,
        )  # fmt: skip


def talk(eval_name: str, tool_name: str, asks: Process, answers: Process, timeout: float) -> Outcome:
    """Pass messages on until the eval ends, or for `timeout` seconds by the clock."""
    outcome = Outcome(eval_name, tool_name, "crash")
    is_late = threading.Event()
    with tempfile.TemporaryFile("w+") as complaints:
        both: list[subprocess.Popen[str]] = []

        def end() -> None:
            for process in both:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

        def too_late() -> None:
            is_late.set()
            end()

        timer = threading.Timer(timeout, too_late)
        try:
            both += [asks.started(complaints), answers.started(complaints)]
            timer.start()
            _exchange(*both, outcome)
        finally:  # also when the run is interrupted
            timer.cancel()
            end()
            for process in both:
                with suppress(BrokenPipeError):
                    process.communicate()
        if is_late.is_set():
            outcome.verdict, outcome.reason = "timeout", f"not done in {timeout:g} s"
        elif outcome.verdict == "crash":
            complaints.seek(0)
            outcome.reason = outcome.reason or last_line(complaints.read())
    return outcome


def _exchange(asks: subprocess.Popen[str], answers: subprocess.Popen[str], outcome: Outcome) -> None:
    """Each line of the eval's to the tool, and each response back; what is learnt goes into the outcome."""
    assert asks.stdin and asks.stdout and answers.stdin and answers.stdout
    while line := asks.stdout.readline():
        message = json.loads(line)
        try:
            answers.stdin.write(line)
            answers.stdin.flush()
        except BrokenPipeError:
            return
        told = answers.stdout.readline()
        if not told:
            return
        if not heard(message, json.loads(told), outcome):
            return
        with suppress(BrokenPipeError):
            asks.stdin.write(told)
            asks.stdin.flush()
    if asks.wait() == 0 and outcome.evaluations:
        outcome.verdict = "invalid" if any(one.valid is False for one in outcome.evaluations) else "valid"
        outcome.reason = next((one.reason for one in outcome.evaluations if one.reason), "")


def heard(message: dict[str, Any], response: dict[str, Any], outcome: Outcome) -> bool:
    """Take note of a message and its response; False if the tool cannot go on."""
    match message["kind"]:
        case "define" if not response.get("success"):
            outcome.verdict, outcome.reason = "refused", last_line(response.get("error") or "")
            return False
        case "evaluate" if not response.get("success"):
            outcome.verdict, outcome.reason = "error", last_line(response.get("error") or "")
            return False
        case "evaluate":
            named = [one for one in response.get("timings") or () if one["name"] == "evaluate"]
            times = [one["nanoseconds"] * 1e-9 for one in named]
            outcome.evaluations.append(Evaluation(message["function"], message.get("description") or "", times))
        case "analysis":
            judged = outcome.evaluations[-1]
            judged.valid, judged.reason = message["valid"], first_lines(message.get("error") or "")
    return True


def last_line(text: str) -> str:
    """What a traceback comes to: its last line, or of several paragraphs the one that names the error."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    named = [line for line in lines if line[:1].isalpha() and ("Error" in line or "Exception" in line)]
    return (named or lines or ["no message"])[-1].strip()


def first_lines(text: str) -> str:
    """The first two lines: how many values differ, and the first of them."""
    return " ".join(line.strip() for line in text.strip().splitlines()[:2])
