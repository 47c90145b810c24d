"""Julia's own values as arguments: structs, dictionaries, arrays of kinds that NumPy has not; and gradients by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError, JuliaError, RuleError

pytestmark = pytest.mark.julia

X = np.array([0.5, 1.5])
ENERGY = "(s, x) -> s.stiffness * sum(abs2, x - s.rest)"

DEFINITIONS = """
using LinearAlgebra, SparseArrays
struct OwnSpring{T,V}
    stiffness::T
    rest::V
    name::String
end
mutable struct OwnBox
    x::Vector{Float64}
    n::Int
end
struct OwnLayer{W,B,F}
    W::W
    b::B
    activation::F
end
(layer::OwnLayer)(x) = layer.activation.(layer.W * x .+ layer.b)
struct OwnAngle
    degrees::Float64
end
Base.getproperty(a::OwnAngle, name::Symbol) = name === :radians ? deg2rad(getfield(a, :degrees)) : getfield(a, name)
mutable struct OwnLink
    x::Float64
    next::Any
end
"""


@pytest.fixture(scope="module", autouse=True)
def definitions() -> None:
    bridge.julia.eval(f"begin\n{DEFINITIONS}\nend; nothing")


def own(code: str) -> Any:
    """A Julia value that stays one."""
    import juliacall

    return juliacall.Main.seval(code)


def same(found: Any, expected: Any) -> None:
    """Nested gradients are what is expected, with its types."""
    if isinstance(expected, dict):
        assert isinstance(found, dict) and found.keys() == expected.keys()
        for name, one in expected.items():
            same(found[name], one)
    elif isinstance(expected, tuple):
        assert isinstance(found, tuple) and len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif expected is None:
        assert found is None
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-12, strict=True)


SPRING = 'OwnSpring(2.0, [1.0, 0.5], "steel")'
PROGRAMS = {
    "struct": (
        "s -> s.stiffness * sum(abs2, [0.5, 1.5] - s.rest)",
        SPRING,
        {"stiffness": np.float64(1.25), "rest": np.array([2.0, -4.0]), "name": None},
    ),
    "struct in a struct": (
        "s -> s.stiffness * sum(abs2, s.rest.rest)",
        f'OwnSpring(3.0, {SPRING}, "")',
        {
            "stiffness": np.float64(1.25),
            "rest": {"stiffness": np.float64(0.0), "rest": np.array([6.0, 3.0]), "name": None},
            "name": None,
        },
    ),
    "single precision": (
        "s -> s.stiffness * sum(s.rest)",
        'OwnSpring(2f0, Float32[1, 2], "")',
        {"stiffness": np.float32(3), "rest": np.array([2, 2], np.float32), "name": None},
    ),
    "complex": (
        "s -> abs2(s.stiffness)",
        'OwnSpring(1.0 + 2im, 3, "")',
        {"stiffness": np.complex128(2 + 4j), "rest": None, "name": None},
    ),
    "callable": (
        "layer -> sum(layer([1.0, 2.0]))",
        "OwnLayer([1.0 2.0; 3.0 4.0], [0.5, 0.25], identity)",
        {"W": np.array([[1.0, 2.0], [1.0, 2.0]]), "b": np.ones(2), "activation": None},
    ),
    "a property that is computed": ("a -> a.radians^2", "OwnAngle(90.0)", {"degrees": np.float64(np.pi**2 / 180)}),
    "mutable": ("b -> sum(abs2, b.x) * b.n", "OwnBox([1.0, 2.0], 3)", {"x": np.array([6.0, 12.0]), "n": None}),
    "dictionary": (
        'd -> sum(abs2, d["a"]) * d["b"]',
        'Dict("a" => [1.0, 2.0], "b" => 3.0)',
        {"a": np.array([6.0, 12.0]), "b": np.float64(5)},
    ),
    "vector of structs": (
        "v -> sum(a -> a.degrees^2, v)",
        "[OwnAngle(1.0), OwnAngle(3.0)]",
        ({"degrees": np.float64(2)}, {"degrees": np.float64(6)}),
    ),
    "vector of vectors": ("v -> sum(v[1]) * v[2][1]", "[[1.0, 2.0], [3.0]]", (np.array([3.0, 3.0]), np.array([3.0]))),
    "vector": ("v -> sum(abs2, v)", "[1.0, 2.0]", np.array([2.0, 4.0])),
    "view": ("v -> sum(abs2, v)", "view([1.0, 2.0, 3.0], 2:3)", np.array([4.0, 6.0])),
    "range": ("v -> sum(abs2, v)", "1.0:0.5:2.0", np.array([2.0, 3.0, 4.0])),
    "Symmetric": (
        "S -> sum(abs2, S * [1.0, 2.0])",
        "Symmetric([1.0 2.0; 3.0 4.0])",
        np.array([[10.0, 20.0], [20.0, 40.0]]),
    ),
    "Symmetric taken apart": (
        "S -> S.data[1, 2] * 3 + S.data[1, 1]",
        "Symmetric([1.0 2.0; 3.0 4.0])",
        np.array([[1.0, 1.5], [1.5, 0.0]]),
    ),
    "Diagonal": ("D -> sum(abs2, D * [1.0, 2.0])", "Diagonal([1.0, 2.0])", np.array([[2.0, 0.0], [0.0, 16.0]])),
    "Diagonal taken apart": ("D -> sum(abs2, D.diag)", "Diagonal([1.0, 2.0])", np.array([[2.0, 0.0], [0.0, 4.0]])),
    "UpperTriangular": (
        "U -> sum(abs2, U * [1.0, 2.0])",
        "UpperTriangular([1.0 2.0; 0.0 3.0])",
        np.array([[10.0, 20.0], [0.0, 24.0]]),
    ),
    "sparse": ("S -> sum(abs2, S * [1.0, 2.0])", "sparse([1.0 0.0; 0.0 3.0])", np.array([[2.0, 0.0], [0.0, 24.0]])),
    "transpose": ("A -> sum(abs2, A)", "transpose([1.0 2.0])", np.array([[2.0], [4.0]])),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_by_julias_own_values(name: str) -> None:
    code, value, expected = PROGRAMS[name]
    f = bridge.julia.function(code)
    argument = own(value)
    same(bridge.grad(f)(argument), expected)
    value, pull = bridge.vjp(f, argument)
    assert value == pytest.approx(f(argument))
    for _ in range(2):
        same(pull(1.0), (expected,))


@pytest.mark.parametrize(
    ("package", "code", "value", "expected"),
    [
        ("StaticArrays", "v -> v[1]^2 * v[2]", "SVector(2.0, 3.0)", np.array([12.0, 4.0])),
        ("StaticArrays", "v -> sum(abs2, v)", "SMatrix{2,1}(2.0, 3.0)", np.array([[4.0], [6.0]])),
        ("StaticArrays", "s -> sum(s.rest) * s.stiffness", 'OwnSpring(2.0, SVector(1.0, 2.0), "")', "a struct"),
        (
            "ComponentArrays",
            "p -> p.a^2 * sum(p.b)",
            "ComponentArray(a = 2.0, b = [1.0, 3.0])",
            np.array([16.0, 4.0, 4.0]),
        ),
    ],
)
def test_arrays_of_packages(package: str, code: str, value: str, expected: Any) -> None:
    from bridge.julia.session import session

    if not session().has(package):
        pytest.skip(f"{package} is not in the Julia project")
    bridge.julia.using(package)
    if isinstance(expected, str):
        expected = {"stiffness": np.float64(3.0), "rest": np.array([2.0, 2.0]), "name": None}
    same(bridge.grad(bridge.julia.function(code))(own(value)), expected)


def test_beside_other_arguments_and_in_containers() -> None:
    f, spring = bridge.julia.function(ENERGY), own(SPRING)
    by_spring, by_x = bridge.grad(f, argnums=(0, 1))(spring, X)
    same(by_spring, {"stiffness": np.float64(1.25), "rest": np.array([2.0, -4.0]), "name": None})
    same(by_x, np.array([-2.0, 4.0]))
    same(bridge.grad(f, argnums=1)(spring, X), by_x)
    value, gradient = bridge.value_and_grad(f)(spring, X)
    assert value == pytest.approx(2.5)
    same(gradient, by_spring)
    nested = bridge.julia.function("d -> d.s.stiffness * sum(abs2, d.x - d.s.rest)")
    same(bridge.grad(nested)({"s": spring, "x": X}), {"s": by_spring, "x": by_x})
    same(bridge.grad(lambda x: f(spring, x * 2) * 3)(X), np.array([0.0, 60.0]))
    same(bridge.hessian(f, argnums=1)(spring, X), 4 * np.eye(2))


def test_what_is_not_used_has_a_gradient_of_zeros() -> None:
    found = bridge.grad(bridge.julia.function("(s, x) -> sum(x)"))(own(SPRING), X)
    same(found, {"stiffness": np.float64(0), "rest": np.zeros(2), "name": None})


REFUSED = {
    "no floats": (
        "s -> s.stiffness",
        'OwnSpring(2, [1, 2], "")',
        ArgumentError,
        "has type AnyValue, and a gradient is asked of it",
    ),
    "keys that are no strings": (
        "d -> d[1]^2",
        "Dict(1 => 2.0)",
        JuliaError,
        "its keys are neither strings nor symbols",
    ),
    "in two places": (
        "t -> sum(t.a.x) + sum(t.b.x)",
        "(b = OwnBox([1.0], 1); (a = b, b = b))",
        JuliaError,
        "is in two places of the arguments",
    ),
    "in itself": ("t -> t.x^2", "(l = OwnLink(1.0, nothing); l.next = l; l)", JuliaError, "or holds itself"),
    "a closure with a gradient": (
        "layer -> sum(layer([1.0, 2.0]))",
        "(a -> OwnLayer([1.0 2.0], [0.5], x -> a * x))(2.0)",
        JuliaError,
        "that has no form in Python",
    ),
    "a field that the call gives up": (
        "l -> (y = l.next^2; l.next = nothing; y)",
        "OwnLink(1.0, 2.0)",
        JuliaError,
        "has a gradient",
    ),
    "written": (
        "b -> (b.x[1] = 2; sum(b.x))",
        "OwnBox([1.0], 1)",
        JuliaError,
        r"setindex! mutates a plain Vector\{Float64\}",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name: str) -> None:
    code, value, error, match = REFUSED[name]
    with pytest.raises(error, match=match):
        bridge.grad(bridge.julia.function(code))(own(value))


def test_one_value_as_two_arguments() -> None:
    box = own("OwnBox([1.0, 2.0], 1)")
    f = bridge.julia.function("(a, b) -> sum(a.x) * sum(b.x)")
    for argnums in (0, 1, (0, 1)):
        with pytest.raises(JuliaError, match="is in two places of the arguments"):
            bridge.grad(f, argnums=argnums)(box, box)


def test_the_order_of_axes_does_not_turn_them() -> None:
    f = bridge.julia.function("(M, x) -> M[1, 2] * sum(x)", order="reversed")
    by_own, by_array = bridge.grad(f, argnums=(0, 1))(own("[1.0 2.0 3.0; 4.0 5.0 6.0]"), np.ones((2, 3)))
    same(by_own, np.array([[0.0, 6.0, 0.0], [0.0, 0.0, 0.0]]))
    same(by_array, np.full((2, 3), 2.0))


def test_pulls_of_several_outputs() -> None:
    f = bridge.julia.function("(layer, s, x) -> (layer(x), s.stiffness * x)")
    layer, spring = own("OwnLayer([1.0 2.0; 3.0 4.0; 5.0 6.0], [0.5, 0.25, 0.0], identity)"), own(SPRING)
    (first, second), pull = bridge.vjp(f, layer, spring, X)
    assert first.shape == (3,) and second.shape == (2,)
    by_layer, by_spring, by_x = pull((np.array([1.0, 0.0, 2.0]), np.array([10.0, 0.0])))
    same(
        by_layer,
        {"W": np.array([[0.5, 1.5], [0.0, 0.0], [1.0, 3.0]]), "b": np.array([1.0, 0.0, 2.0]), "activation": None},
    )
    same(by_spring, {"stiffness": np.float64(5.0), "rest": np.zeros(2), "name": None})
    same(by_x, np.array([31.0, 14.0]))
    by_layer, by_spring, by_x = pull((None, np.array([0.0, 1.0])))
    same(by_layer, {"W": np.zeros((3, 2)), "b": np.zeros(3), "activation": None})
    same(by_spring["stiffness"], np.float64(1.5))


def test_pulls_of_the_reversed_order_of_axes() -> None:
    f = bridge.julia.function("(M, x) -> M[1, 2] * x", order="reversed")
    value, pull = bridge.vjp(f, own("[1.0 2.0 3.0; 4.0 5.0 6.0]"), np.ones((2, 3)))
    assert value.shape == (2, 3)
    by_own, by_array = pull(np.arange(6.0).reshape(2, 3))
    same(by_own, np.array([[0.0, 15.0, 0.0], [0.0, 0.0, 0.0]]))
    same(by_array, 2 * np.arange(6.0).reshape(2, 3))


def test_a_closure_without_floats_has_no_gradient() -> None:
    f = bridge.julia.function("(g, x) -> sum(g, x)")
    same(bridge.vjp(f, own("abs2"), X)[1](1.0), (None, np.array([1.0, 3.0])))


def test_forward_mode_takes_them_for_constants() -> None:
    f, spring = bridge.julia.function(ENERGY), own(SPRING)
    assert bridge.jvp(f, (spring, X), (None, np.ones(2)))[1] == pytest.approx(2.0)
    with pytest.raises(ArgumentError, match="a tangent is given for argument 0, which has a value of Julia's own"):
        bridge.jvp(f, (spring, X), (spring, np.ones(2)))


def test_a_field_that_is_called_as_something_of_ours() -> None:
    bridge.julia.eval("begin; struct OwnSensor; place::Float64; value::Float64; end; end; nothing")
    found = bridge.grad(bridge.julia.function("s -> s.place * s.value"))(own("OwnSensor(2.0, 3.0)"))
    same(found, {"place": np.float64(3.0), "value": np.float64(2.0)})
    assert bridge.julia.function("s -> s.place * s.value")(own("OwnSensor(2.0, 3.0)")) == 6.0


def test_only_zygote_differentiates_by_them() -> None:
    f = bridge.julia.function("using ForwardDiff; " + ENERGY, ad="forwarddiff")
    with pytest.raises(
        JuliaError, match=r"forwarddiff does not differentiate by a OwnSpring\{.*that is an argument itself"
    ) as e:
        bridge.grad(f)(own(SPRING), X)
    assert "ad=" in e.value.remedy
    with pytest.raises(JuliaError, match="forwarddiff does not differentiate by a OwnSpring"):
        bridge.vjp(f, own(SPRING), X)
    same(bridge.grad(f, argnums=1)(own(SPRING), X), np.array([-2.0, 4.0]))


def test_of_a_numpy_program_they_are_constants() -> None:
    f = bridge.julia.function(ENERGY)
    with pytest.raises(ArgumentError, match="argument 0 has type AnyValue, and a gradient is asked of it") as e:
        bridge.grad(lambda s, x: f(s, x))(own(SPRING), X)
    assert "differentiate the Julia function itself" in e.value.remedy


def test_functions_with_declared_writes_take_them_as_constants() -> None:
    f = bridge.julia.function("function own_scaled!(x, s); x .*= s.stiffness; return sum(x); end", mutates="x")
    with pytest.raises((ArgumentError, RuleError), match="a gradient is asked of it"):
        bridge.grad(f, argnums=1)(X.copy(), own(SPRING))
