"""The compiled callable as a user meets it: arrays in and out, bad input, threads, errors, the cache."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy as bnp
from bridge import errors

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

from bridge.xla.traced import Program  # noqa: E402

X = np.linspace(0.1, 1.0, 6)


def square(x: Any) -> Any:
    return np.sum(x * x)


class TestCallsThatLookAlike:
    """A program that has run is found again by the look of the arguments."""

    def program(self, x: Any, y: Any, n: Any = 1) -> Any:
        x[0] += 3.0
        return x * n, y * 2.0

    @pytest.mark.parametrize("shared", ["itself", "overlapping", "apart"])
    def test_memory_that_is_shared_only_now(self, shared: str) -> None:
        run = bridge.xla(self.program)
        for _ in range(2):
            run(np.ones(4), np.ones(4))
        memory = np.arange(10.0)
        x, y = {"itself": (memory[:4], memory[:4]), "overlapping": (memory[:4], memory[3:7])}.get(
            shared, (memory[:4], memory[4:8])
        )
        found = run(x, y)
        np.testing.assert_array_equal(memory, np.arange(10.0))
        for one, other in zip(found, self.program(x, y), strict=True):
            np.testing.assert_array_equal(one, other)

    def test_an_integer_is_part_of_the_look_and_a_float_is_not(self) -> None:
        run = bridge.xla(self.program)
        for n in (1, 2, 1, 2.0, 3.0, True):
            np.testing.assert_array_equal(run(np.ones(2), np.ones(2), n)[0], self.program(np.ones(2), np.ones(2), n)[0])
        assert len(run.compile_seconds) == 4

    def test_other_bytes_other_layouts_and_other_libraries(self) -> None:
        run = bridge.xla(lambda x: x.T * 2.0)
        x = np.arange(6.0).reshape(2, 3)
        for _ in range(2):
            for one in (x, x.astype(">f8"), x.astype("f4"), np.asfortranarray(x), np.ones((4, 6))[::2, ::2]):
                found = run(one)
                np.testing.assert_array_equal(found, one.T * 2.0)
                assert isinstance(found, np.ndarray)
            assert isinstance(run(jnp.asarray(x)), jax.Array)

    def test_results_are_the_callers_own(self) -> None:
        run = bridge.xla(lambda x: (x, x + 1.0, x[1] * 2))
        x = np.arange(3.0)
        for _ in range(2):
            same, more, number = run(x)
            same[0], more[0] = 7.0, 7.0
            assert (x[0], type(number)) == (0.0, np.float64)


class TestArrays:
    def test_numpy_in_numpy_out(self) -> None:
        given = X.copy()
        found = bridge.xla(lambda x: (x, x * 2, x[0]))(given)
        for one in found[:2]:
            assert type(one) is np.ndarray
            assert one.flags.owndata and one.flags.writeable
            assert not np.shares_memory(one, given)
        assert type(found[2]) is np.float64
        found[0][:] = 7
        np.testing.assert_array_equal(given, X)

    def test_arguments_are_written_in_the_program_only(self) -> None:
        def program(x: Any, y: Any) -> Any:
            x[0] = 9.0
            return y * 1

        given = X.copy()
        # The same array twice is the same memory.
        assert bridge.xla(program)(given, given)[0] == 9.0
        np.testing.assert_array_equal(given, X)
        frozen = X.copy()
        frozen.flags.writeable = False
        assert bridge.xla(program)(frozen, X)[0] == X[0]

    def test_jax_arrays_stay_on_the_device(self) -> None:
        def program(x: Any, k: Any, scale: float) -> Any:
            return np.sum(np.sin(x[k]) * x[k] * scale)

        with jax.enable_x64(True):
            x, k = jnp.asarray(X), jnp.array([1, 2])
            both = bridge.value_and_grad(program, engine="xla")
            both(x, k, 2.0)
            with jax.transfer_guard("disallow"):
                value, gradient = both(x, k, 2.5)
            assert isinstance(value, jax.Array) and isinstance(gradient, jax.Array)
            np.testing.assert_allclose(gradient, bridge.grad(program)(X, [1, 2], 2.5), rtol=1e-12)
        assert not jax.config.jax_enable_x64

    def test_an_array_may_be_written_right_after_the_call(self) -> None:
        run = bridge.xla(lambda x, y: (x * 1, y, x + y, x))
        given, other = np.arange(200_000.0), jnp.ones(200_000)
        for _ in range(3):
            given[:] = 5.0
            found = run(given, other)
            given[:] = -1.0
            assert [float(one[7]) for one in found] == [5.0, 1.0, 6.0, 5.0]

    def test_constants_are_the_callers_own(self) -> None:
        constant = np.ones(3)
        run = bridge.xla(lambda x: (x, constant))
        run(X)[1][:] = 5.0
        np.testing.assert_array_equal(run(X)[1], np.ones(3))
        np.testing.assert_array_equal(constant, np.ones(3))

    @pytest.mark.parametrize(
        "result", [None, 3, "text", True, (1, [2.5, {"k": None}]), np.float32(2), np.arange(3)], ids=repr
    )
    def test_results_that_are_not_computed(self, result: Any) -> None:
        found, doubled = bridge.xla(lambda x: (result, x * 2))(X)
        assert type(found) is type(result)
        np.testing.assert_array_equal(doubled, 2 * X)
        if not isinstance(result, tuple):
            np.testing.assert_array_equal(found, result)

    def test_no_arguments(self) -> None:
        np.testing.assert_array_equal(bridge.xla(lambda: bnp.arange(3) * 2)(), [0, 2, 4])

    def test_empty_and_0d_arrays_and_numbers(self) -> None:
        both = bridge.value_and_grad(lambda x: np.sum(x**2), engine="xla")
        for x in (np.zeros(0), np.zeros((0, 3)), np.array(3.0), np.float32(3), 3.0, np.array([[2.0]])):
            found, expected = both(x), bridge.value_and_grad(lambda x: np.sum(x**2))(x)
            np.testing.assert_allclose(found[0], expected[0])
            np.testing.assert_allclose(found[1], expected[1])
            assert np.shape(found[1]) == np.shape(x)
            assert np.asarray(found[1]).dtype == np.asarray(x).dtype

    def test_bytes_in_the_other_order(self) -> None:
        found = bridge.grad(square, engine="xla")(np.arange(3, dtype=">f8"))
        np.testing.assert_array_equal(found, [0, 2, 4])


class TestSignatures:
    def test_shapes_and_dtypes_that_change(self) -> None:
        run = bridge.xla(lambda x: np.sum(x * 2))
        for x in (X, X[:3], X.astype(np.float32), np.ones((2, 2)), X + 1, np.ones((2, 2)) * 3):
            found = run(x)
            assert found.dtype == x.dtype
            np.testing.assert_allclose(found, np.sum(x * 2), rtol=1e-6)
        assert len(run.compile_seconds) == 4
        assert all(seconds > 0 for seconds in run.compile_seconds)

    def test_static_values(self) -> None:
        def program(x: Any, n: Any, mode: str) -> Any:
            return (np.sum if mode == "sum" else np.prod)(x[:n]) + (100 if n is True else 0)

        run = bridge.xla(program)
        assert run(X, 2, "sum") == pytest.approx(X[:2].sum())
        assert run(X, 3, "sum") == pytest.approx(X[:3].sum())
        assert run(X, 3, "prod") == pytest.approx(X[:3].prod())
        assert run(X, 1, "sum") == pytest.approx(X[0])
        # True is 1 for Python, and another program here.
        assert bridge.xla(lambda x, n: repr(n))(X, True) == "True"

    @pytest.mark.parametrize(
        ("argument", "message"),
        [
            ({1, 2}, "type set is no array.*no hash"),
            (bytearray(b"a"), "type bytearray"),
            (np.ma.masked_array([1.0], [True]), "MaskedArray"),
            (np.array([1, None], object), "dtype object"),
            (np.array(["a"]), "dtype <U1"),
            (np.ones(2, np.longdouble), "dtype float128|dtype float64"),
            (np.longdouble(1), "dtype float128|dtype float64"),
            (np.array(["2020"], "M8[D]"), "dtype datetime64"),
            (np.zeros(2, [("a", float)]), "dtype .*'a'"),
        ],
        ids=lambda x: type(x).__name__ if not isinstance(x, str) else None,
    )
    @pytest.mark.skipif(np.longdouble is np.float64, reason="long doubles are doubles here")
    def test_arguments_that_cannot_be(self, argument: Any, message: str) -> None:
        with pytest.raises(errors.ArgumentError, match=f"(?s){message}.*remedy"):
            bridge.xla(lambda x, y: x)(X, argument)

    def test_arrays_of_others_and_keys(self) -> None:
        class Theirs:
            def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
                return np.ones(2)

        with pytest.raises(errors.ArgumentError, match=r"Theirs(.|\n)*np\.asarray"):
            bridge.xla(lambda x: x)(Theirs())
        with pytest.raises(errors.ArgumentError, match="dtype key<"):
            bridge.xla(lambda k: k)(jax.random.key(0))

    def test_deleted_and_donated_arrays(self) -> None:
        x = jnp.ones(3)
        x.delete()
        with pytest.raises(RuntimeError, match="deleted"):
            bridge.xla(square)(x)

    def test_what_is_no_function(self) -> None:
        with pytest.raises(errors.ArgumentError, match="int cannot be compiled"):
            bridge.xla(3)
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            bridge.xla(square)()


class TestValues:
    """A program that wants to know a number while it is compiled."""

    @pytest.mark.parametrize(
        ("program", "how"),
        [
            (lambda x: x if x[0] > 0 else -x, "a condition"),
            (lambda x: [0 for _ in iter(lambda: bool(np.sum(x) < 0), False)], "a condition"),
            (lambda x: x[0] in x, "a condition"),
            (lambda x: max(x), "a condition"),
            (lambda x: int(x[0]), "int"),
            (lambda x: round(x[0]), "int"),
            (lambda x: float(x[0]), "float"),
            (lambda x: complex(x[0]), "complex"),
            (lambda x: __import__("math").sin(x[0]), "float"),
            (lambda x: "%f" % x[0], "float"),  # noqa: UP031
            (lambda x: list(range(np.argmax(x))), "an index"),
            (lambda x: np.asarray(x), "np.asarray"),
            (lambda x: np.array([x[0], x[1]]), "np.asarray"),
            (lambda x: np.zeros(6).__setitem__(slice(None), x), "np.asarray"),
            (lambda x: np.random.default_rng(0).normal(x), "np.asarray"),
        ],
    )
    def test_trace_error(self, program: Any, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("BRIDGE_SOURCE", "0")
        with pytest.raises(errors.TraceError) as caught:
            bridge.xla(program)(X)
        assert how in str(caught.value)
        assert "not known while the program is compiled" in str(caught.value)
        assert "test_compiled.py:" in str(caught.value)
        assert "remedy" in str(caught.value)
        np.testing.assert_allclose(bridge.grad(square, engine="xla")(X), 2 * X)

    @pytest.mark.parametrize("how", [repr, str, lambda x: f"{x}", lambda x: f"{x[0]:.3f}", lambda x: repr(x[0])])
    def test_printed_it_says_traced(self, how: Any, capsys: pytest.CaptureFixture[str]) -> None:
        bridge.xla(lambda x: print(how(x)))(X)
        text = capsys.readouterr().out
        assert text.startswith("a traced float64 ")
        assert "0." not in text

    @pytest.mark.parametrize("function", [np.unique, np.nonzero, np.flatnonzero])
    def test_shapes_that_depend_on_values(self, function: Any) -> None:
        with pytest.raises((errors.RefusedError, errors.TraceError), match=r"(?s)test_compiled\.py:.*remedy"):
            bridge.xla(lambda x: function(x))(X)

    def test_what_may_be_asked(self) -> None:
        def program(x: Any) -> Any:
            assert len(x) == 6 and x.shape == (6,) and x.ndim == 1 and x.dtype == float and x is not None
            return sum(v * v for v in x)

        assert bridge.xla(program)(X) == pytest.approx(X @ X)


class TestLives:
    def test_a_buffer_kept_after_the_trace(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("BRIDGE_SOURCE", "0")
        kept: list[Any] = []
        bridge.xla(lambda x: (kept.append(x * 2), x)[1])(X)
        for use in (
            lambda: kept[0] + 1,
            lambda: np.sum(kept[0]),
            lambda: kept[0].__setitem__(0, 1.0),
            lambda: np.asarray(kept[0]),
            lambda: bridge.xla(lambda x: x + kept[0])(X),
            lambda: bridge.grad(lambda x: np.sum(x * kept[0]))(X),
        ):
            with pytest.raises(errors.ContextError, match="outside its context, which has closed"):
                use()

    @pytest.mark.parametrize("wrap", [bridge.xla, lambda f: bridge.grad(f, engine="xla")])
    def test_a_buffer_of_a_loop_or_branch_used_outside(self, wrap: Any) -> None:
        def of_loop(x: Any) -> Any:
            kept: list[Any] = []

            def body(i: Any, v: Any) -> Any:
                kept.append(v * 2)
                return kept[-1]

            bridge.fori_loop(0, 3, body, x)
            return np.sum(kept[-1])

        def of_branch(x: Any) -> Any:
            kept: list[Any] = []

            def branch(v: Any) -> Any:
                kept.append(v * 2)
                return kept[-1]

            bridge.cond(x[0] > 0, branch, branch, x)
            return np.sum(kept[-1])

        for program in (of_loop, of_branch):
            # What they append is carried out of them.
            plain = program if wrap is bridge.xla else bridge.grad(program)
            np.testing.assert_allclose(wrap(program)(X), plain(X), rtol=1e-12)

    def test_an_exception_leaves_nothing_open(self) -> None:
        fails = [True]

        def moody(x: Any) -> Any:
            if fails[0]:
                raise OSError("moody")
            return x * 3

        run = bridge.xla(moody)
        with pytest.raises(OSError, match="moody"):
            run(X)
        assert bridge.current_context() is None
        fails[0] = False
        np.testing.assert_allclose(run(X), 3 * X)
        with pytest.raises(ZeroDivisionError):
            bridge.grad(lambda x: bridge.fori_loop(0, 3, lambda i, v: 1 / 0, x), engine="xla")(X)
        assert bridge.current_context() is None

    def test_threads(self) -> None:
        both = bridge.value_and_grad(lambda x: np.sum(np.sin(x) * x), engine="xla")
        right: list[bool] = []

        def work(k: int) -> None:
            for n in (3, 4, 5, 3):
                x = np.full(n, k + 1.0)
                value, gradient = both(x)
                right.append(np.allclose(value, np.sum(np.sin(x) * x)))
                right.append(np.allclose(gradient, np.cos(x) * x + np.sin(x)))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(right) == 32 and all(right)

    def test_compiled_functions_within_each_other(self) -> None:
        inner = bridge.xla(square)
        assert bridge.xla(lambda x: inner(x) * 2)(X) == pytest.approx(2 * X @ X)
        np.testing.assert_allclose(bridge.grad(inner, engine="xla")(X), 2 * X)
        # A gradient that is not compiled runs it as it is.
        np.testing.assert_allclose(bridge.grad(inner)(X), 2 * X)
        np.testing.assert_allclose(bridge.jvp(inner, (X,), (X,))[1], 2 * X @ X)

        def twice(x: Any, n: int) -> Any:
            return x if n == 0 else recursive(x * 2, n - 1)

        recursive = bridge.xla(twice)
        np.testing.assert_allclose(recursive(X, 3), 8 * X)

    @pytest.mark.parametrize("inner", ["eager", "auto", "native", "xla"])
    def test_gradients_within(self, inner: str) -> None:
        def program(x: Any) -> Any:
            return np.sum(bridge.grad(lambda y: np.sum(y**3) * x[0], engine=inner)(x) ** 2)

        np.testing.assert_allclose(bridge.grad(program, engine="xla")(X), bridge.grad(program)(X), rtol=1e-12)

    def test_engines_that_cannot_be_within(self) -> None:
        with pytest.raises((errors.ArgumentError, errors.EngineNotAvailable), match=r"(?s)remedy"):
            bridge.xla(bridge.grad(square, engine="jax"))(X)

    def test_a_gradient_of_what_is_no_number(self) -> None:
        with pytest.raises(errors.CotangentError, match=r"ndarray of shape \(6,\)"):
            bridge.grad(lambda x: x**3, engine="xla")(X)


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    root = str(Path(__file__).parents[2])
    code = f"import sys; sys.path.insert(0, {root!r})\n" + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)


class TestCompilation:
    PROGRAM = """
    import numpy as np, bridge, jax
    hits = []
    jax.monitoring.register_event_listener(lambda event, **kw: hits.append(event) if "cache_hits" in event else None)
    def body(i, u):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) * u[1:-1]
        return u
    def f(x):
        return np.sum(bridge.fori_loop(0, 5, body, x.copy()) ** 2)
    before = jax.config.jax_compilation_cache_dir
    print(bridge.xla(bridge.value_and_grad(f), cache=sys.argv[1])(np.linspace(0.0, 1.0, 50))[1].sum())
    assert jax.config.jax_compilation_cache_dir == before
    print(len(hits))
    """

    @pytest.mark.ci
    def test_a_second_process_finds_what_the_first_compiled(self, tmp_path: Path) -> None:
        folder = tmp_path / "cache"
        first = run_python(self.PROGRAM, str(folder)).stdout.split()
        assert any(folder.iterdir())
        second = run_python(self.PROGRAM, str(folder)).stdout.split()
        assert first[0] == second[0]
        assert (int(first[1]), int(second[1]) > 0) == (0, True)

    @pytest.mark.parametrize("succeeds", ["without kernels", "without a pass", "never"])
    def test_a_program_that_xla_does_not_compile_is_made_otherwise(
        self, monkeypatch: pytest.MonkeyPatch, succeeds: str
    ) -> None:
        plain, asked = jax.jit, []

        class Failing:
            def __call__(self, never: Any, values: Any) -> Any:
                raise jax.errors.JaxRuntimeError("whatever XLA says")

            lower = __call__

        def failing(function: Any, compiler_options: Any = None, **options: Any) -> Any:
            if not isinstance(function, Program):
                return plain(function, **options)
            way = "without a pass" if compiler_options else "" if function.in_kernels else "without kernels"
            asked.append((way, compiler_options))
            return plain(function, compiler_options=compiler_options) if way == succeeds else Failing()

        monkeypatch.setattr("bridge.xla.compiled.jax.jit", failing)
        gradient = bridge.grad(square, engine="xla")
        if succeeds == "never":
            with pytest.raises(jax.errors.JaxRuntimeError, match="whatever XLA says"):
                gradient(X)
        else:
            np.testing.assert_allclose(gradient(X), 2 * X)
        ways = [
            ("", None),
            ("without kernels", None),
            ("without a pass", {"xla_disable_hlo_passes": "dynamic-slice-annotator"}),
        ]
        assert asked == (ways[:2] if succeeds == "without kernels" else ways)

    def test_a_program_that_fails_while_it_runs_is_made_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        plain, asked = jax.jit, []

        def failing(function: Any, **options: Any) -> Any:
            made = plain(function, **options)
            if not isinstance(function, Program):
                return made
            asked.append(function)

            class Failing:
                lower = made.lower

                def __call__(self, never: Any, values: Any) -> Any:
                    raise jax.errors.JaxRuntimeError("UNIMPLEMENTED: a callback of the program says so")

            return Failing()

        monkeypatch.setattr("bridge.xla.compiled.jax.jit", failing)
        with pytest.raises(jax.errors.JaxRuntimeError, match="a callback of the program says so"):
            bridge.grad(square, engine="xla")(X)
        assert len(asked) == 1

    SAID = (
        "compiling value_and_grad(square) for XLA; this happens once for each signature",
        "compiled value_and_grad(",
    )

    def test_a_long_compilation_says_so_to_a_terminal(self, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
        monkeypatch.setattr("bridge.xla.compiling.SILENT", 0.01)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        run = bridge.xla(bridge.value_and_grad(square))
        run(X)
        said = capsys.readouterr().err
        assert all(f"[bridge] {text}" in said for text in self.SAID)
        run(X)
        assert capsys.readouterr().err == ""

    def test_and_to_a_log_that_is_kept(self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
        monkeypatch.setattr("bridge.xla.compiling.SILENT", 0.01)
        with caplog.at_level("INFO", logger="bridge.xla"):
            bridge.xla(bridge.value_and_grad(square))(X)
        assert all(any(text in record.message for record in caplog.records) for text in self.SAID)

    def test_it_may_be_told_to_be_silent(self, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
        monkeypatch.setattr("bridge.xla.compiling.SILENT", 0.0)
        monkeypatch.setenv("BRIDGE_XLA_PROGRESS", "0")
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        bridge.xla(bridge.value_and_grad(square))(X)
        assert capsys.readouterr().err == ""

    def test_a_cache_for_all_programs(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("BRIDGE_XLA_CACHE", str(tmp_path / "kept"))
        bridge.grad(lambda x: np.sum(np.sin(x) * x), engine="xla")(X)
        assert any((tmp_path / "kept").iterdir())

    def test_lowered_and_compiled(self) -> None:
        run = bridge.xla(lambda x: np.sin(x) * 2)
        assert "sine" in run.lower(X).as_text()
        assert run.compile(X).memory_analysis() is not None
        assert run.__name__ == "<lambda>"


def test_a_folder_for_one_program_is_not_used_by_others(tmp_path: Any) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    bridge.xla(lambda x: np.sin(x) * 31, cache=first)(X)
    kept = sorted(path.name for path in first.iterdir())
    assert kept
    bridge.xla(lambda x: np.sin(x) * 32)(X)
    bridge.xla(lambda x: np.sin(x) * 33, cache=second)(X)
    assert sorted(path.name for path in first.iterdir()) == kept
    assert list(second.iterdir())


WEIGHTED: list[Any] = [
    lambda x, w: np.average(x, weights=w),
    lambda x, w: np.average(w, weights=x),
    lambda x, w: np.trapezoid(x, x=w),
    lambda x, w: np.trapezoid(w, x=x),
    lambda x, w: np.cov(x, aweights=w),
]


@pytest.mark.parametrize("function", WEIGHTED)
def test_arrays_given_by_keyword_to_composed_functions(function: Any) -> None:
    x, w = np.array([0.3, 0.7, 1.1, 0.4]), np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(bridge.xla(lambda x: function(x, w))(x), function(x, w))
    found = bridge.grad(lambda x: function(x, w), engine="xla")(x)
    np.testing.assert_allclose(found, bridge.grad(lambda x: function(x, w))(x))
