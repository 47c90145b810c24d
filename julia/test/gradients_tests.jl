# gradient, withgradient, pullback, hessian, hvp, jvp: arguments and values of all kinds, errors, and what is left behind.

module GradientsTests

include("finite_differences.jl")
using LinearAlgebra: dot
using MutationBridge: hvp, jvp
import ForwardDiff, Zygote

const gradient = MutationBridge.gradient
const withgradient = MutationBridge.withgradient
const pullback = MutationBridge.pullback
const x3 = [1.0, 2.0, 3.0]

square!(b) = (b[1] = b[2]^2 * b[1]; nothing)
cubed(x) = (b = Buffer(x); square!(b); sum(copy(b)))

struct Layer{W}
    weights::W
    name::String
end
mutable struct Holder
    b::Any
end
mutable struct Counter
    value::Float64
end

@testset "arguments" begin
    @test gradient((a, b) -> a * b, 2.0, 3.0) == (3.0, 2.0)
    @test gradient((x, n) -> sum(x) * n, x3, 2) == ([2.0, 2.0, 2.0], 6.0)
    @test gradient((x, s) -> (s == "a" ? sum(x) : 2sum(x)), x3, "b") == ([2.0, 2.0, 2.0], nothing)
    @test gradient(x -> 1.0, x3) == (nothing,)
    @test gradient((x, y) -> sum(x), x3, x3) == (ones(3), nothing)
    @test gradient(t -> t.a * sum(t.b), (a = 2.0, b = [1.0, 2.0])) == ((a = 3.0, b = [2.0, 2.0]),)
    @test gradient(t -> t[1] * t[2][1], (2.0, (3.0, 4.0))) == ((3.0, (2.0, nothing)),)
    @test gradient(l -> (b = Buffer(l.weights); square!(b); b[1]), Layer([2.0, 3.0], "l")) == ((weights = [9.0, 12.0], name = nothing),)
    @test gradient(d -> d[:a] * 2, Dict(:a => 3.0))[1][:a] == 2.0
    @test gradient(() -> 1.0) == ()
    @test gradient(x -> x^2, 3) == (6.0,)
    @test gradient(x -> abs2(x), 1.0 + 2im) == (2.0 + 4im,)
    scale = 3.0
    @test gradient(x -> scale * sum(x), x3) == ([3.0, 3.0, 3.0],)
    function counted(x)
        c = Counter(0.0)
        for v in x
            c.value += v^2
        end
        c.value
    end
    @test gradient(counted, x3) == (2x3,)
end

@testset "Buffers as arguments: gradient by the contents at entry, contents unchanged" begin
    b = Buffer(x3)
    @test gradient(b -> (square!(b); sum(copy(b))), b) == ([4.0, 5.0, 1.0],)
    @test copy(b) == x3
    @test gradient(b -> 1.0, b) == (nothing,)
    @test gradient((b, y) -> (b .*= y; sum(abs2, b)), b, [1.0, 0.0, 2.0]) == ([2.0, 0.0, 24.0], [2.0, 0.0, 36.0])
    @test gradient(t -> (t.b[1] = t.s^2; sum(t.b)), (b = b, s = 3.0)) == ((b = [0.0, 1.0, 1.0], s = 6.0),)
    @test gradient(t -> (t[1][1] = t[1][2]; sum(t[1])), (b,)) == (([0.0, 2.0, 1.0],),)
    @test gradient(d -> (d[:b][1] = 2d[:b][2]; sum(d[:b])), Dict(:b => b))[1][:b] == [0.0, 3.0, 1.0]
    @test gradient(l -> (l.weights[1] = l.weights[2]^2; sum(l.weights)), Layer(b, "l")) == ((weights = [0.0, 5.0, 1.0], name = nothing),)
    @test gradient(v -> (v[1][1] = v[2][2]; sum(v[1])), [b, Buffer(x3)]) == ([[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]],)
    text = message_of(() -> gradient(h -> sum(h.b), Holder(b)), ArgumentError)
    @test occursin("inside of a mutable Holder", text)
    m = Buffer([1.0 2.0; 3.0 4.0])
    @test gradient(v -> (v[1] = v[2]^2; sum(v)), view(m, :, 2)) == ([0.0, 9.0],)
    @test copy(m) == [1.0 2.0; 3.0 4.0]
end

@testset "a Buffer made before is a cache, and is left as it was" begin
    cache = Buffer(zeros(3))
    fill_cache!(x) = (cache .= x .^ 2; sum(cache .* x))
    for _ in 1:3
        @test gradient(fill_cache!, x3)[1] ≈ 3 .* x3 .^ 2
        @test copy(cache) == zeros(3)
    end
    @test gradient(x -> fill_cache!(x) + fill_cache!(2x), x3)[1] ≈ 27 .* x3 .^ 2
    @test_throws "stop" gradient(x -> (cache .= x; error("stop")), x3)
    @test copy(cache) == zeros(3)
    @test_throws ArgumentError gradient(x -> (cache .= x; copy(cache)), x3)
    @test copy(cache) == zeros(3)
    value, pull = pullback(fill_cache!, x3)
    gradient(fill_cache!, x3)
    text = message_of(() -> pull(1.0), LostGradient)
    @test occursin("another differentiation", text)
