"""Ctrl-C stops a long gradient within seconds, in either direction, and the session lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.helpers.julia_process import answer, environment

pytestmark = [
    pytest.mark.julia,
    pytest.mark.skipif(os.name == "nt", reason="signals are sent as on POSIX"),
]

LONG = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
import bridge

make = lambda pause, n: bridge.julia.function(f'''
    x -> begin
        b = MutationBridge.Buffer(x)
        for k in 1:{n}
            MutationBridge.ChainRulesCore.ignore_derivatives(() -> Libc.systemsleep({pause}))
            b[1] = 0.5 * b[1] + b[2]
        end
        b[1]
    end''')
x = np.array([1.0, 2.0])
quick, long = bridge.grad(make(0, 3)), bridge.grad(make(0.001, 100_000))
expected = [0.125, 1.75]
assert np.allclose(quick(x.copy()), expected)
"""


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return environment(tmp_path_factory.mktemp("homes"))


def interrupt(code: str, variables: dict[str, str], after: float) -> str:
    """Run the program, send Ctrl-C `after` seconds behind its line "begin", and return what it says then."""
    with subprocess.Popen(
        [sys.executable, "-c", LONG + code],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line == "begin\n":
                    break
            time.sleep(after)
            process.send_signal(signal.SIGINT)
            said, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, errors
    return said


def test_ctrl_c_in_a_long_gradient(variables: dict[str, str]) -> None:
    code = """
for _ in range(2):
    print("begin", flush=True)
    try:
        long(x)
    except KeyboardInterrupt:
        print("stopped", x.tolist(), np.allclose(quick(x), expected))
        break
"""
    assert interrupt(code, variables, after=1.0) == "stopped [1.0, 2.0] True\n"


def test_ctrl_c_on_the_way_back(variables: dict[str, str]) -> None:
    code = """
slow = bridge.julia.function('''
    begin
        wait_on_the_way_back(x) = x
        MutationBridge.Zygote.@adjoint wait_on_the_way_back(x) = x, ct -> (Libc.systemsleep(0.001); (ct,))
        x -> begin
            b = MutationBridge.Buffer(x)
            for k in 1:30_000
                b[1] = 0.9 * wait_on_the_way_back(b[1]) + b[2]
            end
            b[1]
        end
    end''')
print("begin", flush=True)
try:
    bridge.grad(slow)(x)
except KeyboardInterrupt:
    print("stopped", x.tolist(), np.allclose(quick(x), expected))
"""
    assert interrupt(code, variables, after=8.0) == "stopped [1.0, 2.0] True\n"


def test_exception_of_another_handler_arrives_as_it_is(variables: dict[str, str]) -> None:
    code = """
class TooLong(Exception): pass
def ring(number, frame): raise TooLong("one second")
signal.signal(signal.SIGALRM, ring)
signal.alarm(1)
try:
    long(x)
except TooLong as error:
    print("stopped:", error, np.allclose(quick(x), expected))
"""
    assert answer(LONG + code, variables) == "stopped: one second True\n"


def test_errors_of_juliacall_are_known_as_interrupts(variables: dict[str, str]) -> None:
    code = """
import threading
from bridge.julia.session import interrupted, session
jl = session()
f = jl.seval('''
    (x, n) -> begin
        b = MutationBridge.Buffer(x)
        for k in 1:n
            MutationBridge.ChainRulesCore.ignore_derivatives(() -> Libc.systemsleep(0.001))
            b[1] = 0.5 * b[1] + b[2]
        end
        b[1]
    end''')
argument = jl.seval("[1.0, 2.0]")
jl.package.gradient(f, argument, 2)
print("begin", flush=True)
try:
    jl.package.gradient(f, argument, 100_000)
except Exception as error:
    print(interrupted(error), repr(jl.interruption()), repr(jl.interruption()))
try:
    jl.seval("error(1)")
except Exception as error:
    print(interrupted(error))
"""
    assert interrupt(code, variables, after=1.5) == "True KeyboardInterrupt() KeyboardInterrupt()\nFalse\n"
