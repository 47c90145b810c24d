# Other engines by name, and the choice among those that are loaded.

using MutationBridge: MutationBridge, AutoMutationBridge, Buffer, Disproved, NoEngine, OtherValues, pullback_by
using DifferentiationInterface, ForwardDiff, Random

const HAS_MOONCAKE = Base.find_package("Mooncake") !== nothing
HAS_MOONCAKE && @eval using Mooncake
HAS_MOONCAKE || @info "Mooncake is not in the project: what it differentiates is not tested"
const HAS_ENZYME = Base.find_package("Enzyme") !== nothing
HAS_ENZYME && @eval import Enzyme
HAS_ENZYME || @info "Enzyme is not in the project: what it differentiates is not tested"

function scan(x, a)
    y = copy(x)
    for i in 2:length(y)
        y[i] = tanh(y[i] + a * y[i-1])
    end
    return sum(y)
end

const scratch = zeros(3)
into_scratch(x) = (scratch .= x .^ 2; sum(scratch))

const X3 = [0.3, -0.5, 1.1]
engines() = (:forwarddiff, (HAS_MOONCAKE ? (:mooncake,) : ())..., (HAS_ENZYME ? (:enzyme,) : ())...)

@testset "a function that writes arrays, by $ad" for ad in engines()
    value, back = pullback_by(ad, scan, X3, 0.7)
    @test value == scan(X3, 0.7)
    by_x, by_a = back(2.0)
    both = 2 * ForwardDiff.gradient(z -> scan(z[1:3], z[4]), [X3; 0.7])
    @test by_x ≈ both[1:3]
    @test by_a ≈ both[4]
end

@testset "containers, complex numbers and several outputs, by $ad" for ad in engines()
    f(p, z) = (sum(abs2, z) * p.a[1], (2 .* p.a, p.n))
    value, back = pullback_by(ad, f, (a = [1.0, 2.0], n = 2), [1 + 2im, 3.0 + im])
    @test value == (15.0, ([2.0, 4.0], 2))
    @test back((1.0, nothing)) == ((a = [15.0, 0.0], n = nothing), [2.0 + 4im, 6.0 + 2im])
    @test back((0.0, ([1.0, 3.0], nothing)))[1].a == [2.0, 6.0]
    value, back = pullback_by(ad, (x, y) -> x[1] * y[1], Float32[2], [3.0])
    @test back(1.0)[1] isa Vector{Float32} && back(1.0) == (Float32[3], [2.0])
end

@testset "one draw, and no state, by $ad" for ad in engines()
    Random.seed!(1)
    value, back = pullback_by(ad, x -> sum(x .* rand(3)), X3)
    next = rand()
    @test value ≈ back(1.0)[1]' * X3
    Random.seed!(1)
    rand(3)
    @test next == rand()
    own = Random.Xoshiro(1)
    _, back = pullback_by(ad, x -> rand(own) * sum(x), X3)
    @test_throws OtherValues back(1.0)
    n = Ref(0.0)
    for k in 1:3
        value, back = pullback_by(ad, x -> (n[] += 1; n[] * sum(x)), X3)
        @test value == k * sum(X3) && only(back(1.0)) == fill(k, 3) && n[] == k
    end
    for k in 4:6        # engines may run a function of several outputs several times
        value, back = pullback_by(ad, x -> (n[] += 1; n[] .* x), X3)
        @test value == k .* X3 && only(back([1.0, 2.0, 3.0])) ≈ k .* [1, 2, 3] && n[] == k
    end
end

@testset "the first engine that can" begin
    value, back = pullback_by(:auto, x -> sum(abs2, x), X3)
    @test back(1.0) == (2X3,)
    @test_throws "of its own" pullback_by(:auto, x -> (y = copy(x); y[1] = 0; error("of its own")), X3)
    if HAS_MOONCAKE
        value, back = pullback_by(:auto, scan, X3, 0.7)
        @test back(1.0)[1] ≈ ForwardDiff.gradient(x -> scan(x, 0.7), X3)
        refusal = try
            last(pullback_by(:auto, into_scratch, X3))(1.0)
        catch error
            error
        end
        @test refusal isa NoEngine && last(last(refusal.refusals)) isa Disproved
        @test contains(sprint(showerror, refusal), "finite differences say")
        writes(x) = (x[1] = 5 * x[2]; sum(abs2, x))
        x = copy(X3)
        @test last(pullback_by(:auto, writes, x))(1.0)[1] ≈ ForwardDiff.gradient(writes ∘ copy, X3)
        @test x == X3
        @test_throws "only Zygote gives a gradient by" pullback_by(:auto, x -> (y = copy(x[]); y[1] = 0; sum(y)), Ref(X3))
        @test_throws "only Zygote gives a gradient by" pullback_by(:auto, x -> (y = copy(x[1]); y[1] = 0; sum(y)), [X3])
    elseif !HAS_ENZYME
        refusal = @test_throws NoEngine pullback_by(:auto, scan, X3, 0.7)
        @test contains(sprint(showerror, refusal.value), "Mooncake")
    end
    @test_throws "is no engine" pullback_by(:tapenade, scan, X3, 0.7)
