"""Every recorded program in one form: a name, and what makes the call. One adapter for each corpus."""

from __future__ import annotations

import copy
import importlib
import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import bridge.numpy
from benchmarks import npbench
from benchmarks.published.loss import Loss
from benchmarks.published.modules import load_module
from benchmarks.published.program import NoDerivative, in_precision
from benchmarks.published.program import Program as Published
from tests import programs, programs_as_they_stand
from tests.conformance import museum, suites, test_corpus
from tests.helpers.finite_differences import replica, replicas
from tests.programs.test_programs import SINGLE, argnums
from tests.random_programs.__main__ import FAMILIES
from tests.random_programs.control_flow.blocks import program as control_flow_of
from tests.random_programs.control_flow.program import Unfit, ran
from tests.random_programs.program import held_by
from tests.random_programs.writing import program_of
from tests.source import constructs, holding
from tests.source.comparing import normal
from tests.xla.loops.programs import PROGRAMS as LOOPS
from tests.xla.loops.programs import unseen
from tests.yardstick.record import Call, LeftOut, Record

TESTS = Path(__file__).parents[1]
FOLDERS = ("arrays", "programs", "reported", "rewind", "source", "xla")
"""Folders with test files that have programs among their functions."""
LONGEST = 150
"""Lines that a random program of loops may run, as in the command that looks for wrong ones."""
STATEMENTS = [statement for family in FAMILIES.values() for statement in family]


def records(folder: Path, seeds: range, checkout: Path | None = None) -> Iterator[Record]:
    """All records; random programs that must be in files are written into `folder`."""
    yield from _of_programs()
    yield from _of_loops()
    for one in programs_as_they_stand.PROGRAMS:
        yield Record(f"as they stand/{one}", partial(_as_it_stands, one))
    for scenario in (*suites.SCENARIOS, *museum.SCENARIOS):
        yield Record(f"conformance/{scenario}", partial(_of_arrays, scenario.function, scenario.inputs))
    for case in (*test_corpus.GRADIENT, *test_corpus.KINKS):
        yield Record(f"corpus/{case['id']}", partial(_reported_case, case))
    for row in constructs.rows():
        yield Record(f"constructs/{row.__name__}", partial(_construct, row))
    yield from _of_index_modes()
    yield from _in_test_files()
    for seed in seeds:
        yield Record(f"random arrays/{seed}", partial(_random_arrays, seed))
        yield Record(f"random control flow/{seed}", partial(_random_control_flow, seed, folder))
        yield Record(f"random holding/{seed}", partial(_random_holding, seed))
    for name in npbench.names(checkout) if checkout else ():
        yield Record(f"npbench/{name}", partial(_kernel, checkout, name))


def _of_programs() -> Iterator[Record]:
    def call(one: programs.Program, namespace: ModuleType, dtype: Any = None) -> Call:
        return Call(one.under(namespace), [replica(x, dtype) for x in one.inputs], argnums(one) or (0,))

    for one in programs.PROGRAMS:
        yield Record(f"programs/{one}", partial(call, one, bridge.numpy))
        yield Record(f"programs/{one}, plain namespace", partial(call, one, np), ("native",))
    for one in SINGLE:
        yield Record(f"programs/{one}, float32", partial(call, one, bridge.numpy, np.float32))


def _of_loops() -> Iterator[Record]:
    x = np.linspace(-1.0, 1.5, 6)
    refused = [(f"refused: {f.__name__}", f) for f in unseen.REFUSED]
    for name, function in (*LOOPS, *refused):
        yield Record(f"loops/{name}", partial(_of_arrays, function, [x]))
        yield Record(f"loops/{name}, negated", partial(_of_arrays, function, [-x]))


def _of_index_modes() -> Iterator[Record]:
    from tests.xla import test_index_modes as modes

    def call(function: Any, indices: np.ndarray, mode: str) -> Call:
        return Call(function, (modes.X.copy(), indices.copy()), options={"index_mode": mode})

    for function in (*modes.READS, *modes.WRITES):
        for mode in modes.MODES:
            for name, indices in (("above", modes.ABOVE), ("below", modes.BELOW)):
                made = partial(call, function, indices, mode)
                yield Record(f"index modes/{function.__name__}, {mode}, {name}", made, ("xla",))


