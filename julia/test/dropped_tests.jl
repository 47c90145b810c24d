# Sparse arrays that a function makes leave out what comes to zero: the gradient is right, or an error that names the call.

module DroppedTests

using MutationBridge, Test
using LinearAlgebra: Diagonal, dot
using SparseArrays: sparse, spdiagm
import ForwardDiff, Random

const gradient = MutationBridge.gradient
const S = sparse([1.0 2.0 0.0; 0.0 3.0 4.0; 5.0 0.0 6.0])
const with_zero, without = [0.0, 2.0, 3.0], [1.0, 2.0, 3.0]

struct Model{A,B}
    S::A
    x::B
end

message_of(f, args...) = try
    gradient(f, args...)
    "no error"
catch error
    sprint(showerror, error)
end

# What each leaves out at a zero has a gradient; the same with full arrays is what is right.
const LOSING = (
    ("broadcast", "a broadcast of *", (S, x) -> sum(S .* x)),
    ("sparse", "SparseVector", (S, x) -> sum(sparse(x) .* [7.0, 8.0, 9.0])),
    ("in a tuple", "a broadcast of *", (S, x) -> first((sum(S .* x), x))),
    ("in a function of its own", "a broadcast of *", (S, x) -> scaled(S, x)),
    ("of a Buffer", "a broadcast of *", (S, x) -> (b = Buffer(x); b[2] = 2b[2]; sum(S .* b))),
    ("beside a large gradient", "a broadcast of *", (S, x) -> sum(S .* x) + 1e8 * x[2]),
    ("splatted", "a broadcast of *", (S, x) -> scaled((S, x)...)),
    ("composed", "a broadcast of *", (S, x) -> (sum ∘ (x -> S .* x))(x)),
    ("fixed", "a broadcast of *", (S, x) -> Base.Fix1(scaled, S)(x)),
    ("in a map", "a broadcast of *", (S, x) -> sum(map(k -> k * sum(S .* x), 1:2))),
    ("in a comprehension", "a broadcast of *", (S, x) -> sum([k * sum(S .* x) for k in 1:2])),
    ("in a reduction", "a broadcast of *", (S, x) -> foldl((t, k) -> t + k * sum(S .* x), 1:2; init = 0.0)),
    ("in a loop", "a broadcast of *", (S, x) -> (t = 0.0; for k in 1:2; t += k * sum(S .* x); end; t)),
)
scaled(S, x) = sum(S .* x)
const RUNS = Ref(0)

@testset "$name" for (name, told, f) in LOSING
    @test occursin("LostGradient: $told leaves out an element that is zero here, and an engine loses", message_of(x -> f(S, x), with_zero))
    @test occursin("Array(S)", message_of(x -> f(S, x), with_zero))
    near = ForwardDiff.gradient(x -> f(Array(S), x), without)
    @test gradient(x -> f(S, x), without)[1] ≈ near
end

# What is left out here has no gradient, or is a constant of the program.
const KEEPING = (
    ("products with vectors", x -> sum(abs2, S * x)),
    ("a diagonal", x -> sum(spdiagm(x))),
    ("entries at their places", x -> sum(abs2, sparse([1, 2, 3], [3, 1, 2], x) * without)),
    ("scaled rows", x -> sum(Diagonal(x) * S)),
    ("a constant made of a full array", x -> dot(x, sparse([1.0 0.0 0.0; 0.0 0.0 2.0; 0.0 0.0 3.0]) * x)),
    ("squares, whose derivative is zero there", x -> sum((S .* x) .^ 2)),
    ("a mask", x -> sum(abs2, (S .* (Array(S) .> 2)) * x)),
    ("full arrays of sparse ones", x -> sum(Array(S) .* x)),
)

@testset "$name" for (name, f) in KEEPING
    near = ForwardDiff.gradient(f, with_zero)
    @test gradient(f, with_zero)[1] ≈ near
    value, pull = MutationBridge.pullback(f, with_zero)
    @test pull(1.0)[1] ≈ near ≈ pull(1.0)[1]
end

