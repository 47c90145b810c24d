"""GradBench's tool: what it says to messages, what its programs compute, and a made-up eval that talks with it."""

from __future__ import annotations

import importlib
import io
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy.special import logsumexp, multigammaln

import bridge
from benchmarks.gradbench import running, table
from benchmarks.gradbench.conversation import Evaluation, Outcome, Process, talk
from benchmarks.gradbench.evals import ba, det, gmm, ht, lse, lstm, ode, particle, saddle
from benchmarks.gradbench.evals.descent import forward, lowest, reverse
from benchmarks.gradbench.evaluation import Engine, Runner
from benchmarks.gradbench.protocol import EVALS, responses

ROOT = Path(__file__).resolve().parents[2]
ENGINES = [
    "native",
    pytest.param("xla", marks=[pytest.mark.ci, pytest.mark.skipif(
        importlib.util.find_spec("jax") is None, reason="needs JAX: pip install mutation-bridge[jax]")]),
]  # fmt: skip
NUMBERS = np.random.default_rng(5)


def listed(*shape: int) -> Any:
    return NUMBERS.normal(size=shape).tolist()


def hand(points: int, shares: bool) -> dict[str, Any]:
    """A hand of 22 bones in five chains, with 12 vertices."""
    parents = [-1, *(0 if bone in (2, 6, 10, 14, 18) else bone - 1 for bone in range(1, 22))]
    model = {
        "bone_count": 22, "bone_names": [str(bone) for bone in range(22)], "parents": parents,
        "base_relatives": listed(22, 4, 4), "inverse_base_absolutes": listed(22, 4, 4),
        "base_positions": listed(12, 4), "weights": listed(12, 22), "is_mirrored": shares,
        "triangles": NUMBERS.integers(0, 12, (7, 3)).tolist(),
    }  # fmt: skip
    belongs = NUMBERS.integers(0, 7, points).tolist()
    data = {"model": model, "correspondences": belongs, "points": listed(points, 3)}
    return {"theta": listed(26), "data": data, "us": listed(points, 2) if shares else []}


CAMERA = [0.1, -0.2, 0.3, -0.1, 0.2, -0.6, 7.0, 0.1, 0.2, -4e-3, -5e-4]
INPUTS: dict[str, Any] = {
    "hello": 1.5,
    "gmm": {
        "d": 3, "k": 2, "n": 6, "m": 2, "gamma": 1.3, "x": listed(6, 3), "alpha": listed(2), "mu": listed(2, 3),
        "q": listed(2, 3), "l": listed(2, 3),
    },
    "ba": {"n": 2, "m": 3, "p": 5, "cam": CAMERA, "x": [-0.6, 0.5, -1.2], "w": 0.9, "feat": [-3.0, 2.0]},
    "ht": hand(4, shares=True),
    "lstm": {
        "main_params": listed(4, 12), "extra_params": listed(3, 3), "state": listed(4, 3),
        "sequence": NUMBERS.integers(0, 2, (7, 3)).tolist(),
    },
    "llsq": {"x": listed(4), "n": 9},
    "lse": {"x": listed(5)},
    "ode": {"x": (1.0 + NUMBERS.random(4)).tolist(), "s": 10},
    "kmeans": {"points": listed(12, 2), "centroids": listed(3, 2)},
    "det": {"A": listed(16), "ell": 4},
}  # fmt: skip


def evaluated(name: str, function: str, engine: Engine, given: Any = None) -> Any:
    module = importlib.import_module(f"benchmarks.gradbench.evals.{name}").EVAL
    return Runner(engine).run(module, function, INPUTS[name] if given is None else given)[0]


def arguments(module: Any, name: str) -> Any:
    return module.EVAL.prepare(INPUTS[name])


