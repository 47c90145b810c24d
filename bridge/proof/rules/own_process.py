"""A rule proved in a process of its own: a function that ends its process, as compiled ones may, is a finding."""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from bridge.errors import ArgumentError, BridgeError, CheckError
from bridge.proof.report.checks import CheckReport
from bridge.proof.rules.inputs import parts_of, rule_of
from bridge.rulebook.rule import MutatingRule, Rule

_UNGUARDED = 3


class Reference(NamedTuple):
    """Where another process finds a rule: modules that register it, and a name in one of them, or its function."""

    modules: tuple[str, ...]
    name: str
    function: Any

    def rule(self) -> Rule | MutatingRule:
        """The rule, in the process that asks."""
        modules = [import_module(name) for name in self.modules]
        return rule_of(getattr(modules[0], self.name) if self.name else self.function)


def proved_in_own_process(
    check: Callable[..., CheckReport], rule: Rule | MutatingRule, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> CheckReport:
    """What `check`, that is `check_rule`, finds in a fresh process; that the process ended is a failure in the report.

    Raises
    ------
    ArgumentError : the rule, or an argument, cannot be sent to another process.
    """
    if getattr(multiprocessing.process.current_process(), "_inheriting", False):
        # This is the other process, which runs the program's main module anew before it does what it is for.
        raise SystemExit(_UNGUARDED)
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder, receiving:
        trace = Path(folder, "trace")
        process = context.Process(target=_prove, args=(sending, check, reference_of(rule), args, kwargs, trace))
        with sending, _sendable(rule):
            process.start()
        try:
            found = receiving.recv()
        except EOFError:
            found = None
        process.join()
        if found is None and not trace.exists():
            main = getattr(sys.modules["__main__"], "__file__", "that of an interpreter")
            raise ArgumentError(
                f"{rule.name} cannot be checked in a process of its own: that runs the main module ({main}) anew, and "
                "did not get through it",
                remedy='put the calls of the main module under `if __name__ == "__main__":`',
            )
        if found is None:
            return _ended(rule, process.exitcode or 0, trace)
    if isinstance(found, BaseException):
        raise found
    report: CheckReport = found
    return report


def reference_of(rule: Rule | MutatingRule) -> Reference:
    """Where another process finds a rule."""
    modules = [_module_of(part) for part in (*parts_of(rule), rule.function)]
    modules = list(dict.fromkeys(name for name in modules if name in sys.modules))
    for module in modules:
        for name, value in vars(sys.modules[module]).items():
            if value is rule or (isinstance(value, type(rule)) and value.function is rule.function):
                return Reference((module, *(other for other in modules if other != module)), name, None)
    return Reference(tuple(modules), "", rule.function)


def _module_of(part: Any) -> str:
    return str(getattr(part, "__module__", None) or "")


@contextlib.contextmanager
def _sendable(rule: Rule | MutatingRule) -> Iterator[None]:
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"{rule.name} cannot be checked in a process of its own: {error}",
            remedy="give the rule a name in a module that can be imported, and pass arrays and numbers, or a Case of "
            "them",
        ) from error


def _prove(sending: Any, check: Any, reference: Reference, args: Any, kwargs: Any, trace: Path) -> None:
    """What runs in the other process."""
    with trace.open("w") as file, sending:
        faulthandler.enable(file)
        try:
            sending.send(check(reference.rule(), *args, **kwargs))
        except CheckError as error:
            sending.send(error.report)
        except BridgeError as error:
            sending.send(error)
        except Exception as error:
            sending.send(ArgumentError(f"{type(error).__name__} in the other process: {error}", remedy="mend it first"))
        finally:
            faulthandler.disable()


def _ended(rule: Rule | MutatingRule, status: int, trace: Path) -> CheckReport:
    report = CheckReport(f"check_rule({rule.name})")
    calls = [line.strip() for line in trace.read_text(encoding="utf-8").splitlines() if line.startswith("  File")]
    last = "; called from ".join(calls[:2])
    report.failed(
        "process-ended",
        f"{rule.name} ended its process: {_how(status)}{f', in {last}' if last else ''}",
        "look what the compiled code reads and writes: lengths, dtypes, strides, and arrays that Python has freed",
    )
    return report


def _how(status: int) -> str:
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
