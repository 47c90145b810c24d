"""The pytest plugin: fixtures `crosscheck`, `check_rule` and `check_gradient`, `--bridge-engines`, `--bridge-report`.

It stands outside the package, so that test runs which do not use it import neither bridge nor NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

_FAILED = pytest.StashKey[list[Any]]()
_PASSED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mutation-bridge")
    group.addoption(
        "--bridge-engines",
        metavar="NAMES",
        help="engines that the fixture crosscheck uses, separated by commas, each of which must answer (every engine "
        "there is, of which native must)",
    )
    group.addoption(
        "--bridge-report",
        type=Path,
        metavar="FILE",
        help="write a page with the reports of all tests whose cross-check failed",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "crosscheck(engines=(...), **options): what the fixture crosscheck hands to bridge.crosscheck"
    )
    path = config.getoption("--bridge-report")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Failures(path), "mutation-bridge-failures")


@pytest.fixture
def crosscheck(request: pytest.FixtureRequest) -> Iterator[Callable[..., Callable[..., Any]]]:
    """`crosscheck(f, **options)(*args)`: the Report if the engines agree; fails the test with its text otherwise.

    Options are those of `bridge.crosscheck`; the marker's are used where none are given here. `--bridge-engines`
    leaves only engines that it names; a test for which none is left is skipped.
    """
    marker = request.node.get_closest_marker("crosscheck")
    if marker is not None and marker.args:
        pytest.fail(f"the marker crosscheck takes keywords only, and has {marker.args}: write engines=(...)", False)
    defaults = dict(marker.kwargs) if marker is not None else {}
    waiting = _Waiting("crosscheck")

    def prepare(f: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        options = defaults | options
        _restrict(options, request.config.getoption("--bridge-engines"))
        waiting.prepared(f)

        def run(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            waiting.called(f)
            import bridge

            report = _passed(bridge.crosscheck(f, **options), *args, **kwargs)
            if not report.ok:
                request.node.stash.setdefault(_FAILED, []).append(report)
                pytest.fail(repr(report))
            return report

        return run

    yield prepare
    waiting.check(request)


class _Waiting:
    """The functions that a fixture has made a check of, and that the test has not called yet."""

    def __init__(self, fixture: str) -> None:
        self.fixture = fixture
        self.functions: list[Callable[..., Any]] = []

    def prepared(self, f: Callable[..., Any]) -> None:
        self.functions.append(f)

    def called(self, f: Callable[..., Any]) -> None:
        self.functions = [one for one in self.functions if one is not f]

    def check(self, request: pytest.FixtureRequest) -> None:
        """Fail a test that has passed, and has checked nothing of a function that it named."""
        if self.functions and request.node.stash.get(_PASSED, False):
            name = getattr(self.functions[0], "__name__", "f")
            text = f"{self.fixture}({name}) was never called with arguments, and has checked nothing"
            pytest.fail(f"{text}: write {self.fixture}({name})(x)", False)


@pytest.fixture
def check_rule() -> Callable[..., Any]:
    """`check_rule(rule, *args)`: the report if the rule keeps its promises; fails the test with its text otherwise.

    Arguments are those of `bridge.check_rule`; with `subprocess=True` the test run goes on when a compiled function
    ends its process.
    """

    def run(rule: Any, /, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        import bridge

        return _passed(bridge.check_rule, rule, *args, **kwargs)

    return run


@pytest.fixture
def check_gradient(request: pytest.FixtureRequest) -> Iterator[Callable[..., Callable[..., Any]]]:
    """`check_gradient(f, **options)(*args)`: the report if the gradient is right; fails the test with its text if not.

    Options are those of `bridge.check_gradient`.
    """

    waiting = _Waiting("check_gradient")

    def prepare(f: Callable[..., Any], *positions: Any, **options: Any) -> Callable[..., Any]:
        waiting.prepared(f)

        def run(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            waiting.called(f)
            import bridge

            return _passed(bridge.check_gradient(f, *positions, **options), *args, **kwargs)

        return run

    yield prepare
    waiting.check(request)


def _passed(check: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    __tracebackhide__ = True
    from bridge.errors import BridgeError, CheckError

    try:
        return check(*args, **kwargs)
    except CheckError as error:
        text = str(error)
    except BridgeError as error:
        # It says itself what is wrong and where; the lines of bridge do not.
        raise error.with_traceback(None) from None
    pytest.fail(text)


def _restrict(options: dict[str, Any], allowed: str | None) -> None:
    """Leave only the engines that the command line names."""
    if allowed is None:
        return
    from bridge.engines import registry

    names = tuple(name.strip() for name in allowed.split(",") if name.strip())
    known = registry.compared()
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        wrong = ", ".join(map(repr, unknown)) or "nothing"
        pytest.fail(f"--bridge-engines={allowed} names {wrong}: choose among {', '.join(map(repr, known))}", False)
    asked = options.get("engines")
    asked = (asked,) if isinstance(asked, str) else asked
    options["engines"] = names if asked is None else tuple(name for name in asked if name in names)
    if not options["engines"]:
        pytest.skip(f"--bridge-engines={allowed} leaves none of the engines that the test asks for: {asked}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    made = yield
    if call.when == "call":
        item.stash[_PASSED] = made.passed
    failed = item.stash.get(_FAILED, [])
    if call.when == "call" and failed and item.config.getoption("--bridge-report") is not None:
        # As text, so that it also travels from the workers of pytest-xdist.
        made.bridge_reports = [report.to_json() for report in failed]  # type: ignore[attr-defined]
    return made


class _Failures:
    """Collects the reports of failed tests, and writes them into one page at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: list[tuple[str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.found += [(report.nodeid, text) for text in getattr(report, "bridge_reports", ())]

    def pytest_sessionfinish(self) -> None:
        from bridge.proof.report.html import page
        from bridge.proof.report.json_form import from_json

        text = page([from_json(one) for _, one in self.found], [name for name, _ in self.found], self._count())
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(text, encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.write_line(f"{self._count()} in {self.path}")

    def _count(self) -> str:
        return f"{len(self.found)} failed cross-check{'' if len(self.found) == 1 else 's'}"
