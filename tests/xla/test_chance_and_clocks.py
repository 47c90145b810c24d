"""What a compiled program asks of chance is asked in each call; clocks and files are asked once, and that is told."""

from __future__ import annotations

import datetime
import os
import random
import secrets
import time
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeWarning, TraceError
from bridge.source import asking

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = np.array([1.0, 2.0, 3.0])

CHANCE: dict[str, Callable[[], Any]] = {
    "default_rng": lambda: np.random.default_rng().normal(),
    "default_rng(None)": lambda: np.random.default_rng(seed=None).normal(),
    "RandomState": lambda: np.random.RandomState().normal(),
    "bit generator": lambda: np.random.Generator(np.random.PCG64()).normal(),
    "SeedSequence": lambda: int(np.random.SeedSequence().generate_state(1)[0]),
    "random.Random": lambda: random.Random().random(),
    "random.random": lambda: random.random(),
    "SystemRandom": lambda: random.SystemRandom().random(),
    "urandom": lambda: int.from_bytes(os.urandom(6), "little"),
    "uuid": lambda: uuid.uuid4().int % 2**48,
    "secrets": lambda: secrets.randbelow(2**48),
    "token": lambda: int.from_bytes(secrets.token_bytes(6), "little"),
    "in a loop": lambda: sum(np.random.default_rng().normal() for _ in range(12)),
}


def in_a_loop() -> Any:
    total = 0.0
    for _ in range(12):
        total = total + np.random.default_rng().normal()
    return total


CHANCE["in a loop of statements"] = in_a_loop


@pytest.mark.ci
@pytest.mark.parametrize("name", CHANCE)
def test_chance_is_asked_in_each_call(name: str) -> None:
    ask = CHANCE[name]
    for run in (bridge.xla(lambda x: x * ask()), bridge.grad(lambda x: np.sum(x) * ask(), engine="xla")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = [float(run(X)[0]) for _ in range(3)]
        assert len(set(found)) == 3


@pytest.mark.ci
@pytest.mark.parametrize("name", CHANCE)
def test_a_pull_is_of_the_draws_of_its_value(name: str) -> None:
    ask = CHANCE[name]
    runs = [bridge.vjp(lambda x: np.sum(x) * ask(), X, engine="xla") for _ in range(2)]
    for value, pull in runs:
        np.testing.assert_allclose(pull(1.0)[0], value / np.sum(X))
    assert runs[0][0] != runs[1][0]


@pytest.mark.ci
def test_a_program_that_is_mended_has_the_same_draws() -> None:
    seen: list[float] = []

    def f(x: Any) -> Any:
        noise = np.random.default_rng().normal()
        seen.append(noise)
        return np.sum(np.where(x > 0, np.log(x), 0.0)) * noise

    value, slope = bridge.value_and_grad(f, engine="xla")(np.array([0.0, 2.0]))
    assert len(set(seen)) == 1
    np.testing.assert_allclose([value, slope[1]], [seen[0] * np.log(2.0), seen[0] / 2.0])


@pytest.mark.ci
def test_a_seed_decides() -> None:
    runs = bridge.xla(lambda x: x * np.random.default_rng(3).normal() * random.Random(4).random())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len({float(runs(X)[0]) for _ in range(3)}) == 1
    assert not runs.watch(X).changes


@pytest.mark.ci
def test_often_is_told() -> None:
    run = bridge.xla(lambda x: np.sum(x) * np.random.default_rng().normal())
    with pytest.warns(BridgeWarning, match=r"8 times more because chance \(a generator without a seed\)") as told:
        for _ in range(9):
            run(X)
    assert "pass it as an argument" in str(told[0].message)


@pytest.mark.ci
def test_draws_that_nobody_knows_any_more_are_not_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_KEPT", 2)
    f = lambda x: np.sum(x) * np.random.default_rng().normal()  # noqa: E731
    _, pull = bridge.vjp(f, X, engine="xla")
    for _ in range(4):
        bridge.xla(f)(X)
    with pytest.raises(TraceError, match="asks a generator without a seed, which cannot give again"):
        pull(1.0)


CLOCKS: dict[str, Callable[[Any], Any]] = {
    "time": lambda path: time.time(),
    "perf_counter_ns": lambda path: time.perf_counter_ns(),
    "strftime": lambda path: float(time.strftime("%S")),
    "now": lambda path: datetime.datetime.now().microsecond,
    "today": lambda path: datetime.date.today().day,
    "datetime64": lambda path: np.datetime64("now", "s").astype(float),
    "read_text": lambda path: float(path.read_text()),
    "loadtxt": lambda path: np.loadtxt(path),
    "stat": lambda path: os.stat(path).st_size,
}


@pytest.mark.ci
@pytest.mark.parametrize("name", CLOCKS)
@pytest.mark.parametrize("transform", [bridge.xla, lambda f: bridge.grad(f, engine="xla")], ids=["xla", "grad"])
def test_clocks_and_files_are_asked_once_and_told(name: str, transform: Any, tmp_path: Path) -> None:
    path = tmp_path / "number"
    path.write_text("1.5")
    ask = CLOCKS[name]
    run = transform(lambda x: np.sum(x) * ask(path))
    with pytest.warns(BridgeWarning, match=rf"programs do not call .*{name}\(\) \(.*test_chance") as told:
        found = run(X)
    assert "ask before the call, and pass that as an argument" in str(told[0].message)
    path.write_text("22.5")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(run(X), found)


@pytest.mark.ci
def test_a_date_that_is_written_out_is_none_of_them() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = bridge.xla(lambda x: np.sum(x) * (np.datetime64("2020-01-03") - np.datetime64("2020-01-01")).astype(int))
        assert run(X) == 12.0


@pytest.mark.ci
def test_nothing_is_told_where_the_program_is_traced_in_each_call() -> None:
    times: list[float] = []

    def f(x: Any) -> Any:
        times.append(time.perf_counter())
        return np.sum(x)

    run = bridge.xla(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(X), run(X)
    assert len(set(times)) == 2
