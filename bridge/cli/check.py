"""`python -m bridge check` and `trace`: a cross-check of one function, or what it does to memory, from a shell."""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import bridge
from bridge.cli.parsing import amount, check_writable, natural, written
from bridge.errors import ArgumentError, BridgeError, choice, with_article

OK, DIFFERENT, UNUSABLE = 0, 1, 2


def add_command(commands: Any) -> None:
    """Add `check` to the commands of `bridge.cli`."""
    parser = commands.add_parser(
        "check",
        help="run a function under every engine and name the operation where they part",
        description="Run a function under every engine and compare values and gradients. Exit status: 0 if they agree, "
        "1 if they do not, or an engine that was asked for gave no answer or one that nothing was compared with, 2 if "
        "the function could not be checked (bad usage, a function that raises).",
    )
    _add_call(parser, "check")
    parser.add_argument(
        "--engines",
        metavar="NAMES",
        help="separated by commas, each of which must answer (every engine there is, of which native must)",
    )
    parser.add_argument(
        "--argnums",
        type=_positions,
        metavar="ARGUMENTS",
        help="which arguments to differentiate, by position from 0 or by name, separated by commas (float arrays, else "
        "floats)",
    )
    parser.add_argument("--rtol", type=amount, metavar="NUMBER", help="what counts as equal (what the dtype allows)")
    parser.add_argument("--seed", type=natural, default=0, metavar="NUMBER", help="of random directions (%(default)s)")
    parser.add_argument("--seconds", type=amount, metavar="NUMBER", help="begin no other engine after so long")
    _add_files(parser)
    parser.set_defaults(command=run)

    tracing = commands.add_parser(
        "trace",
        help="run a function and show each operation, and what it does to memory",
        description="Run a function and show what each of its operations reads, writes and overwrites. Exit status: 0, "
        "or 2 if it did not run.",
    )
    _add_call(tracing, "trace")
    _add_files(tracing)
    tracing.set_defaults(command=run_trace)


def _add_call(parser: argparse.ArgumentParser, verb: str) -> None:
    parser.add_argument(
        "function", metavar="MODULE:FUNCTION", help=f"what to {verb}; MODULE may be the path of a .py file"
    )
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="VALUE",
        dest="values",
        help="an argument, in their order: a .npy file or a Python literal; a list of numbers is an array",
    )


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON")


def run(options: argparse.Namespace) -> int:
    """Check, print the report, write what was asked for, and return the exit status."""
    try:
        function = find(options.function)
        values = [argument(text) for text in options.values]
        check_writable(options.html, options.json)
        report = _checked(function, values, options)
        _print(report)
        _write(report, options)
    except BridgeError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return UNUSABLE
    return OK if report.ok else DIFFERENT


def _write(shown: Any, options: argparse.Namespace) -> None:
    """The files that were asked for."""
    if options.html is not None:
        written(options.html, lambda: shown.to_html(options.html))
    if options.json is not None:
        written(options.json, lambda: shown.to_json(options.json))


def run_trace(options: argparse.Namespace) -> int:
    """Trace, print the timeline, write what was asked for, and return the exit status."""
    try:
        function = find(options.function)
        values = [argument(text) for text in options.values]
        check_writable(options.html, options.json)
        found = _ran(function, bridge.trace(function), values)
        _print(found)
        _write(found, options)
    except BridgeError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return UNUSABLE
    return OK


def find(name: str) -> Callable[..., Any]:
    """The function that `module:function` names; ArgumentError if there is none."""
    where, _, path = name.rpartition(":")
    if not where or not path:
        raise ArgumentError(f"{name!r} names no function", remedy="write module:function or path/to/file.py:function")
    found: Any = _module(where)
    for part in path.split("."):
        if not hasattr(found, part):
            there = sorted(key for key, value in vars(found).items() if callable(value) and not key.startswith("_"))
            remedy = choice(part, there, "it has") if there else "it has no functions"
            raise ArgumentError(f"{where} has no {path!r}", remedy=remedy)
        found = getattr(found, part)
    if not callable(found):
        raise ArgumentError(f"{name} is no function but {with_article(type(found).__name__)}", remedy="name a function")
    return found