end

@testset "values" begin
    @test withgradient(cubed, x3) == (val = 9.0, grad = ([4.0, 5.0, 1.0],))
    @test withgradient(x -> (sum(abs2, x), "aux", x[1]), x3) == (val = (14.0, "aux", 1.0), grad = (2x3,))
    @test withgradient(x -> (loss = sum(abs2, x), aux = 2x), x3) == (val = (loss = 14.0, aux = 2x3), grad = (2x3,))
    aux = withgradient(x -> (b = Buffer(x); square!(b); (sum(b), b)), x3)
    @test aux.val == (9.0, [4.0, 2.0, 3.0]) && aux.grad == ([4.0, 5.0, 1.0],)

    y, pull = pullback(x -> (b = Buffer(x); b .*= b; b), x3)
    @test y == x3 .^ 2 && y isa Vector
    @test pull([1.0, 0.0, 2.0]) == ([2.0, 0.0, 12.0],)
    y, pull = pullback(x -> (b = Buffer(x); b[1] = b[2]; (b, x[3])), x3)
    @test y == ([2.0, 2.0, 3.0], 3.0) && pull((ones(3), 5.0)) == ([0.0, 2.0, 6.0],)
    y, pull = pullback((x, y) -> x .* y, x3, x3)
    @test pull(ones(3)) == (x3, x3)
end