end

const DI = DifferentiationInterface

@testset "a backend of DifferentiationInterface" begin
    backend = AutoMutationBridge()
    @test string(backend) == "AutoMutationBridge()"
    @test DI.check_available(backend)
    f(x) = (y = Buffer(copy(x)); y[1] = y[1] * y[2]; sum(abs2, copy(y)))
    expected = ForwardDiff.gradient(x -> (x[1] * x[2])^2 + x[2]^2 + x[3]^2, X3)
    @test DI.gradient(f, backend, X3) ≈ expected
    value, gradient = DI.value_and_gradient(f, backend, X3)
    @test value == f(X3) && gradient ≈ expected
    prepared = DI.prepare_gradient(f, backend, zero(X3))
    @test DI.gradient(f, prepared, backend, X3) ≈ expected
    @test DI.gradient!(f, zero(X3), backend, X3) ≈ expected
    @test DI.gradient((x, a) -> a * sum(x), backend, X3, DI.Constant(2.0)) == fill(2.0, 3)
    @test DI.jacobian(x -> x .^ 2, backend, X3) ≈ ForwardDiff.jacobian(x -> x .^ 2, X3)
    @test DI.derivative(sin, backend, 0.3) ≈ cos(0.3)
    @test DI.gradient(x -> 1.0, backend, X3) == zero(X3)
    @test DI.pullback(x -> x .^ 2, backend, X3, ([1.0, 0, 0], [0.0, 1, 0])) == ([2X3[1], 0, 0], [0, 2X3[2], 0])
    @test_throws "ad=:zigote is no engine" AutoMutationBridge(ad=:zigote)
    named = AutoMutationBridge(ad=:forwarddiff)
    @test string(named) == "AutoMutationBridge(ad=:forwarddiff)"
    @test DI.gradient(x -> (y = copy(x); y[1] *= y[2]; sum(y)), named, X3) ≈ [X3[2], 1 + X3[1], 1]
end

HAS_MOONCAKE && @testset "the backend takes what writes plain arrays" begin
    backend = AutoMutationBridge()
    @test DI.gradient(x -> scan(x, 0.7), backend, X3) ≈ ForwardDiff.gradient(x -> scan(x, 0.7), X3)
    squares!(y, x) = (y .= x .^ 2; y[1] += x[2]; nothing)
    y = zeros(3)
    out, (by_x,) = DI.value_and_pullback(squares!, y, backend, X3, ([1.0, 2.0, 3.0],))
    @test out === y && y ≈ [X3[1]^2 + X3[2], X3[2]^2, X3[3]^2]
    @test by_x ≈ [2X3[1], 4X3[2] + 1, 6X3[3]]
    @test DI.jacobian(squares!, zeros(3), backend, X3) ≈ [2X3[1] 1 0; 0 2X3[2] 0; 0 0 2X3[3]]
end

HAS_ENZYME && @testset "what Enzyme differentiates, and what it refuses" begin
    writes(x) = (x[1] = 5 * x[2]; sum(abs2, x))
    x = copy(X3)
    value, back = pullback_by(:enzyme, writes, x)
    @test x == X3 && back(1.0)[1] ≈ ForwardDiff.gradient(writes ∘ copy, X3)
    kept = zeros(3)     # what a closure captures and writes has a shadow, and holds afterwards what the call left there
    value, back = pullback_by(:enzyme, x -> (kept .= x .^ 2; sum(kept)), X3)
    @test back(1.0)[1] ≈ 2X3 && kept ≈ X3 .^ 2
    refused = try
        last(pullback_by(:enzyme, into_scratch, X3))(1.0)
    catch error
        error
    end
    @test refused isa Disproved && contains(refused.msg, "Enzyme says") && contains(refused.msg, "scratch")
    @test_throws "of its own" pullback_by(:enzyme, x -> error("of its own"), X3)
end

HAS_ENZYME && !HAS_MOONCAKE && @testset "Enzyme is what takes over from Zygote" begin
    value, back = pullback_by(:auto, scan, X3, 0.7)
    @test back(1.0)[1] ≈ ForwardDiff.gradient(x -> scan(x, 0.7), X3)
    squares!(y, x) = (y .= x .^ 2; y[1] += x[2]; nothing)
    y = zeros(3)
    out, (by_x,) = DI.value_and_pullback(squares!, y, AutoMutationBridge(), X3, ([1.0, 2.0, 3.0],))
    @test out === y && y ≈ [X3[1]^2 + X3[2], X3[2]^2, X3[3]^2]
    @test by_x ≈ [2X3[1], 4X3[2] + 1, 6X3[3]]
end
