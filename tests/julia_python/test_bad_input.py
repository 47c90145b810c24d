"""Bad input to Julia: a clear error or a right answer, the session usable after, the caller's arrays unchanged."""

from __future__ import annotations

import signal
import threading
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import CotangentError, JuliaError

pytestmark = pytest.mark.julia

X = np.array([0.3, -0.8, 1.2])


@pytest.fixture(autouse=True)
def session_stays_usable() -> Any:
    x = X.copy()
    yield
    assert bridge.julia.function("sum")(x) == pytest.approx(np.sum(X))
    np.testing.assert_allclose(bridge.grad(bridge.julia.function("x -> sum(abs2, x)"))(x), 2 * X)


def test_syntax_errors_show_the_place() -> None:
    with pytest.raises(JuliaError, match="ParseError"):
        bridge.julia.function("x -> sum(x .* ")
    with pytest.raises(JuliaError, match="ParseError"):
        bridge.julia.eval("1 +* 2")


def test_unknown_names() -> None:
    for name in ("no_such_function", "LinearAlgebra.no_such_function"):
        with pytest.raises(JuliaError, match=r"no_such_function.*not defined"):
            bridge.julia.function(name)
    with pytest.raises(JuliaError, match="NoSuchPackage"):
        bridge.julia.function("NoSuchPackage.f")
    with pytest.raises(JuliaError, match=r"no_such_helper.*not defined"):
        bridge.julia.function("x -> no_such_helper(x)")(X)


def test_a_package_that_is_not_loaded() -> None:
    f = bridge.julia.function("x -> Dates.value(Dates.Day(2)) * sum(x)")
    for call in (lambda: f(X), lambda: bridge.grad(f)(X)):
        with pytest.raises(JuliaError, match=r"Dates.* not defined") as raised:
            call()
        assert raised.value.remedy == 'load the package first: bridge.julia.using("Dates")'
    bridge.julia.using("Dates")
    np.testing.assert_array_equal(bridge.grad(f)(X), [2, 2, 2])
    package_of = "import MutationBridge; name -> string(MutationBridge.Python.package_of(Symbol(name)))"
    found = [bridge.julia.function(package_of)(name) for name in ("LinearAlgebra", "norm", "spzeros", "nonsense")]
    assert found == ["LinearAlgebra", "LinearAlgebra", "SparseArrays", "nothing"]


@pytest.mark.parametrize(
    "code, returned",
    [
        ("x -> 2x", "Vector"),
        ("x -> nothing", "Nothing"),
        ("x -> (sum(x), 1)", "Tuple"),
        ("x -> sum(x) * im", "Complex"),
    ],
)
def test_a_gradient_needs_one_number(code: str, returned: str) -> None:
    function = bridge.julia.function(code)
    with pytest.raises(CotangentError, match=f"returned a {returned}[\\s\\S]*one real number"):
        bridge.grad(function)(X)
    if returned in ("Vector", "Complex"):
        with pytest.raises(CotangentError, match="one real number"):
            bridge.grad(lambda x: function(x))(X)


def test_nan_is_a_value() -> None:
    nan = bridge.julia.function("x -> sum(x) + NaN")
    assert np.isnan(nan(X))
    value, gradient = bridge.value_and_grad(nan)(X)
    assert np.isnan(value) and np.array_equal(gradient, np.ones(3))
    logs = bridge.julia.function("x -> sum(x ./ x)")
    assert np.isnan(bridge.grad(logs)(np.zeros(2))).all()


def test_type_unstable_functions() -> None:
    unstable = bridge.julia.function("x -> x[1] > 0 ? sum(abs2, x) : x[1] < -1 ? 0 : Float32(sum(x))")
    np.testing.assert_allclose(bridge.grad(unstable)(X), 2 * X)
    np.testing.assert_allclose(bridge.grad(unstable)(-X), np.ones(3))
    np.testing.assert_array_equal(bridge.grad(unstable)(-10 * X), np.zeros(3))
    either = bridge.julia.function('x -> x[1] > 0 ? x : "text"')
    np.testing.assert_array_equal(either(X), X)
    assert either(-X) == "text"


