"""One Julia a process: started once, on first use, usable from every thread, from any project."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import bridge
from bridge.errors import ArgumentError, JuliaNotAvailable
from bridge.julia.session import session
from tests.helpers.julia_process import answer, environment, run

pytestmark = pytest.mark.julia

CHURN = "n -> (s = 0.0; for i in 1:n; s += sum([sum(rand(10)) for _ in 1:10]); end; GC.gc(); s > 0)"


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return environment(tmp_path_factory.mktemp("homes"))


def test_session_evaluates() -> None:
    jl = session()
    assert jl is session()
    assert jl.seval("1 + 1") == 2
    assert jl.text('"∂" ^ 2') == "∂∂"
    assert str(jl.package) == "MutationBridge"
    assert jl.main.sqrt(4.0) == 2.0
    with pytest.raises(RuntimeError, match="UndefVarError: `nonsense` not defined"):
        jl.text("nonsense")
    assert jl.text("1 + 1") == "2"


def test_require_loads_or_names_the_line_to_type() -> None:
    jl = session()
    jl.require("LinearAlgebra")
    assert jl.seval("norm([3.0, 4.0])") == 5.0
    with pytest.raises(JuliaNotAvailable, match=r"does not have the package NoSuchPackage\n  remedy: .*NoSuchPackage"):
        jl.require("NoSuchPackage")
    with pytest.raises(ArgumentError, match="is no name of a Julia package"):
        jl.require("LinearAlgebra; exit()")


def test_status_of_a_started_session() -> None:
    session()
    found = bridge.julia.status()
    assert found.found
    assert found.started
    assert not found.missing
    assert found.line is None
    assert set(found.versions) == {
        "Julia", "juliacall", "PythonCall", "Zygote", "ChainRules", "ForwardDiff", "MutationBridge"
    }  # fmt: skip
    assert found.versions["PythonCall"] == found.versions["juliacall"]
    assert found.versions["Julia"] == session().text("VERSION")
    assert found.versions["Zygote"] == session().text("pkgversion(MutationBridge.Zygote)")
    assert re.search(r"state +started", str(found))


def test_threads_that_ask_at_once_share_one_start(variables: dict[str, str]) -> None:
    code = f"""
import sys, threading
import bridge
from bridge.julia import session as module
from bridge.julia.session import session
assert "juliacall" not in sys.modules
starts, start = [], module._start
module._start = lambda: starts.append(1) or start()
barrier, found = threading.Barrier(6), []
def ask():
    barrier.wait()
    found.append(session())
threads = [threading.Thread(target=ask) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(found) == 6 and len(set(map(id, found))) == 1, found
assert starts == [1]

# Garbage collections in other threads than the one that started Julia, which has ended.
jl = session()
churn, done = jl.seval({CHURN!r}), []
def work():
    for _ in range(3): done.append(jl.perform(churn, 100))
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(done), all(done), jl.perform(churn, 10))
"""
    assert answer(code, variables) == "12 True True\n"


def test_collections_in_other_threads_do_not_wait_for_the_one_that_started_julia(variables: dict[str, str]) -> None:
    code = f"""
import threading
from bridge.julia.session import session
jl = session()
churn, done = jl.seval({CHURN!r}), []
assert churn(10)
def work():
    done.append(jl.perform(churn, 20))
for _ in range(10):
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads: thread.start()
    churn(100)  # while threads that called Julia end
    for thread in threads: thread.join()
print(len(done), all(done), jl.text("Threads.nthreads()"))
"""
    # Without the mark that the session sets this waits for ever. More threads than one need Julia's signal handlers.
    assert answer(code, variables | {"JULIA_NUM_THREADS": "3"}) == "40 True 1\n"


def test_environment_is_as_before(variables: dict[str, str]) -> None:
    code = """
import os
before = dict(os.environ)
from bridge.julia.session import session
session()
print({k for k in {**before, **os.environ} if before.get(k) != os.environ.get(k)})
"""
    changed = answer(code, variables)
    assert "PYTHON_JULIACALL" not in changed


def test_project_without_our_package(variables: dict[str, str], tmp_path: Path) -> None:
    """The package comes from this Python package's folder then, with its dependencies from the project."""
    project = Path(variables["PYTHON_JULIACALL_PROJECT"])
    manifests = [*project.glob("*Manifest*.toml")]
    if not manifests:
        pytest.skip("the project keeps no manifest that could be copied")
    for file in (*manifests, *project.glob("*Project.toml")):
        text = file.read_text(encoding="utf-8")
        text = re.sub(r"^(MutationBridge = .*|#.*)\n", "", text, flags=re.M)
        text = re.sub(r"\[\[deps\.MutationBridge\]\]\n(?:(?!\[\[).*\n?)*", "", text)
        assert "MutationBridge" not in text
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    code = """
from bridge.julia.session import session
jl = session()
print(jl.text("pathof(MutationBridge)"))
print(jl.text("MutationBridge.gradient(x -> sum(abs2, x), [1.0, 2.0])"))
"""
    path, gradient = answer(code, variables | {"PYTHON_JULIACALL_PROJECT": str(tmp_path)}).splitlines()
    assert Path(path).is_relative_to(Path(bridge.__file__).parents[1])
    assert gradient == "([2.0, 4.0],)"


