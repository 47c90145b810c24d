"""What `check_rule` and `check_gradient` find: checks that passed, with figures; failures, with remedies; notes."""

from __future__ import annotations

from dataclasses import dataclass, field

from bridge.errors import CheckError


@dataclass(frozen=True, slots=True)
class Check:
    """A check that passed: its name, its figure (largest relative difference, if it has one), the call."""

    name: str
    figure: float | None
    call: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A check that failed: a stable code, what was found with the values, and the remedy."""

    code: str
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"[{self.code}] {self.what}\n    remedy: {self.remedy}"


@dataclass
class CheckReport:
    """The result of `check_gradient` or `check_rule`."""

    subject: str
    checks: list[Check] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there were checks, and every one passed."""
        return bool(self.checks) and not self.failures

    @property
    def codes(self) -> list[str]:
        """The codes of the failures, each once, in the order in which they were found."""
        return list(dict.fromkeys(failure.code for failure in self.failures))

    def passed(self, name: str, call: str = "", figure: float | None = None) -> None:
        """Note that the check `name` passed, with its largest relative difference."""
        self.checks.append(Check(name, figure, call))

    def failed(self, code: str, what: str, remedy: str) -> None:
        """Note a failure; the same one is kept once."""
        failure = Failure(code, what, remedy)
        if failure not in self.failures:
            self.failures.append(failure)

    def note(self, text: str) -> None:
        """Note something that is not a failure: a variant that the function refuses, a kink; once each."""
        if text not in self.notes:
            self.notes.append(text)

    def raise_if_failed(self) -> CheckReport:
        """Return this report, or raise `CheckError` with every failure in its message."""
        if self.ok:
            return self
        error = CheckError(str(self))
        error.report = self
        raise error

    def __repr__(self) -> str:
        lines = [f"{self.subject}: {self._summary()}"]
        lines += [f"  {failure}" for failure in self.failures]
        width = max((len(check.name) for check in self.checks), default=0)
        for name, checks in self._by_name().items():
            figures = [check.figure for check in checks if check.figure is not None]
            largest = f"{max(figures):8.1e}" if figures else " " * 8
            times = f"  {len(checks)} times" if len(checks) > 1 else ""
            lines.append(f"  {name:{width}}  {largest}{times}".rstrip())
        lines += [f"  noted: {note}" for note in self.notes]
        return "\n".join(lines)

    def __str__(self) -> str:
        return repr(self) if self.ok else "\n".join([f"{self.subject}: {self._summary()}", *map(str, self.failures)])

    def _summary(self) -> str:
        if not self.failures:
            return f"{len(self.checks)} checks passed" if self.checks else "nothing was checked"
        count = "1 failure" if len(self.failures) == 1 else f"{len(self.failures)} failures"
        return f"{count}, {len(self.checks)} checks passed"

    def _by_name(self) -> dict[str, list[Check]]:
        named: dict[str, list[Check]] = {}
        for check in self.checks:
            named.setdefault(check.name, []).append(check)
        return named