@testset "a pullback may be called again, with any cotangent" begin
    function program(x)
        b = Buffer(x)
        push!(b, b[1] * b[2])
        for i in 2:4
            b[i] = tanh(b[i]) + b[i-1]
        end
        b[1:2] .*= b[3:4]
        map(i -> (b[i] = b[i]^2; nothing), 1:2)
        pop!(b)
        deleteat!(b, 1)
        copy(b)
    end
    y, pull = pullback(program, x3)
    @test y == program(x3)
    for ct in ([1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [2.0, 3.0])
        @test pull(ct)[1] ≈ finite_gradient(x -> dot(ct, program(x)), x3) rtol = 1e-8
    end
    counted(x) = (c = Counter(0.0); for v in x; c.value += v^2; end; c.value)
    _, pull = pullback(counted, x3)
    @test pull(1.0) == pull(1.0) == (2x3,)
    _, pull = pullback(x -> (d = Dict(:b => Buffer(x)); d[:b][1] = x[2]^2; sum(d[:b])), x3)
    @test pull(1.0) == pull(1.0) == ([0.0, 5.0, 1.0],)
    _, pull = pullback(x -> (b = Buffer(x); b[[1, 1, 2]] = b[[2, 3, 3]]; b[1] + 10b[2]), x3)
    @test pull(1.0) == pull(1.0) == ([0.0, 0.0, 11.0],)
end

@testset "no real number, no gradient" begin
    for (f, part) in [
        (x -> x, "array of size (3,)"), (x -> nothing, "returned nothing"), (x -> complex(x[1], 1.0), "complex number"),
        (x -> "text", "String"), (x -> Buffer(x), "Buffer of size (3,)"),
    ]
        @test occursin(part, message_of(() -> gradient(f, x3), ArgumentError))
        @test occursin("real number", message_of(() -> withgradient(f, x3), ArgumentError))
    end
end

@testset "errors leave nothing broken" begin
    x = copy(x3)
    b = Buffer(x)
    @test_throws "in f" gradient((b, x) -> (b[1] = x[2]; push!(b, 2.0); error("in f")), b, x)
    @test copy(b) == x3 && x == x3
    stopping(v) = v
    Zygote.@adjoint stopping(v) = v, _ -> error("in the pullback")
    f(b, x) = (b[1] = x[2]^2; y = stopping(b[1]); b[2] = y; push!(b, y); sum(b))
    y, pull = pullback(f, b, x)
    @test_throws "in the pullback" pull(1.0)
    @test copy(b) == x3 && x == x3
    @test occursin("call MutationBridge.pullback again", message_of(() -> pull(1.0), LostGradient))
    @test gradient((b, x) -> (b[1] = x[2]^2; sum(b)), b, x) == ([0.0, 1.0, 1.0], [0.0, 4.0, 0.0])
    @test_throws MethodError gradient(x -> sum(x, "no such"), x)
    @test isnan(gradient(x -> (b = Buffer(x); b[1] = sqrt(b[1]) * 0; b[1]), [0.0])[1][1])
end

# A host's function that stops after so many polls.
const polls_left = Ref(0)
stop_soon()::Cint = (polls_left[] -= 1; polls_left[] < 0)

@testset "Ctrl-C from a host" begin
    cache = Buffer(zeros(3))
    f(x) = (for i in 1:3; cache[i] = x[i]^2; end; sum(cache))
    try
        MutationBridge.set_poll!(UInt(@cfunction(stop_soon, Cint, ())))
        for polls in (0, 2, 5)
            polls_left[] = polls
            @test_throws InterruptException gradient(f, x3)
            @test copy(cache) == zeros(3)
        end
    finally
        MutationBridge.set_poll!(0)
    end
    @test gradient(f, x3) == (2x3,)
end

@testset "gradients inside of gradients are refused by name" begin
    text = message_of(() -> gradient(x -> sum(gradient(y -> sum(abs2, y), x)[1]), x3), ArgumentError)
    @test occursin("hessian", text)
end

@testset "Zygote's own Buffer works under our context" begin
    @test gradient(x -> (b = Zygote.Buffer(x); b[:] = x .^ 2; sum(copy(b))), x3) == (2x3,)
end

@testset "second order" begin
    recurrence(x) = (b = Buffer(zeros(3)); b[1] = x[1]^2; for i in 2:3; b[i] = sin(x[i]) * b[i-1]; end; b .= b .* b; sum(b))
    plain(x) = (x[1]^4) + (sin(x[2]) * x[1]^2)^2 + (sin(x[3]) * sin(x[2]) * x[1]^2)^2
    H = ForwardDiff.hessian(plain, x3)
    @test MutationBridge.hessian(recurrence, x3) ≈ H
    @test hvp(recurrence, x3, [1.0, -1.0, 2.0]) ≈ H * [1.0, -1.0, 2.0]
    @test MutationBridge.hessian(x -> x^3, 2.0) == 12.0
    @test MutationBridge.hessian(x -> 1.0, x3) == zeros(3, 3)
    @test hvp(x -> sum(x), x3, x3) == zeros(3)
    of_x, of_a = hvp((x, a) -> (b = Buffer(x); b .*= a; sum(abs2, b)), (x3, 2.0), (ones(3), 1.0))
    @test of_x ≈ 8 .+ 8 .* x3 && of_a ≈ sum(2 .* x3 .^ 2 .+ 8 .* x3)
    growing(x) = (b = Buffer(Float64[]); for v in x; push!(b, v^3); end; pop!(b) * b[1])
    @test MutationBridge.hessian(growing, x3) ≈ ForwardDiff.hessian(x -> x[3]^3 * x[1]^3, x3)
    captured(a) = only(gradient(x -> (b = Buffer(zeros(3)); b .= x .* a; sum(abs2, b)), x3))[1]
    @test ForwardDiff.derivative(captured, 2.0) == 8.0

    value, derivative = jvp(recurrence, (x3,), ([1.0, 0.0, 2.0],))
    @test value ≈ recurrence(x3) && derivative ≈ dot(ForwardDiff.gradient(plain, x3), [1.0, 0.0, 2.0])
    value, derivative = jvp((a, x) -> (b = Buffer(x); b .*= a; b), (2.0, x3), (1.0, zeros(3)))
    @test value == 2x3 && derivative == x3
    @test jvp(x -> 3.0, (x3,), (x3,)) == (3.0, 0.0)
    @test jvp(z -> z * z, (1.0 + 2im,), (1.0 + 0im,)) == ((1.0 + 2im)^2, 2.0 + 4im)

    cache = Buffer(zeros(3))
    text = message_of(() -> MutationBridge.hessian(x -> (cache .= x; sum(abs2, cache)), x3), MutationError)
    @test occursin("Dual", text) && occursin("inside", text)
end

@testset "directions of the host are levels, below what the function nests by ForwardDiff" begin
    Dual, Level, ≺ = ForwardDiff.Dual, MutationBridge.Level, ForwardDiff.:≺
    earlier = ForwardDiff.Tag{typeof(cubed),Float64}
    ForwardDiff.tagcount(earlier)
    @test all(k -> Level{k} ≺ earlier && !(earlier ≺ Level{k}), 1:3)
    @test Level{1} ≺ Level{2} && !(Level{2} ≺ Level{1}) && !(Level{1} ≺ Level{1})
    x = Dual{Level{2}}(Dual{Level{1}}(3.0, 1.0), Dual{Level{1}}(1.0, 0.0))
    second(y) = ForwardDiff.partials(ForwardDiff.partials(y, 1), 1)
    @test second(ForwardDiff.derivative(s -> s^2 * x^3, x)) == 24 * 3.0^2
    @test second(hvp(s -> s^3 * x, x, 1.0)) == 12.0
    @test second(only(gradient(s -> (b = Buffer([s, 1.0]); b[2] *= b[1]^3; b[2] * x), x))) == 3 * 6 * 3.0
end

@testset "under plain Zygote.gradient, the first two checks hold" begin
    @test Zygote.gradient(cubed, x3) == ([4.0, 5.0, 1.0],)
    @test Zygote.gradient(x -> (b = Buffer(x); push!(b, b[1]); b[1:2] .*= 2; sum(abs2, b)), x3)[1] ≈ [10.0, 16.0, 6.0]
    @test_throws LostGradient Zygote.gradient(x -> (b = Buffer(x); map(i -> (b[i] = 2x[i]; nothing), 1:3); sum(copy(b))), x3)
end

end