@pytest.mark.parametrize("engine", ENGINES)
class TestEvals:
    def test_hello(self, engine: Engine) -> None:
        assert evaluated("hello", "square", engine) == 2.25
        assert evaluated("hello", "double", engine) == 3.0

    def test_gmm(self, engine: Engine) -> None:
        given = INPUTS["gmm"]
        assert evaluated("gmm", "objective", engine) == pytest.approx(log_posterior(given), rel=1e-12)
        bridge.check_gradient(gmm.objective, argnums=(0, 1, 2, 3))(*arguments(gmm, "gmm"))
        expected = gmm.told(gmm.jacobian(*arguments(gmm, "gmm")))
        found = evaluated("gmm", "jacobian", engine)
        assert found.keys() == {"alpha", "mu", "q", "l"}
        for key, each in found.items():
            np.testing.assert_allclose(each, expected[key], rtol=1e-9, atol=1e-12)

    def test_ba(self, engine: Engine) -> None:
        errors = evaluated("ba", "objective", engine)
        assert errors["reproj_error"]["repeated"] == errors["w_err"]["repeated"] == 5
        assert errors["w_err"]["element"] == pytest.approx(1 - 0.9**2)
        cameras, points, weights, seen, pairs = arguments(ba, "ba")
        found = Runner(engine).prepared(ba.jacobian)(cameras, points, weights, seen, pairs)
        starts, columns, values = map(np.asarray, found)
        dense = np.zeros((15, 2 * 11 + 3 * 3 + 5))
        for row in range(15):
            own = slice(starts[row], starts[row + 1])
            dense[row, columns[own]] = values[own]

        def all_errors(flat: np.ndarray) -> np.ndarray:
            parts = flat[:22].reshape(2, 11), flat[22:31].reshape(3, 3), flat[31:]
            return np.concatenate([each.ravel() for each in ba.objective(*parts, seen, pairs)])

        flat = np.concatenate([cameras.ravel(), points.ravel(), weights])
        np.testing.assert_allclose(dense, differences(all_errors, flat), rtol=1e-6, atol=1e-6)
        sent = evaluated("ba", "jacobian", engine)
        assert [len(sent[name]) for name in ("rows", "cols", "vals")] == [17, 31, 31]
        assert sent["rows"][-1] == 155
        assert sent["vals"][-1] == pytest.approx(-2 * 0.9)

    @pytest.mark.ci
    @pytest.mark.parametrize("shares", [False, True])
    def test_ht(self, engine: Engine, shares: bool) -> None:
        given = INPUTS["ht"] if shares else hand(4, shares=False)
        theta, shift, places, *rest = ht.EVAL.prepare(given)
        objective = np.array(evaluated("ht", "objective", engine, given))
        np.testing.assert_allclose(objective, ht.objective(theta, shift, places, *rest), rtol=1e-9, atol=1e-9)
        found = np.array(evaluated("ht", "jacobian", engine, given))
        by_theta = differences(lambda theta: ht.objective(theta, shift, places, *rest), theta)
        np.testing.assert_allclose(found[:, 2 * shares :], by_theta, rtol=1e-5, atol=1e-5)
        if shares:
            by_places = differences(
                lambda flat: ht.objective(theta, shift, flat.reshape(4, 2), *rest), places.ravel()
            ).reshape(4, 3, 4, 2)
            own = np.stack([by_places[point, :, point] for point in range(4)]).reshape(12, 2)
            np.testing.assert_allclose(found[:, :2], own, rtol=1e-6, atol=1e-6)

    def test_lstm(self, engine: Engine) -> None:
        given = INPUTS["lstm"]
        assert evaluated("lstm", "objective", engine) == pytest.approx(loss_of_text(given), rel=1e-12)
        bridge.check_gradient(lstm.objective, argnums=(0, 1))(*arguments(lstm, "lstm"))
        expected = lstm.told(lstm.jacobian(*arguments(lstm, "lstm")))
        found = evaluated("lstm", "jacobian", engine)
        assert len(found) == 4 * 12 + 3 * 3
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)

    def test_llsq(self, engine: Engine) -> None:
        x, t = np.array(INPUTS["llsq"]["x"]), np.linspace(-1, 1, 9)
        powers = np.vander(t, 4, increasing=True)
        residual = np.sign(t) - powers @ x
        assert evaluated("llsq", "primal", engine) == pytest.approx(0.5 * residual @ residual)
        np.testing.assert_allclose(evaluated("llsq", "gradient", engine), -powers.T @ residual)

    def test_lse(self, engine: Engine) -> None:
        x = np.array(INPUTS["lse"]["x"])
        assert evaluated("lse", "primal", engine) == pytest.approx(logsumexp(x))
        np.testing.assert_allclose(evaluated("lse", "gradient", engine), np.exp(x - logsumexp(x)))
        assert lse.primal(np.array([1000.0, 1000.0])) == pytest.approx(1000 + np.log(2))

    def test_ode(self, engine: Engine) -> None:
        x = np.array(INPUTS["ode"]["x"])
        exact = np.cumprod(x * 2.0 / np.arange(1, 5))
        # The method is of fourth order: these polynomials of up to the fourth degree are exact.
        np.testing.assert_allclose(evaluated("ode", "primal", engine), exact, rtol=1e-12)
        np.testing.assert_allclose(evaluated("ode", "gradient", engine), exact[-1] / x, rtol=1e-12)
        assert ode.last(x, 10) == pytest.approx(exact[-1])

    def test_kmeans(self, engine: Engine) -> None:
        points, centroids = (np.array(INPUTS["kmeans"][name]) for name in ("points", "centroids"))
        distances = np.sum((points[:, None] - centroids) ** 2, axis=-1)
        assert evaluated("kmeans", "cost", engine) == pytest.approx(distances.min(axis=1).sum())
        nearest = distances.argmin(axis=1)
        assert set(nearest) == {0, 1, 2}
        means = np.array([points[nearest == k].mean(axis=0) for k in range(3)])
        np.testing.assert_allclose(evaluated("kmeans", "dir", engine), centroids - means, rtol=1e-9, atol=1e-12)

    def test_det(self, engine: Engine) -> None:
        (matrix,) = arguments(det, "det")
        assert evaluated("det", "primal", engine) == pytest.approx(np.linalg.det(matrix))
        cofactors = np.linalg.det(matrix) * np.linalg.inv(matrix).T
        np.testing.assert_allclose(evaluated("det", "gradient", engine), cofactors.ravel(), rtol=1e-9)


