# Sparse arrays that a function makes leave out what comes to zero: the gradient is right, or an error that names the call.

module DroppedTests

using MutationBridge, Test
using LinearAlgebra: Diagonal, dot
using SparseArrays: nonzeros, sparse, spdiagm
import ChainRulesCore, ForwardDiff, Random

const gradient = MutationBridge.gradient
const S = sparse([1.0 2.0 0.0; 0.0 3.0 4.0; 5.0 0.0 6.0])
const with_zero, without = [0.0, 2.0, 3.0], [1.0, 2.0, 3.0]

struct Model{A,B}
    S::A
    x::B
end

mutable struct Changing
    S
    x::Vector{Float64}
    calls::Int
end

# A call with a rule of its own, whose argument is a struct or a closure.
masked(m::Model) = m.S .* m.x
function ChainRulesCore.rrule(::typeof(masked), m::Model)
    masked_pullback(ct) = (d = ChainRulesCore.unthunk(ct); (ChainRulesCore.NoTangent(), (S = d .* m.x, x = vec(sum(d .* m.S; dims = 2)))))
    return masked(m), masked_pullback
end
masked_by(f) = S .* f()
ChainRulesCore.rrule(::typeof(masked_by), f) =
    masked_by(f), ct -> (ChainRulesCore.NoTangent(), (x = vec(sum(ChainRulesCore.unthunk(ct) .* S; dims = 2)),))

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
    ("by a rule of a struct", "masked", (S, x) -> sum(masked(Model(S, x)))),
    ("by a rule of a closure", "masked_by", (S, x) -> sum(masked_by(() -> x))),
    ("in a broadcast", "a broadcast of *", (S, x) -> sum((y -> sum(S .* y)).([x, 2x]))),
    ("in a broadcast of structs", "a broadcast of *", (S, x) -> sum((m -> sum(m.S .* m.x)).([Model(S, x), Model(S, 2x)]))),
    ("in a broadcast of tuples", "a broadcast of *", (S, x) -> sum((y -> sum(S .* y)).((x, 2x)))),
    ("in a wrapper", "a broadcast of *", (S, x) -> sum(transpose(S .* x) * without)),
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
    ("squares of a struct", x -> (m = Model(S, x); sum(abs2, m.S .* m.x))),
    ("squares by a rule of a struct", x -> sum(abs2, masked(Model(S, x)))),
    ("squares in a broadcast", x -> sum((y -> sum(abs2, S .* y)).([x, 2x]))),
    ("numbers in a broadcast", x -> sum((a -> sum(S .* a)).(x))),
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
    @test occursin("another one", message_of(struct_of, model(with_zero)))
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
    @test occursin("another one", message_of(f -> sum(S .* f()), (x -> () -> x)(with_zero)))
    @test occursin("cannot be told", message_of(x -> sum(S .* x), Buffer(with_zero)))
end

@testset "structs and containers: lost where it matters, and nowhere else" begin
    loses(m) = sum(m.S .* m.x)
    squares(m) = sum(abs2, m.S .* m.x)
    right = ForwardDiff.gradient(x -> sum(abs2, Array(S) .* x), with_zero)
    named(S, x) = (; S, x)
    for make in (Model, named, (S, x) -> Changing(S, x, 0))
        @test occursin("another one", message_of(loses, make(S, with_zero)))
        @test gradient(loses, make(S, without))[1].x ≈ vec(sum(S; dims = 2))
        @test gradient(squares, make(S, with_zero))[1].x ≈ right
    end
    @test occursin("another one", message_of(d -> sum(S .* d["x"]), Dict("x" => with_zero)))
    @test gradient(d -> sum(abs2, S .* d["x"]), Dict("x" => with_zero))[1]["x"] ≈ right
    @test occursin("another one", message_of(v -> sum(S .* v[1]), [with_zero]))
    @test gradient(v -> sum(abs2, S .* v[1]), [with_zero])[1][1] ≈ right
    @test occursin("another one", message_of(ms -> sum(m -> loses(m), ms), [Model(S, with_zero), Model(S, without)]))
    @test occursin("another one", message_of(n -> sum(S .* n.x), (x = [0, 2, 3],)))
    @test occursin("integers in a struct", message_of(loses, Model(S, [0, 2, 3])))
    @test gradient(m -> m.n * sum(m.S * m.x), (; n = 2, S, x = with_zero))[1].x ≈ 2 * vec(sum(S; dims = 1))
    @test occursin("another one", message_of((x, y) -> sum((S .* x - S .* y) * without), without, copy(without)))
end

@testset "a copy beside" begin
    shared = [0.0, 1.0]
    given = (shared, Model(S, shared), Any[1, "text", 2.0f0], Dict(:a => 0.0), (x -> () -> x)(shared), Buffer(shared), Base.Ref(3.0), 1:2, :name)
    before = deepcopy(given[1:4])
    above = MutationBridge.nudged(given, 1)
    @test typeof(above) == typeof(given)
    @test isequal(given[1], before[1]) && given[2].S == before[2].S && given[3] == before[3] && given[4] == before[4]
    @test above[1] === above[2].x === above[5].x && all(0 .< abs.(above[1] - shared) .< 1e-6)
    @test all(nonzeros(above[2].S) .!= nonzeros(S)) && above[2].S.colptr == S.colptr
    @test above[3][1:2] == [1, "text"] && above[3][3] != 2.0f0 && above[4][:a] != 0 && above[7][] != 3.0 && above[8:9] == (1:2, :name)
    @test copy(given[6]) == shared != copy(above[6])
    @test MutationBridge.nudged(given, 0)[1] == shared !== MutationBridge.nudged(given, 0)[1]
    @test MutationBridge.nudged((GlobalRef(@__MODULE__, :with_zero),), 1)[1].name === :with_zero && with_zero == [0.0, 2.0, 3.0]
    x, y = MutationBridge.nudged((without, copy(without)), 1)
    @test all(x .!= y)
end

@testset "what runs again leaves nothing behind" begin
    RUNS[] = 0
    counted(x) = (RUNS[] += 1; sum((S .* x) .^ 2))
    @test gradient(counted, with_zero)[1] ≈ ForwardDiff.gradient(x -> sum((Array(S) .* x) .^ 2), with_zero)
    @test RUNS[] == 1
    gradient(x -> sum(sum(y -> (RUNS[] += 1; S .* y), [x, 2x])), without)
    @test RUNS[] == 3
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