def test_an_exception_in_the_pullback_has_its_message_and_stack() -> None:
    bridge.julia.eval(
        "using ChainRulesCore; with_bad_pull(x) = sum(x);"
        'ChainRulesCore.rrule(::typeof(with_bad_pull), x) = (sum(x), ct -> error("the pull is bad"))'
    )
    # Under "auto" an engine that has a derivative of its own would answer.
    bad = bridge.julia.function("x -> with_bad_pull(x)", ad="zygote")
    x = X.copy()
    for call in (lambda: bridge.grad(bad)(x), lambda: bridge.grad(lambda y: bad(y * 2))(x)):
        with pytest.raises(JuliaError, match="the pull is bad") as caught:
            call()
        assert "julia code" in caught.value.julia_stack and __file__ in str(caught.value)
    np.testing.assert_array_equal(x, X)
    _, pull = bridge.vjp(bad, x)
    for _ in range(2):
        with pytest.raises(JuliaError):
            pull(np.float64(1))


@pytest.mark.parametrize("ad", ["auto", "zygote"])
def test_the_short_stack_shows_the_users_frames_only(ad: str) -> None:
    code = 'inner_of_deep(x) = error("deep")\nouter_of_deep(x) = inner_of_deep(x) + 1'
    deep = bridge.julia.function(code, ad=ad)
    with pytest.raises(JuliaError) as caught:
        bridge.grad(deep)(X)
    text = str(caught.value)
    assert "inner_of_deep" in text and "outer_of_deep" in text and "Zygote" not in text
    assert "inner_of_deep" in caught.value.julia_stack


def test_wrong_dtypes_and_layouts_say_what_to_do() -> None:
    only = bridge.julia.function("only_matrices(x::Matrix{Float64}) = sum(x)")
    assert only(np.ones((2, 2), order="F")) == 4
    for wrong in (np.ones((2, 2)), np.ones((2, 2), "float32", order="F"), np.ones(2)):
        with pytest.raises(JuliaError, match=r"MethodError[\s\S]*asfortranarray"):
            only(wrong)
    with pytest.raises(JuliaError, match="DimensionMismatch"):
        bridge.julia.function("(a, b) -> a * b")(np.ones((2, 3)), np.ones(2))
    with pytest.raises(JuliaError, match="MethodError"):
        bridge.julia.function("(a, b) -> a")(1.0)


@pytest.mark.parametrize("size", [3, 100_000])
def test_arrays_are_unchanged_after_an_exception(size: int) -> None:
    throwing = bridge.julia.function("x -> (y = x .* 2; y[end + 1]; sum(y))")
    x = np.linspace(0, 1, size)
    before = x.tobytes()
    doubled = bridge.grad(lambda y: throwing(y) * 2)
    for call in (throwing, bridge.grad(throwing), doubled):
        with pytest.raises(JuliaError, match="BoundsError"):
            call(x)
        assert x.tobytes() == before


def test_a_lost_gradient_is_an_error() -> None:
    bridge.julia.eval("using MutationBridge: Buffer")
    lost = bridge.julia.function("x -> (b = Buffer(x); try; b[1] = 2.0; error(); catch; b[2] = 0.0; end; sum(copy(b)))")
    with pytest.raises(JuliaError, match=r"LostGradient|MutationError"):
        bridge.grad(lost)(X)
    over = bridge.julia.function("x -> (b = Buffer(x); for i in 1:3; b[i] = b[i]^2 * i; end; sum(copy(b)))")
    np.testing.assert_allclose(bridge.grad(over)(X), 2 * X * [1, 2, 3])


def test_calls_from_four_threads() -> None:
    function = bridge.julia.function("x -> sum(tanh.(x * transpose(x)))")
    gradient = bridge.value_and_grad(function)
    x = np.random.default_rng(0).normal(size=60)
    expected = gradient(x)
    failures: list[Any] = []

    def work(number: int) -> None:
        try:
            mine = bridge.julia.function(f"x -> {number} * sum(x)")
            for _ in range(60):
                value, found = gradient(x)
                assert value == expected[0] and np.array_equal(found, expected[1])
                assert np.array_equal(bridge.grad(lambda y: mine(y) + np.sum(y))(x), np.full(60, number + 1.0))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not failures and not any(thread.is_alive() for thread in threads)
    bridge.julia.eval("GC.gc()")


def test_integers_beyond_64_bits() -> None:
    with pytest.raises(OverflowError):
        bridge.julia.function("identity")(2**70)


def test_ctrl_c_stops_a_long_gradient() -> None:
    bridge.julia.eval("using MutationBridge: Buffer")
    halves = bridge.julia.function("(x, n) -> (b = Buffer(x); for i in 1:n; b[1] = b[1] * 0.5; end; sum(copy(b)))")
    np.testing.assert_allclose(bridge.grad(halves)(X, 3), [0.125, 1, 1])
    x = X.copy()
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            bridge.grad(halves)(x, 20_000_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_allclose(bridge.grad(halves)(X, 3), [0.125, 1, 1])