def log_posterior(given: dict[str, Any]) -> float:
    """By densities and determinants, as the definition has them."""
    size, freedom, gamma = given["d"], given["m"], given["gamma"]
    weights = np.exp(given["alpha"]) / np.sum(np.exp(given["alpha"]))
    degrees = size + freedom + 1
    scores, prior = [], 0.0
    for k, (mean, q, lower) in enumerate(zip(given["mu"], given["q"], given["l"], strict=True)):
        factor = np.diag(np.exp(q))
        factor[[1, 2, 2], [0, 0, 1]] = lower
        precision = factor.T @ factor
        away = np.array(given["x"]) - mean
        log_det = np.linalg.slogdet(precision)[1]
        squares = np.einsum("ni,ij,nj->n", away, precision, away)
        scores.append(np.log(weights[k]) + 0.5 * log_det - 0.5 * squares - 0.5 * size * np.log(2 * np.pi))
        prior += 0.5 * freedom * log_det - 0.5 * gamma**2 * np.trace(precision)
        prior -= 0.5 * degrees * size * np.log(2) - degrees * size * np.log(gamma) + multigammaln(degrees / 2, size)
    return float(np.sum(logsumexp(scores, axis=0)) + prior)


def loss_of_text(given: dict[str, Any]) -> float:
    """The loss with a new array for each state, number by number."""
    main, extra, state, text = (np.array(given[k]) for k in ("main_params", "extra_params", "state", "sequence"))
    bits = text.shape[1]
    hidden, cell, total = list(state[0::2]), list(state[1::2]), 0.0
    for now, following in itertools.pairwise(text):
        x = now * extra[0]
        for layer, (weight, bias) in enumerate(zip(main[0::2], main[1::2], strict=True)):
            fed = np.concatenate([x, hidden[layer], x, hidden[layer]]) * weight + bias
            forget, enters, leaves = (1 / (1 + np.exp(-fed[k * bits : (k + 1) * bits])) for k in range(3))
            cell[layer] = cell[layer] * forget + enters * np.tanh(fed[3 * bits :])
            x = hidden[layer] = leaves * np.tanh(cell[layer])
        y = x * extra[1] + extra[2]
        total += following @ (y - np.log(np.exp(y).sum() + 2))
    return float(-total / (bits * (len(text) - 1)))


def differences(f: Callable[[np.ndarray], Any], x: np.ndarray) -> np.ndarray:
    """A Jacobian by central differences."""
    steps = 1e-5 * np.eye(x.size)
    return np.stack([(np.ravel(f(x + step)) - np.ravel(f(x - step))) / 2e-5 for step in steps], axis=1)


def test_a_camera_that_is_not_turned() -> None:
    vectors, axes = NUMBERS.normal(size=(2, 3)), np.zeros((2, 3))
    np.testing.assert_array_equal(ba.rotated(vectors, axes), vectors)
    seed = NUMBERS.normal(size=(2, 3))
    gradient = bridge.grad(lambda axes: np.sum(seed * ba.rotated(vectors, axes)))(axes)
    np.testing.assert_allclose(gradient, np.cross(vectors, seed), atol=1e-12)