def test_choice_of_the_user_comes_before_the_variables(variables: dict[str, str], tmp_path: Path) -> None:
    variables = variables | {"XDG_CONFIG_HOME": str(tmp_path)}
    chosen = {key: variables[f"PYTHON_JULIACALL_{key.upper()}"] for key in ("exe", "project")}
    wrong = variables | {"PYTHON_JULIACALL_EXE": "/nowhere", "PYTHON_JULIACALL_PROJECT": "/nowhere"}
    code = f"""
import bridge
found = bridge.julia.setup(**{chosen!r})
print(found.how, found.ready)
from bridge.julia.session import session
print(session().candidate.how, session().text("Base.active_project()"))
"""
    lines = answer(code, wrong).splitlines()
    assert lines[0] == "configuration True"
    how, _, active = lines[1].partition(" ")
    assert how == "configuration"
    assert Path(active).parent == Path(chosen["project"])


def test_julia_that_the_program_started_itself(variables: dict[str, str]) -> None:
    code = """
import juliacall
juliacall.Main.seval("mine = 7")
import bridge
from bridge.julia.session import session
print(session().text("mine"), session().candidate.how, bridge.julia.status().source)
print(session().text("MutationBridge.gradient(x -> sum(abs2, x), [1.0, 2.0])"))
"""
    said = answer(code, variables).splitlines()
    assert said == ["7 running juliacall, started by the program", "([2.0, 4.0],)"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_fork_is_refused(variables: dict[str, str]) -> None:
    code = """
import os, sys
from bridge.julia.session import session
session()
child = os.fork()
if child == 0:
    try:
        session()
    except Exception as error:
        print(type(error).__name__, error)
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
print(session().text("1 + 1"))
"""
    said = answer(code, variables)
    assert re.match(r"JuliaNotAvailable Julia was started in process \d+, and this is its fork \d+\n", said)
    assert "multiprocessing's method 'spawn'" in said
    assert said.endswith("\n2\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_calls_in_a_fork_are_refused_while_a_thread_is_in_julia(variables: dict[str, str]) -> None:
    """Also calls that need nothing new of Julia: they would wait for what a thread of the parent held."""
    code = """
import os, sys, threading, time, warnings
import numpy as np
import bridge
warnings.simplefilter("ignore", DeprecationWarning)
slow = bridge.julia.function("x -> (Libc.systemsleep(0.5); sum(abs2, x))")
squares = bridge.julia.function("x -> sum(abs2, x)")
x = np.ones(3)
bridge.grad(squares)(x), slow(x)
thread = threading.Thread(target=slow, args=(x,))
thread.start()
time.sleep(0.1)
child = os.fork()
if child == 0:
    for run in (squares, bridge.grad(squares), lambda x: bridge.grad(lambda y: squares(2 * y))(x), slow):
        try:
            run(x)
        except bridge.errors.JuliaNotAvailable as error:
            print("refused:", error.what.partition(", ")[2].partition(" its ")[0])
    sys.exit(0)  # an end like any other, with what was registered for it
_, status = os.waitpid(child, 0)
thread.join()
print(status, bridge.grad(squares)(x))
"""
    said = answer(code, variables).splitlines()
    assert said == ["refused: and this is"] * 4 + ["0 [2. 2. 2.]"]


def test_package_that_is_broken_is_named(variables: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "Broken" / "src").mkdir(parents=True)
    (tmp_path / "Broken" / "src" / "Broken.jl").write_text('module Broken\nerror("on purpose")\nend\n')
    code = f"""
from bridge.julia.session import session
jl = session()
jl.text('push!(LOAD_PATH, raw"{tmp_path}")')
try:
    jl.require("Broken")
except Exception as error:
    print(type(error).__name__, error)
print(jl.text("1 + 1"))
"""
    completed = run(code, variables)
    assert "JuliaNotAvailable Julia cannot be used: the package Broken does not load: " in completed.stdout
    assert completed.stdout.endswith("\n2\n")


def test_first_gradient_of_a_process_tells_its_time(
    variables: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = """
import time; begin = time.perf_counter()
import numpy as np
import bridge
gradient = bridge.grad(bridge.julia.function("x -> sum(abs2, x)"))(np.array([1.0, 2.0]))
seconds = time.perf_counter() - begin
import resource
of = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(gradient, seconds, sum(one.ru_utime + one.ru_stime for one in of))
"""
    pytest.importorskip("resource")
    answer(code, variables)
    said = [answer(code, variables).split("]") for _ in range(2)]
    assert {gradient for gradient, _ in said} == {"[2. 4."}
    wall, processor = (min(map(float, times)) for times in zip(*(rest.split() for _, rest in said), strict=True))
    with capsys.disabled():
        print(f"\n  import to first gradient: {wall:.1f} s ({processor:.1f} s of processor time)")
