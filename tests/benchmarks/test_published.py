"""The harness of published programs, on a made-up checkout in NPBench's layout, with every way to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from benchmarks import fdtd, npbench, pyhpc
from benchmarks.published import command, footprint
from benchmarks.published.differences import compare, rounded
from benchmarks.published.loss import Loss
from benchmarks.published.modules import load_module, load_precise
from benchmarks.published.program import NoDerivative, Program
from benchmarks.published.report import shortened

KERNELS = {
    "right": (
        "def kernel(n, a, x):\n    x[1:] += a * np.sin(x[:-1])\n    return np.sum(x) ** 2, n\n",
        "def initialize(n):\n    return 0.5, np.linspace(0, 1, n, dtype=np.float32)\n",
        {"init": ["n"], "made": ["a", "x"], "input": ["n", "a", "x"], "output": ["x"]},
    ),
    "single": (
        "def kernel(n, a, x):\n    y = np.float32(1) * x.astype(np.float32)\n    x[:] = a * y * y\n",
        "def initialize(n):\n    return 0.5, np.linspace(0.1, 1, n)\n",
        {"init": ["n"], "made": ["a", "x"], "input": ["n", "a", "x"], "output": ["x"]},
    ),
    "raises": (
        "def kernel(x):\n    raise ValueError(f'no kernel for {x.shape}')\n    return x\n",
        "def initialize(n):\n    return np.ones(n)\n",
        {"init": ["n"], "made": ["x"], "input": ["x"], "output": []},
    ),
    "integer": (
        "def kernel(x):\n    return np.cumsum(x)\n",
        "def initialize(n):\n    return np.arange(n, dtype=np.int32)\n",
        {"init": ["n"], "made": ["x"], "input": ["x"], "output": []},
    ),
    "hangs": (
        "def kernel(x):\n    while True:\n        x = x + 1\n",
        "def initialize(n):\n    return np.ones(n)\n",
        {"init": ["n"], "made": ["x"], "input": ["x"], "output": []},
    ),
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("npbench")
    (root / "bench_info").mkdir()
    for name, (kernel, initialisation, info) in KERNELS.items():
        folder = root / "npbench" / "benchmarks" / "small" / name
        folder.mkdir(parents=True)
        (folder / f"{name}_numpy.py").write_text("import numpy as np\n\n\n" + kernel)
        (folder / f"{name}.py").write_text("import numpy as np\n\n\n" + initialisation)
        description = {
            "relative_path": f"small/{name}",
            "module_name": name,
            "func_name": "kernel",
            "parameters": {"S": {"n": 6}},
            "init": {"func_name": "initialize", "input_args": info["init"], "output_args": info["made"]},
            "input_args": info["input"],
            "array_args": ["x"],
            "output_args": info["output"],
        }
        (root / "bench_info" / f"{name}.json").write_text(json.dumps({"benchmark": description}))
    return root


@pytest.fixture(scope="module")
def outcome(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    file = tmp_path_factory.mktemp("out") / "out.json"
    chosen = ",".join(name for name in KERNELS if name != "hangs")
    status = command.main(npbench, "benchmarks.npbench", [str(checkout), "--kernels", chosen, "--json", str(file)])
    return {"status": status, **json.loads(file.read_text())}


def test_memory_that_a_program_handles() -> None:
    def program(x: Any, n: int) -> Any:
        y = np.zeros_like(x)
        for k in range(n):
            y[k:] = x[k:] * 2.0  # a product, and what is overwritten
        return np.sum(y)

    x = np.ones(100_000)
    written = x.nbytes + sum(2 * (x.nbytes - 8 * k) for k in range(3)) + 8
    assert footprint.handled(program, (x, 3), (x,)) == written + x.nbytes


def test_memory_that_numpy_makes_for_itself_counts() -> None:
    x = np.random.default_rng(0).standard_normal((500, 40))
    centered = x.nbytes
    found = footprint.handled(lambda x: np.sum(np.cov(x.T)), (x,), (x,)) - x.nbytes
    assert centered < found


@pytest.mark.ci
def test_memory_is_held_against_what_the_program_handles(
    checkout: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "out.json"
    arguments = [str(checkout), "--kernels", "right", "--engines", "xla", "--footprint", "--json", str(file)]
    assert command.main(npbench, "benchmarks.npbench", arguments) == 0
    (facts,) = (each["facts"] for each in json.loads(file.read_text())["programs"])
    ratio = (facts["memory"] + facts["returned"]) / facts["handled"]
    assert facts["returned"] == 7 * 8
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("memory within 1.3 times"))
    assert line.endswith(f"{int(ratio <= 1.3)} of 1 (xla); most: right {ratio:.3g}")


@pytest.mark.ci
def test_every_program_gets_its_verdict_and_its_reason(outcome: dict[str, Any]) -> None:
    found = {each["name"]: (each["verdict"], each["reason"]) for each in outcome["programs"]}
    assert found["right"] == ("right", "")
    assert found["single"][0] == "right"
    assert found["integer"] == ("no derivative", "no float array among the arguments: x is int32")
    verdict, reason = found["raises"]
    assert verdict == "error" and reason.startswith("ValueError: no kernel for (6,)\n  at ")
    assert reason.endswith("raises_numpy.py:5")
    assert outcome["status"] == 1


@pytest.mark.ci
def test_a_program_that_does_not_end_is_ended(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command.main(npbench, "benchmarks.npbench", [str(checkout), "--kernels", "hangs", "--timeout", "1"])
    *_, reason, last = capsys.readouterr().out.splitlines()
    assert reason.startswith("hangs, timeout: not done in 1 s, while ")
    assert last == "0 of 1 right (native)"


@pytest.mark.ci
def test_a_right_program_has_times_memory_and_an_error(outcome: dict[str, Any]) -> None:
    right, single = (each for each in outcome["programs"] if each["verdict"] == "right")
    assert right["precision"] == "double" and right["error"] < 1e-9
    assert single["precision"] == "single" and single["error"] < 1e-4
    assert 0 < right["forward"] < right["gradient"] and right["memory"] > 0
    assert right["ratio"] == right["gradient"] / right["forward"]
    assert right["facts"]["arguments"] == ["a", "x"]


@pytest.mark.ci
def test_the_last_line_sums_the_run_up(outcome: dict[str, Any]) -> None:
    assert outcome["summary"]["native"].startswith("2 of 3 right (native), gradient ")


def test_a_reason_is_shown_in_a_line_or_two() -> None:
    told = "EscapeError: a value [[1.\n  2.]] leaves" + " tracking" * 60 + "\n  at model.py:7 in run\n  remedy: keep it"
    first, second = shortened(told).splitlines()
    assert first.startswith("EscapeError: a value [[1. 2.]] leaves tracking") and first.endswith("...")
    assert second == "  at model.py:7 in run"
    assert shortened("not done in 1 s") == "not done in 1 s"


def test_a_name_that_is_not_there_is_told(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(npbench, "benchmarks.npbench", [str(checkout), "--kernels", "right,left"]) == 2
    assert capsys.readouterr().err == f"not in {checkout}: left\n"


def test_float_arrays_come_in_float64_unless_asked_otherwise(checkout: Path) -> None:
    wide, own = (npbench.load(checkout, "right", "S", own_dtype) for own_dtype in (False, True))
    assert (wide.arguments["x"].dtype, own.arguments["x"].dtype) == (np.float64, np.float32)
    assert wide.varied == ("a", "x") and wide.positions == (1, 2)


def test_names_of_dtypes_mean_the_precision_of_finite_differences(tmp_path: Path) -> None:
    file = tmp_path / "scratch.py"
    file.write_text(
        "import numpy as np\n\ndef kernel(x):\n    y = np.empty(x.shape, np.float32)\n    y[:] = x\n    return y\n"
    )
    program = Program(load_module(file, "scratch").kernel, {"x": np.ones(2)}, load_precise(file, "scratch").kernel)
    assert program.function(np.ones(2)).dtype == np.float32
    for dtype in (np.float64, np.longdouble):
        assert [result.dtype for result in program.results([np.ones(2, dtype)], dtype)] == [dtype]
    assert program.precise.__globals__["np"].asked


def test_inputs_of_pyhpc_have_the_names_of_their_function_and_masks_stay_constant(tmp_path: Path) -> None:
    folder = tmp_path / "benchmarks" / "isoneutral_mixing"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(
        "import numpy as np\n\ndef generate_inputs(n):\n    return np.ones(n), np.zeros(n)\n"
    )
    (folder / "isoneutral_numpy.py").write_text(
        "def isoneutral_diffusion_pre(maskT, K):\n    K += maskT\n\n"
        "def run(*inputs, device='cpu'):\n    isoneutral_diffusion_pre(*inputs)\n    return inputs[-1:]\n"
    )
    assert pyhpc.names(tmp_path) == ["isoneutral_mixing"] and fdtd.names(tmp_path) == []
    program = pyhpc.load(tmp_path, "isoneutral_mixing", "S", own_dtype=False)
    assert list(program.arguments) == ["maskT", "K"] and program.varied == ("K",) and program.written == (1,)


def verdicts(loss: Loss, gradient: Any, differentiate: Any = None) -> dict[str, str]:
    found = compare(loss, differentiate or (lambda *_: gradient), gradient, 1e-6)
    return {each.direction: each.verdict(1e-6) for each in found}


def test_a_wrong_gradient_is_wrong_and_a_kink_is_not_proved() -> None:
    def kernel(x: Any, y: Any) -> Any:
        y *= 2
        return x * x, np.abs(y)

    loss = Loss(Program(kernel, {"x": np.array([1.0, 2.0]), "y": np.array([0.0, 1.0])}, kernel))
    squares, absolutes, doubled = loss.weights
    right = {"x": np.array([2.0, 4.0]) * squares, "y": 2 * doubled + 2 * absolutes}
    found = verdicts(loss, right)
    assert found["x"] == "right" and found["y"] == "not proved"
    wrong = right | {"x": right["x"] * np.array([1.0, 1.001])}
    assert verdicts(loss, wrong)["x"] == "wrong"


def test_a_gradient_may_be_as_wrong_as_rounding_makes_it() -> None:
    def kernel(x: Any) -> Any:
        return x**2

    x = np.array([1.0, 2.0])
    loss = Loss(Program(kernel, {"x": x}, kernel))
    right = {"x": 2 * x * loss.weights[0]}
    near = {"x": right["x"] * (1 + 1e-5)}
    assert verdicts(loss, near)["all"] == "wrong"
    assert (
        verdicts(loss, near, lambda given: {"x": right["x"] * np.where(given > x, 1 + 1e-4, 1 - 1e-4)})["all"]
        == "right"
    )


def test_complex_results_and_arguments() -> None:
    def kernel(z: Any) -> Any:
        z *= z
        return 1j * z

    loss = Loss(Program(kernel, {"z": np.array([1.0 + 2.0j, 0.5j])}, kernel))
    gradient = bridge.grad(loss)(np.array([1.0 + 2.0j, 0.5j]))
    assert set(verdicts(loss, {"z": gradient}).values()) == {"right"}


def test_arguments_are_rounded_to_their_neighbours() -> None:
    given = {"n": 3, "a": 0.5, "x": np.ones(4, np.float32), "z": np.array([1.0 + 2.0j])}
    n, a, x, z = rounded(given, np.random.default_rng(0))
    assert n == 3 and isinstance(a, float) and 0 < abs(a - 0.5) <= np.spacing(0.5)
    assert x.dtype == np.float32 and np.all((x != 1) & (np.abs(x - 1) < 2e-7))
    assert z.dtype == np.complex128 and 0 < abs(z[0] - given["z"][0]) < 1e-15


def test_results_without_floats_have_no_derivative() -> None:
    with pytest.raises(NoDerivative, match="no float among the results"):
        Loss(Program(lambda x: np.argsort(x), {"x": np.ones(3)}, lambda x: np.argsort(x)))
    with pytest.raises(NoDerivative, match=r"no float array among the arguments$"):
        Program(lambda n: n, {"n": 0.5}, lambda n: n)
