"""Julia functions as users write them, under `ad="auto"`: right against finite differences, or an error by name.

The programs are of the kinds that issues of Zygote, Mooncake, Enzyme and SciML's packages are about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeError

pytestmark = pytest.mark.julia

X = np.array([0.7, -0.4, 1.3, 0.2])
M = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [0.3, 0.8, 1.1]])


@dataclass(frozen=True)
class Program:
    """A Julia function and its arguments, of which the first is differentiated.

    engine : who is to differentiate it, "Zygote" or "Mooncake" (skipped where that is not there).
    raises : what the error says instead, under every choice of packages.
    needs : Julia packages that it uses.
    """

    name: str
    code: str
    args: tuple[Any, ...] = (X,)
    engine: str = "Mooncake"
    raises: str = ""
    needs: tuple[str, ...] = ()


ZYGOTE = "Zygote"

PROGRAMS = [
    Program("elementwise", "x -> sum(sin.(x) .* x)", engine=ZYGOTE),
    Program("strings beside", '(x, how) -> how == "twice" ? 2sum(x) : sum(x .^ 2)', (X, "twice"), ZYGOTE),
    Program(
        "a tuple rebuilt",
        "x -> (s = (1.0, 0.0); for v in x; s = (s[1] * v, s[2] + v^2); end; s[1] + s[2])",
        engine=ZYGOTE,
    ),
    Program(
        "while with a number", "x -> (s = x[1]; n = 0; while s < 5; s = s * 1.5 + 0.1; n += 1; end; s)", engine=ZYGOTE
    ),
    Program("a comprehension", "x -> sum([x[i] * x[end + 1 - i] for i in eachindex(x)])", engine=ZYGOTE),
    Program("a dictionary of floats", 'x -> (d = Dict("a" => x[1], "b" => x[2]); d["a"] * d["b"])', engine=ZYGOTE),
    Program(
        "a buffer of ours",
        "x -> (b = MutationBridge.Buffer(x); for i in 2:4; b[i] *= b[i-1]; end; b[4])",
        engine=ZYGOTE,
    ),
    Program("try without an error", "x -> try; sum(log.(x .+ 2)); catch; 0.0; end", engine=ZYGOTE),
    Program("a captured matrix", "let W = [1.0 2 0 1; 0 1 1 3]; x -> sum(abs2, W * x); end", engine=ZYGOTE),
    Program("a loop in place", "x -> (y = copy(x); for i in 2:length(y); y[i] += tanh(y[i-1]); end; sum(abs2, y))"),
    Program("similar, then filled", "x -> (y = similar(x); for i in eachindex(x); y[i] = x[i]^2; end; y[2] * sum(y))"),
    Program(
        "zeros, then added to", "x -> (y = zeros(length(x)); for i in eachindex(x); y[i] += x[i] * i; end; prod(y))"
    ),
    Program("push!", "x -> (y = Float64[]; for v in x; push!(y, v^2); end; sum(y .* x))"),
    Program("append! and pop!", "x -> (y = [x[1]]; append!(y, x); pop!(y) * y[2] + sum(y))"),
    Program("pushfirst!", "x -> (y = [x[1]]; pushfirst!(y, x[2] * x[3]); y[1] * y[2])"),
    Program("broadcast into", "x -> (y = zero(x); y .= x .^ 2 .+ 1; sum(y .* x))"),
    Program("broadcast added into", "x -> (y = ones(4); y .+= exp.(x); y .*= x; sum(y))"),
    Program("a view written", "x -> (y = copy(x); v = view(y, 2:3); v .*= 3; v[1] += y[1]; sum(abs2, y))"),
    Program(
        "columns written", "A -> (B = similar(A); for j in axes(A, 2); B[:, j] = A[:, j] .* j; end; sum(abs2, B))", (M,)
    ),
    Program("mul!", "x -> (y = zeros(2); LinearAlgebra.mul!(y, [1.0 2 0 1; 0 1 1 3], x); sum(abs2, y))"),
    Program("mul! of five", "A -> (C = ones(3, 3); LinearAlgebra.mul!(C, A, A', 2.0, 0.5); sum(C .^ 2))", (M,)),
    Program(
        "lmul! and rmul!", "x -> (y = copy(x); LinearAlgebra.rmul!(y, x[1]); LinearAlgebra.lmul!(2.0, y); sum(abs2, y))"
    ),
    Program("sort!", "x -> (y = copy(x); sort!(y); sum(y .* [1, 2, 3, 4]))"),
    Program("sort", "x -> sum(sort(x) .* [1, 2, 3, 4])", engine=ZYGOTE),
    Program("sortperm", "x -> (p = sortperm(x); sum(x[p] .* [1, 2, 3, 4]))", engine=ZYGOTE),
    Program("cumsum!", "x -> (y = similar(x); cumsum!(y, x); sum(abs2, y))"),
    Program("accumulate!", "x -> (y = similar(x); accumulate!(*, y, x); sum(y))"),
    Program("map!", "x -> (y = similar(x); map!(v -> v^3, y, x); sum(y) * y[1])"),
    Program("fill! and copyto!", "x -> (y = zeros(8); fill!(y, x[1]); copyto!(y, 3, x, 1, 4); sum(abs2, y))"),
    Program("reverse!", "x -> (y = copy(x); reverse!(y); sum(y .* x .* [1, 2, 3, 4]))"),
    Program("swaps", "x -> begin y = copy(x); y[1], y[4] = y[4], y[1]; y[1] * 2 + y[4] * 3 + sum(abs2, y) end"),
    Program(
        "an ODE right-hand side",
        """
        function lorenz!(du, u, p, t)
            du[1] = p[1] * (u[2] - u[1]); du[2] = u[1] * (p[2] - u[3]) - u[2]; du[3] = u[1] * u[2] - p[3] * u[3]
            return nothing
        end
        function (p, u0)
            u = copy(u0); du = similar(u)
            for k in 1:5
                lorenz!(du, u, p, 0.0); u .+= 0.01 .* du
            end
            return sum(abs2, u)
        end
        """,
        (np.array([10.0, 28.0, 2.6]), np.array([1.0, 0.5, 0.2])),
    ),
    Program(
        "heat by differences",
        """
        function (u0, a)
            u = copy(u0); new = similar(u)
            for step in 1:3
                new[1] = u[1]; new[end] = u[end]
                for i in 2:length(u)-1; new[i] = u[i] + a * (u[i-1] - 2u[i] + u[i+1]); end
                u, new = new, u
            end
            return sum(abs2, u)
        end
        """,
        (X, 0.1),
    ),
    Program(
        "a mutable struct of an array",
        "mutable struct AnyCell; h::Vector{Float64}; n::Int; end\n"
        "x -> (c = AnyCell(zeros(4), 0); for i in 1:4; c.h[i] = x[i]^2; c.n += 1; end; c.n * sum(c.h .* x))",
    ),
    Program(
        "a mutable struct of a number",
        "mutable struct AnySum; s::Float64; end\nx -> (c = AnySum(1.0); for v in x; c.s = c.s * (v + 2); end; c.s)",
        engine="",
    ),
    Program(
        "mutable structs in a vector",
        "mutable struct AnyItem; v::Float64; end\n"
        "x -> (c = [AnyItem(v) for v in x]; for k in 1:3; c[k+1].v += c[k].v^2; end; sum(i.v for i in c))",
    ),
    Program("a captured variable", "x -> (s = 0.0; map(v -> (s += v; s), x); s^2)", engine=ZYGOTE),
    Program(
        "an immutable struct",
        "struct AnyDense; W::Matrix{Float64}; b::Vector{Float64}; end\n(d::AnyDense)(x) = tanh.(d.W * x .+ d.b)\n"
        "x -> (l = AnyDense(reshape(x, 2, 2), [0.1, 0.2]); sum(l(x[1:2])))",
        engine=ZYGOTE,
    ),
    Program(
        "a closure that writes",
        "x -> (y = zero(x); put!(i, v) = (y[i] = v); for i in 1:4; put!(i, x[i]^2); end; sum(y))",
    ),
    Program("a captured workspace", "let work = zeros(4); x -> (work .= x .^ 2; sum(work) * x[1]); end"),
    Program(
        "while in place", "x -> (y = copy(x); i = 1; while i < 4 && y[i] < 10; y[i+1] += y[i] * 2; i += 1; end; y[4])"
    ),
    Program(
        "a vector of vectors",
        "x -> (y = [zeros(2) for _ in 1:2]; for i in 1:4; y[1 + i % 2][1 + i ÷ 3] += x[i]^2; end; sum(sum, y))",
    ),
    Program("a dictionary of arrays", 'x -> (d = Dict("a" => zeros(4)); d["a"] .= x .^ 2; sum(d["a"]) * x[2])'),
    Program(
        "a dictionary filled",
        "x -> (d = Dict{Int,Float64}(); for i in 1:4; d[i] = x[i]^2; end; sum(d[i] for i in 1:4))",
        engine="",
    ),
    Program("a Ref", "x -> (r = Ref(0.0); for v in x; r[] += v^2; end; r[])", engine=""),
    Program("Float32", "x -> (y = copy(x); for i in 2:4; y[i] += y[i-1]^2; end; sum(y))", (X.astype(np.float32),)),
    Program("complex", "z -> (y = copy(z); y[1] *= y[2]; y .*= 2im; sum(abs2, y))", (X[:2] + 1j * X[2:],)),
    Program(
        "containers",
        "p -> (y = copy(p.w); y[1] *= p.b; sum(abs2, y) + p.more[1])",
        ({"w": X, "b": 0.3, "more": (2.0, 1.5)},),
    ),
    Program("keywords inside", "f(x; scale=2.0) = (y = copy(x); y[2] *= scale; sum(abs2, y))\nx -> f(x; scale=x[1])"),
    Program("strings and symbols beside", '(x, s) -> (y = copy(x); s == "a" && (y[1] = x[2]); sum(abs2, y))', (X, "a")),
    Program("integers in place", "x -> (n = zeros(Int, 3); for i in 1:4; n[1 + i % 3] += i; end; sum(x[1:3] .* n))"),
    Program(
        "a matrix in C's order",
        "A -> (B = copy(A); B[1, :] .*= 2; B[:, 2] .+= B[:, 1]; sum(B .^ 2))",
        (np.ascontiguousarray(M),),
    ),
    Program(
        "cholesky in place",
        "A -> (S = A * A' + 3LinearAlgebra.I; F = LinearAlgebra.cholesky!(LinearAlgebra.Hermitian(S)); sum(F.L))",
        (M,),
        "",
    ),
    Program("branches on values", "x -> (x[1] > 0 ? (y = copy(x); y[1] = 2x[2]; sum(abs2, y)) : sum(x))"),
    Program("random draws", "x -> (y = copy(x); for i in 1:4; y[i] *= rand(); end; sum(y))", engine="Mooncake"),
    Program(
        "StaticArrays",
        "x -> (s = StaticArrays.SVector{4}(x); m = StaticArrays.MVector(s); m[1] = m[2] * 3; sum(m .* s))",
        needs=("StaticArrays",),
    ),
    Program("sparse", "x -> (A = SparseArrays.spdiagm(x); A[1, 2] = x[3]; sum(A * ones(4)))", engine=""),
    Program(
        "reads a global", "any_weights = [1.0, 2.0, 3.0, 4.0]\nx -> (y = copy(x); y .*= any_weights; sum(abs2, y))"
    ),
    Program(
        "writes a constant",
        "const any_scratch = zeros(4)\nx -> (any_scratch .= x .^ 2; sum(any_scratch))",
        raises="mutates a plain",
    ),
    Program(
        "writes a global",
        "any_global = zeros(4)\nx -> (global any_global; any_global[1] = x[1]^2; any_global[1] * x[2])",
        raises="mutates a plain",
    ),
    Program(
        "draws from a generator of its own",
        "let own = Random.Xoshiro(1); x -> (y = copy(x); y[1] *= rand(own); sum(y)); end",
        raises="mutates a plain",
    ),
    Program("writes its argument", "x -> (x[1] = 2.0; sum(x))", raises="is not declared to"),
    Program("writes its argument by .=", "x -> (x .*= 2; sum(x))", raises="is not declared to"),
    Program("catches an error", 'x -> try; error("always"); catch; sum(x); end', raises="LostGradient"),
    Program("raises an error of its own", 'x -> (y = copy(x); y[1] = 0; error("of its own"))', raises="of its own"),
    Program("returns a vector", "x -> (y = copy(x); y[1] = 2.0; y)", raises="gradient needs one real number"),
]


@pytest.fixture(scope="module", autouse=True)
def packages() -> None:
    bridge.julia.using("LinearAlgebra", "SparseArrays", "Random")


def has(package: str) -> bool:
    return package in bridge.julia.status().engines


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_right_or_an_error_by_name(program: Program) -> None:
    for package in program.needs:
        try:
            bridge.julia.using(package)
        except BridgeError as missing:
            pytest.skip(str(missing))
    function = bridge.julia.function(program.code)
    before = [np.array(x) for x in program.args if isinstance(x, np.ndarray)]
    for _ in range(2):
        try:
            value, gradient = bridge.value_and_grad(function)(*program.args)
        except BridgeError as error:
            check_error(program, function, error)
        else:
            assert not program.raises, f"{gradient}\n{function.explain()}"
            check_gradient(program, function, value, gradient)
    after = [x for x in program.args if isinstance(x, np.ndarray)]
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def check_error(program: Program, function: Any, error: BridgeError) -> None:
    if program.raises in str(error) and program.raises:
        return
    assert not program.raises or not has("Mooncake"), str(error)
    assert program.engine != "Zygote" and not has("Mooncake"), f"{error}\n{function.explain()}"
    assert "add Mooncake" in str(error) and "Pkg.add" in str(error)
    print(f"not differentiated here, since there is no Mooncake: {program.name}")


def check_gradient(program: Program, function: Any, value: Any, gradient: Any) -> None:
    if program.engine:
        assert f": {program.engine}" in function.explain(), function.explain()
    leaves, structure = bridge.trees.leaves_of(program.args[0])
    found, _ = bridge.trees.leaves_of(gradient)
    if program.name == "random draws":
        assert value == pytest.approx(np.sum(gradient * program.args[0]))
        return
    assert value == pytest.approx(function(*program.args))
    single = any(np.asarray(leaf).dtype == np.float32 for leaf in leaves)
    rng = np.random.default_rng(0)
    wide = [
        np.asarray(leaf, complex if np.iscomplexobj(leaf) else float) for leaf in leaves if not isinstance(leaf, int)
    ]
    assert len(wide) == len(found)
    for _ in range(3):
        along = [rng.normal(size=x.shape) + (1j * rng.normal(size=x.shape) if np.iscomplexobj(x) else 0) for x in wide]

        def at(t: float, along: Any = along) -> Any:
            moved = [(x + t * d)[()] for x, d in zip(wide, along, strict=True)]
            return function(bridge.trees.rebuilt(structure, moved), *program.args[1:])

        expected = (at(1e-6) - at(-1e-6)) / 2e-6
        told = sum(np.sum(np.real(np.conj(g) * d)) for g, d in zip(found, along, strict=True))
        assert told == pytest.approx(expected, rel=1e-4 if single else 1e-6, abs=1e-7)