@pytest.mark.parametrize("differentiate", [forward, reverse])
def test_descent_ends_where_it_is_lowest(differentiate: Any) -> None:
    target = np.array([0.3, -0.2])
    found = lowest(lambda x: 50 * np.sum((x - target) ** 2), np.zeros(2), differentiate)
    np.testing.assert_allclose(found, target, atol=1e-3)


@pytest.mark.ci
@pytest.mark.parametrize("inner", [forward, reverse])
@pytest.mark.parametrize("outer", [forward, reverse])
def test_derivatives_within_derivatives(outer: Any, inner: Any) -> None:
    control = np.array([0.1])
    slope = outer(lambda c: particle.miss(c, inner))(control)
    expected = differences(lambda c: particle.miss(c, inner), control)[0]
    np.testing.assert_allclose(slope, expected, rtol=1e-6)
    x, start = np.array([0.02, -0.01]), np.array([0.03, 0.04])
    highest = outer(lambda x: saddle.height(x, lowest(lambda y: -saddle.height(x, y), start, inner)))
    np.testing.assert_allclose(highest(x), 2 * x, atol=1e-6)


def said(*lines: str, engine: Engine = "native") -> list[Any]:
    return [json.loads(one) for one in responses(lines, Runner(engine))]


def line(number: int, kind: str, **more: Any) -> str:
    return json.dumps({"id": number, "kind": kind, **more})


class TestProtocol:
    def test_a_session(self) -> None:
        given = {"x": [1.0, 2.0], "min_runs": 3, "min_seconds": 0}
        start, defined, found, judged, ended = said(
            line(0, "start", eval="lse"), line(1, "define", module="lse"),
            line(2, "evaluate", module="lse", function="gradient", input=given), line(3, "analysis", of=2, valid=True),
            line(4, "end"),
        )  # fmt: skip
        assert start == {"id": 0, "tool": "bridge", "config": {"engine": "native"}}
        assert defined == {"id": 1, "success": True}
        assert found["success"] and found["output"] == pytest.approx([1 / (1 + np.e), np.e / (1 + np.e)])
        assert [one["name"] for one in found["timings"]] == ["evaluate"] * 3
        assert all(type(one["nanoseconds"]) is int for one in found["timings"])
        assert (judged, ended) == ({"id": 3}, {"id": 4})

    def test_runs_until_the_seconds_are_over(self) -> None:
        given = {"x": [1.0, 2.0], "min_runs": 1, "min_seconds": 0.01}
        (found,) = said(line(0, "evaluate", module="lse", function="primal", input=given))
        times = [one["nanoseconds"] for one in found["timings"]]
        assert sum(times[:-1]) < 0.01e9 <= sum(times)

    @pytest.mark.parametrize("name", EVALS)
    def test_modules_are_there(self, name: str) -> None:
        assert said(line(7, "define", module=name)) == [{"id": 7, "success": True}]

    @pytest.mark.parametrize(
        ("message", "words"),
        [
            (line(3, "define", module="fft"), "no eval 'fft' is implemented here"),
            (line(3, "define"), "no eval None is implemented here"),
            (line(3, "evaluate", module="fft", function="f", input=1), "no eval 'fft'"),
            (line(3, "evaluate", module="lse", function="hessian", input=1), "lse has no function 'hessian'"),
            (line(3, "evaluate", module="lse", function="primal"), "an evaluate message has an input"),
            (line(3, "evaluate", module="lse", function="primal", input={}), "KeyError: 'x'"),
            (line(3, "evaluate", module="hello", function="square", input="nan"), "not JSON compliant"),
        ],
    )
    def test_refusals(self, message: str, words: str) -> None:
        refused, after = said(message, line(4, "start"))
        assert (refused["id"], refused["success"], after["id"]) == (3, False, 4)
        assert words in refused["error"]

    @pytest.mark.parametrize("message", ["nonsense", "[1, 2]", '{"id": 3}', '{"kind": "start"}', "{"])
    def test_lines_that_are_no_messages(self, message: str) -> None:
        wrong, after = said(message, "\n", line(4, "start"))
        assert wrong["id"] is None and not wrong["success"] and "a message is a JSON object" in wrong["error"]
        assert after["id"] == 4


