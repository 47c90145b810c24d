"""Ports to JAX in the harness of published programs: freed of jit, bounded, told apart by their results."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from benchmarks import npbench
from benchmarks.published import command, comparison
from benchmarks.published.runs import Result

jax = pytest.importorskip("jax", reason="JAX is not installed: ports to it were not run (pip install jax)")

# A process and two compilations for each kernel.
pytestmark = pytest.mark.nightly

STEPS = "def kernel(n, a, x):\n    for k in range(1, n):\n        x[k:] *= a * np.sin(x[k - 1])\n    return np.sum(x)\n"
TRIANGLE = """def kernel(x):
    for i in range(x.size):
        for j in range(i):
            x[i] -= 0.5 * x[j]
    return np.sum(x)
"""
KERNELS = {
    "static": (
        STEPS,
        """
@jax.jit
def kernel(n, a, x):
    def body(k, x):
        return jnp.where(jnp.arange(x.size) >= k, x * a * jnp.sin(x[k - 1]), x)

    x = lax.fori_loop(1, n, body, x)
    return x, jnp.sum(x)
""",
        ["n", "a", "x"],
    ),
    "bounded": (
        TRIANGLE,
        """
@partial(jax.jit, donate_argnums=0)
def kernel(x):
    def row(i, x):
        return lax.fori_loop(0, i, lambda j, x: x.at[i].add(-0.5 * x[j]), x)

    return lax.fori_loop(0, x.size, row, x)
""",
        ["x"],
    ),
    "other": (TRIANGLE, "def kernel(x):\n    return 2 * x\n", ["x"]),
    "missing": (TRIANGLE, None, ["x"]),
}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("npbench")
    (root / "bench_info").mkdir()
    for name, (kernel, port, arguments) in KERNELS.items():
        folder = root / "npbench" / "benchmarks" / name
        folder.mkdir(parents=True)
        (folder / f"{name}_numpy.py").write_text(f"import numpy as np\n\n\n{kernel}")
        (folder / f"{name}.py").write_text(
            "import numpy as np\n\n\ndef initialize(n):\n    return 1.5, np.linspace(0.5, 1, n)\n"
        )
        head = "from functools import partial\n\nimport jax\nimport jax.numpy as jnp\nfrom jax import lax\n"
        if port is not None:
            (folder / f"{name}_jax.py").write_text(f"{head}\n\n{port}")
        description = {
            "relative_path": name,
            "module_name": name,
            "func_name": "kernel",
            "parameters": {"S": {"n": 6}},
            "init": {"func_name": "initialize", "input_args": ["n"], "output_args": ["a", "x"]},
            "input_args": arguments,
            "output_args": [],
        }
        (root / "bench_info" / f"{name}.json").write_text(json.dumps({"benchmark": description}))
    files = tmp_path_factory.mktemp("out")
    found: dict[Any, Any] = {}
    for names, engines in (("static", ["xla", "jax"]), ("bounded,other,missing", ["jax"])):
        options = ["--json", str(files / "out.json"), "--output", str(files / "out.txt")]
        command.main(npbench, "benchmarks.npbench", [str(root), "--kernels", names, "--engines", *engines, *options])
        programs = json.loads((files / "out.json").read_text())["programs"]
        found |= {(each["name"], each["engine"]): each for each in programs}
        found[names] = (files / "out.txt").read_text()
    return found


def test_a_port_is_differentiated_with_static_integers(outcome: dict[str, Any]) -> None:
    found = outcome["static", "jax"]
    assert (found["verdict"], found["note"]) == ("right", "")
    assert found["facts"]["arguments"] == ["a", "x"] and found["error"] < 1e-9
    assert found["facts"]["processor_seconds"] < found["facts"]["first_processor"]


def test_run_time_bounds_are_run_to_the_largest_and_missing_results_are_said(outcome: dict[str, Any]) -> None:
    found = outcome["bounded", "jax"]
    assert found["verdict"] == "right" and found["error"] < 1e-9
    assert found["note"] == (
        "the port computes 1 of 2 results; loops with run-time bounds, which JAX does not differentiate, run to their "
        "largest bound with lax.cond"
    )
    assert f"bounded: {found['note']}" in outcome["bounded,other,missing"]


def test_a_port_that_is_missing_or_computes_something_else_is_told(outcome: dict[str, Any]) -> None:
    other, missing = outcome["other", "jax"], outcome["missing", "jax"]
    assert other["verdict"] == "no port" and other["reason"] == "the port computes none of the program's results"
    assert missing["verdict"] == "no port" and "missing_jax.py" in missing["reason"]


def test_the_compiled_program_is_beside_its_port_in_a_table(outcome: dict[str, Any]) -> None:
    assert outcome["static", "xla"]["verdict"] == "right"
    assert "1 of 1 compile, 1 are right" in outcome["static"]
    assert "jax takes " in outcome["static"] and "slowest beside jax: static" in outcome["static"]


def result(name: str, engine: str, verdict: str, seconds: float, first: float) -> Result:
    facts = {"processor_seconds": seconds, "first_processor": first}
    return Result(name, engine, verdict, first=first, gradient=seconds, facts=facts)


def test_what_the_rows_come_to() -> None:
    results = [
        result("a", "xla", "right", 1.0, 3.0),
        result("a", "jax", "right", 4.0, 5.0),
        result("b", "xla", "right", 2.0, 4.0),
        result("b", "jax", "right", 2.0, 10.0),
        Result("c", "xla", "timeout"),
        result("c", "jax", "right", 1.0, 2.0),
    ]
    lines = list(comparison.summary(results, comparison.Known(("a", "c"), "Other", {"a": 500.0})))
    assert lines == [
        "2 of 3 compile, 2 are right",
        "jax takes 2 times the time of xla, geometric mean of 2; 4 times over 1 of the 2 made of loops",
        "slowest beside jax: b 1, a 4",
        "compiling takes 0.707 times as long as for jax, geometric mean; longest: a 2, b 0.25",
        "xla takes 2 times the time of the better of jax and Other, geometric mean of 1 made of loops",
    ]
    assert np.isclose(comparison.pairs(results)[0].speed or 0, 4.0)


def test_a_port_of_another_program_is_named_and_left_out() -> None:
    results = [
        result("a", "xla", "right", 1.0, 3.0),
        result("a", "jax", "right", 4.0, 5.0),
        result("b", "xla", "right", 1.0, 3.0),
        result("b", "jax", "wrong", 0.01, 5.0),
    ]
    lines = list(comparison.summary(results, comparison.Known(("a", "b"), "Other", {"a": 500.0, "b": 500.0})))
    assert lines[1:3] == [
        "jax takes 0.2 times the time of xla, geometric mean of 2; 0.2 times over 2 of the 2 made of loops",
        "1 ports have another gradient than the program (b); without them 4 times, 4 times over 1",
    ]
    assert lines[-1] == "xla takes 2 times the time of the better of jax and Other, geometric mean of 2 made of loops"