def _in_test_files() -> Iterator[Record]:
    """Functions of one argument `x` in test files, at the first array of floats among the file's constants.

    Named without the folder, so that a file may move.
    """
    for path in sorted(path for folder in FOLDERS for path in (TESTS / folder).rglob("test_*.py")):
        try:
            module = importlib.import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))
        except pytest.skip.Exception:
            continue
        names = vars(module)
        arrays = [v for k, v in names.items() if k.isupper() and isinstance(v, np.ndarray) and v.dtype.kind == "f"]
        for name, function in names.items() if arrays else ():
            if inspect.isfunction(function) and function.__module__ == module.__name__ and _is_program(function):
                yield Record(f"{path.stem}/{name}", partial(_of_arrays, _summed(function), arrays[:1]))


def _is_program(function: Any) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.default is one.empty] == ["x"]


def _summed(function: Any) -> Any:
    def program(x: Any) -> Any:
        result = function(x)
        return np.sum(result) if np.ndim(result) else result

    return program


def _of_arrays(function: Any, inputs: Sequence[np.ndarray]) -> Call:
    return Call(function, replicas(inputs), tuple(range(len(inputs))))


def _as_it_stands(one: programs_as_they_stand.Program) -> Call:
    return Call(one.make(), copy.deepcopy(one.arguments), one.positions)


def _reported_case(case: dict[str, Any]) -> Call:
    return Call(test_corpus.function(case, bridge.numpy), (test_corpus.argument(case),))


def _construct(row: Callable[[list[Any]], Any]) -> Call:
    """The number is made of what the construct returned and logged."""

    def program(x: Any) -> Any:
        log: list[Any] = []
        returned = row(log)
        return x * crc32(repr((normal(returned), normal(log))).encode())

    return Call(program, (2.0,))


def _random_arrays(seed: int) -> Call:
    program = program_of(seed, STATEMENTS)
    if program is None:
        raise LeftOut("values outgrow the program")
    inputs = replicas(program.inputs)
    return Call(held_by(program.function(np), inputs), inputs, tuple(range(len(inputs))))


def _random_control_flow(seed: int, folder: Path) -> Call:
    program = control_flow_of(seed)
    path = folder / f"random_program_{seed}.py"
    path.write_text(program.text, encoding="utf-8")
    module = load_module(path, path.stem)
    try:
        ran(module, program.arguments(), LONGEST)
    except Unfit as reason:
        raise LeftOut(str(reason)) from None
    return Call(module.loss, program.arguments(), (0, 1, 2))


def _random_holding(seed: int) -> Call:
    (program,) = holding.chosen(1, seed)
    return Call(program.make()[0], (0.83,))


def _kernel(checkout: Path, name: str) -> Call:
    """A kernel of NPBench on small arrays: preset S has megabytes, which would be written to the file."""
    info = json.loads((checkout / "bench_info" / f"{name}.json").read_text(encoding="utf-8"))["benchmark"]
    folder = checkout / "npbench" / "benchmarks" / info["relative_path"]
    made = npbench.data(info | {"parameters": {"small": _small(info["parameters"]["S"])}}, folder, "small")
    arguments = {one: in_precision(made[one]) for one in info["input_args"]}
    module = load_module(folder / f"{info['module_name']}_numpy.py", f"npbench_{info['module_name']}_numpy")
    function = getattr(module, info["func_name"])
    try:
        program = Published(function, arguments, function, tuple(info["output_args"]))
        return Call(Loss(program), list(arguments.values()), program.positions)
    except NoDerivative as reason:
        raise LeftOut(str(reason)) from None


def _small(parameters: dict[str, Any]) -> dict[str, Any]:
    return {key: 12 + x % 8 if isinstance(x, int) and x > 20 else x for key, x in parameters.items()}