def test_the_tool_as_a_process() -> None:
    messages = [line(0, "start"), line(1, "evaluate", module="hello", function="double", input=3.0)]
    command = [sys.executable, "-m", "benchmarks.gradbench"]
    done = subprocess.run(command, input="\n".join(messages), capture_output=True, text=True, cwd=ROOT, check=True)
    _, found = map(json.loads, done.stdout.splitlines())
    assert found["output"] == 6.0


EVAL = """
import json, sys

number = 0

def send(**message):
    global number
    print(json.dumps({"id": number, **message}), flush=True)
    number += 1
    return json.loads(sys.stdin.readline())

send(kind="start", eval="hello")
if send(kind="define", module=sys.argv[1])["success"]:
    for function in sys.argv[2:]:
        found = send(kind="evaluate", module="hello", function=function, input=3.0)
        if found["success"]:
            valid = found["output"] == 9.0
            send(kind="analysis", of=number - 1, valid=valid, error=None if valid else "expected 9.0")
"""


class TestConversation:
    def talk(self, folder: Path, *said: str, tool: str = "", timeout: float = 60) -> Outcome:
        script = folder / "eval.py"
        script.write_text(EVAL)
        answers = [sys.executable, *(["-c", tool] if tool else ["-m", "benchmarks.gradbench"])]
        here = {"PYTHONPATH": running.with_path(ROOT)}
        asks = Process([sys.executable, str(script), *said], folder)
        return talk("hello", "bridge", asks, Process(answers, ROOT, here), timeout)

    @pytest.mark.ci
    def test_valid_and_invalid(self, tmp_path: Path) -> None:
        outcome = self.talk(tmp_path, "hello", "square")
        assert (outcome.verdict, outcome.reason) == ("valid", "")
        outcome = self.talk(tmp_path, "hello", "square", "double")
        assert (outcome.verdict, outcome.reason) == ("invalid", "expected 9.0")
        assert [one.valid for one in outcome.evaluations] == [True, False]
        assert all(len(one.times) == 1 for one in outcome.evaluations)

    def test_what_the_tool_refuses(self, tmp_path: Path) -> None:
        assert self.talk(tmp_path, "fft", "square").verdict == "refused"
        outcome = self.talk(tmp_path, "hello", "cube")
        assert (outcome.verdict, outcome.reason) == ("error", "hello has no function 'cube'; it has square, double")

    def test_tools_that_crash_or_hang(self, tmp_path: Path) -> None:
        outcome = self.talk(tmp_path, "hello", "square", tool="raise SystemExit('broken')")
        assert (outcome.verdict, outcome.reason) == ("crash", "broken")
        outcome = self.talk(tmp_path, "hello", "square", tool="import time; time.sleep(60)", timeout=0.5)
        assert (outcome.verdict, outcome.reason) == ("timeout", "not done in 0.5 s")


def test_table() -> None:
    outcomes = [
        Outcome("gmm", "bridge-native", "valid", evaluations=[
            Evaluation("objective", "2_5", [9.0, 1.0, 3.0]), Evaluation("jacobian", "2_5", [7.0, 4.0]),
        ]),
        Outcome("gmm", "jax", "refused", "No module named 'gmm'"),
        Outcome("saddle", "bridge-native", "valid", evaluations=[
            Evaluation(name, "w=0", [0.25], True) for name in ("ff", "rr")
        ]),
    ]  # fmt: skip
    shown = io.StringIO()
    table.show(Console(file=shown, width=table.WIDTH), outcomes)
    text = " ".join(shown.getvalue().split())
    assert "│ gmm │ 2_5 │ bridge-native │ valid │ 2 s │ 4 s │ 2 │ 7 s │" in text
    assert "│ saddle │ w=0 rr │ bridge-native │ valid │ - │ 250 ms │ - │ 250 ms │" in text
    assert "gmm jax refused No module named 'gmm'" in text
    assert "bridge-native: 2 of 2 evals valid" in text


def test_what_is_missing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert running.main([str(tmp_path)]) == 2
    assert "not a checkout of gradbench/gradbench" in capsys.readouterr().err
    (tmp_path / "python/gradbench").mkdir(parents=True)
    assert running.main([str(tmp_path), "--evals", "gmm", "--tools", "bridge-native"]) == 0
    said = capsys.readouterr().out
    assert "gmm        bridge-native  absent" in said
    assert "pip install pydantic" in said or "make -C CHECKOUT/tools/manual bin/gmm" in said


def test_the_paths_of_processes() -> None:
    assert running.with_path(ROOT).split(os.pathsep)[0] == str(ROOT)