@testset "the random generator, and what cannot be nudged" begin
    noisy(x) = sum(sparse([1.0 0.0; 0.0 2.0]) * x) * rand()
    @test gradient(noisy, [1.0, 2.0])[1][1] != 0
    struct_of(m) = sum(m.S .* m.x)
    model(x) = Model(S, x)
    @test gradient(struct_of, model(without))[1].x ≈ vec(sum(S; dims = 2))
    @test occursin("cannot be told", message_of(struct_of, model(with_zero)))
    @test occursin("a broadcast of *", message_of((n, x) -> n.a * sum(S .* x), (a = 2.0, b = "name"), with_zero))
end

@testset "other arguments" begin
    whole = message_of(x -> sum(S .* x), [0, 2, 3])
    @test occursin("a broadcast of *", whole)
    @test occursin("a broadcast of *", message_of((x, c) -> c * sum(S .* x), [0, 2, 3], 1.0))
    @test occursin("a broadcast of *", message_of((n, x) -> sum(n .* S) + sum(x), 0, without))
    @test occursin("SparseVector", message_of(x -> sum(sparse(x) .* [7.0, 8.0, 9.0]), [0, 2, 3]))
    @test occursin("SparseVector", message_of((x, c) -> c * sum(sparse(x) .* [7.0, 8.0, 9.0]), [0, 2, 3], 2.0))
    @test occursin("SparseMatrixCSC", message_of(A -> sum(sparse(A) .* Array(S)), [0 2; 3 4; 5 6] * [1 0 0; 0 1 1]))
    @test gradient((x, c, at) -> c[at[1]] * sum((S .* x) .^ 2), [0, 2, 3], [2.0, 3.0], [1])[2] ≈ [sum((S .* [0, 2, 3]) .^ 2), 0]
    @test occursin("a broadcast of *", message_of((x, n, c) -> (s = 0.0; for k in 1:n; s += n * c[k] * sum(S .* x); end; s), [0, 2, 3], 2, without))
    @test occursin("a broadcast of *", message_of(D -> sum(S .* D.diag), Diagonal(with_zero)))
    @test occursin("a broadcast of *", message_of((x, b) -> sum(S .* x) + sum(exp.(-b)), with_zero, [Inf, 1.0]))
    @test gradient((x, n) -> n * sum((S .* x) .^ 2), with_zero, 2)[1] ≈ ForwardDiff.gradient(x -> 2 * sum((Array(S) .* x) .^ 2), with_zero)
    @test occursin("cannot be told", message_of(x -> (all(>=(-1e-12), x) || error("negative"); sum(S .* x)), with_zero))
    @test occursin("cannot be told", message_of(f -> sum(S .* f()), (x -> () -> x)(with_zero)))
end

@testset "what runs again leaves nothing behind" begin
    RUNS[] = 0
    counted(x) = (RUNS[] += 1; sum((S .* x) .^ 2))
    @test gradient(counted, with_zero)[1] ≈ ForwardDiff.gradient(x -> sum((Array(S) .* x) .^ 2), with_zero)
    @test RUNS[] == 1
    Random.seed!(1)
    gradient(x -> rand() * sum((S .* x) .^ 2), with_zero)
    after = rand()
    Random.seed!(1)
    rand()
    @test after == rand()
    y, _ = MutationBridge.pullback(ts -> (b = Buffer([0.0]); s = sum(t -> (b[1] += t; t .* S), ts); b[1] + sum(s)), [1.0, 2.0])
    @test y ≈ 3 + 3 * sum(S)
end

@testset "a global that is defined after a first attempt" begin
    late(x) = not_yet_defined(2) * sum(x)
    @test_throws UndefVarError gradient(late, without)
    @eval not_yet_defined(n) = n + 1
    @test Base.invokelatest(gradient, late, without)[1] == [3.0, 3.0, 3.0]
end

@testset "second derivatives" begin
    @test MutationBridge.hessian(x -> sum((S * x) .^ 2), with_zero) ≈ 2 * S'S
    f(S, x) = sum(S .* x .* x[2])
    @test MutationBridge.hessian(x -> f(S, x), with_zero) ≈ ForwardDiff.hessian(x -> f(Array(S), x), with_zero)
end

end