def _module(name: str) -> ModuleType:
    if name.endswith(".py"):
        return _module_at(Path(name))
    if not all(part.isidentifier() for part in name.split(".")):
        raise ArgumentError(
            f"{name!r} is no name of a module", remedy="write module:function, or path/to/file.py:function"
        )
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _unusable(name, error) from error
        remedy = "start it where the module can be imported, or give the path of its .py file"
        raise ArgumentError(f"there is no module {name!r}", remedy=remedy) from error
    except (Exception, SystemExit) as error:
        raise _unusable(name, error) from error


def _module_at(path: Path) -> ModuleType:
    if not path.is_file():
        raise ArgumentError(f"there is no file {path}", remedy="check the path; it is read from the current folder")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise _unusable(str(path), error) from error
    return module


def _unusable(name: str, error: BaseException) -> ArgumentError:
    return ArgumentError(
        f"{name} raised {type(error).__name__} when it was imported: {error}", remedy="mend the module first"
    )


def argument(text: str) -> Any:
    """What `--arg` says: the array of a .npy file, or a literal, lists of numbers as arrays."""
    if text.endswith(".npy"):
        return _loaded(Path(text))
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ArgumentError(
            f"--arg {text!r} is neither a .npy file nor a Python literal",
            remedy="write a number, a list ('[1.0, 2.0]', quoted for the shell), or the path of a .npy file",
        ) from error
    return _as_arrays(value)


def _loaded(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except FileNotFoundError:
        remedy = "check the path; it is read from the current folder"
        raise ArgumentError(f"there is no file {path}", remedy=remedy) from None
    except (ValueError, OSError, EOFError) as error:
        remedy = "write it with numpy.save, of an array of numbers"
        raise ArgumentError(f"{path} cannot be read as an array: {error}", remedy=remedy) from error


def _as_arrays(value: Any) -> Any:
    """Lists and tuples of numbers as arrays; dictionaries keep their keys."""
    if isinstance(value, dict):
        return {key: _as_arrays(part) for key, part in value.items()}
    if not isinstance(value, (list, tuple)):
        return value
    try:
        array = np.array(value)
    except ValueError:
        array = None
    if array is not None and array.dtype.kind in "fciub":
        return array
    return type(value)(_as_arrays(part) for part in value)


def _positions(text: str) -> tuple[int | str, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    wrong = [part for part in parts if not (part.removeprefix("-").isdecimal() or part.isidentifier())]
    if wrong:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of arguments: write 0,1 or their names")
    return tuple(dict.fromkeys(part if part.isidentifier() else int(part) for part in parts))


def _checked(function: Callable[..., Any], values: list[Any], options: argparse.Namespace) -> Any:
    chosen: dict[str, Any] = {"argnums": options.argnums, "rtol": options.rtol, "seed": options.seed}
    chosen["seconds"] = options.seconds
    if options.engines is not None:
        chosen["engines"] = tuple(name.strip() for name in options.engines.split(",") if name.strip())
        if not chosen["engines"]:
            raise ArgumentError(
                f"--engines {options.engines!r} names no engine", remedy="write native,jax or leave --engines out"
            )
    with _status(f"checking {options.function}") as progress:
        return _ran(function, bridge.crosscheck(function, **chosen, progress=progress), values)


@contextmanager
def _status(what: str) -> Iterator[Callable[[str], None]]:
    """What is told of the stage that begins: one line of a terminal, gone at the end; nothing where there is none."""
    try:
        from rich.console import Console
        from rich.markup import escape
    except ImportError:
        yield lambda stage: None
        return
    with Console(stderr=True).status(escape(what)) as line:
        yield lambda stage: line.update(f"{escape(what)}: {escape(stage)}")


def _ran(function: Callable[..., Any], call: Callable[..., Any], values: list[Any]) -> Any:
    try:
        return call(*values)
    except BridgeError:
        raise
    except (Exception, SystemExit) as error:
        name = getattr(function, "__name__", "the function")
        raise ArgumentError(
            f"{name} raised {type(error).__name__}: {error}", remedy="check that it runs with these arguments"
        ) from error


def _print(report: Any) -> None:
    try:
        from rich.console import Console
    except ImportError:
        print(repr(report))
    else:
        Console().print(report)
