# Random numbers from keys: the bits that jax.random gives for its key(7), and gradients that are what the call says.

module RandomTests

using MutationBridge, Test
using MutationBridge: KeyedRandom as KR

const gradient = MutationBridge.gradient
const hessian = MutationBridge.hessian
const k = KR.key(7)

@testset "keys" begin
    @test k === (0x00000000, 0x00000007)
    @test KR.key(2^40 - 3) === (0x000000ff, 0xfffffffd)
    @test KR.key(-1) === (0xffffffff, 0xffffffff)
    @test KR.split(k, 3)[2] === (0x0ba028bf, 0xf22056bf)
    @test KR.fold_in(k, 12) === (0xf8e4998e, 0x4b6cf9fd)
    @test KR.cipher((0x13198a2e, 0x03707344), (0x243f6a88, 0x85a308d3)) === (0xc4923a9c, 0x483df7a0)   # its authors' answer
    @test KR.normal(UInt32[0, 7], (3,)) == KR.normal(k, (3,))
    @test_throws ArgumentError KR.normal(7, (3,))
    @test_throws ArgumentError KR.normal(UInt32[7], (3,))
    @test_throws ArgumentError KR.normal(k, (3, -1))
end

@testset "bits" begin
    @test KR.bits(k, (2, 2)) == [0xac91290b 0xf9807e00; 0x4d8729aa 0x71a74530]
    @test KR.bits(k; T = UInt64) === 0xd817648b74864d80
    @test KR.uniform(k, (3,)) == [0.8441069450823528, 0.04541258512665647, 0.22498462569285382]
    @test KR.permutation(k, 7) == [4, 2, 3, 5, 0, 6, 1] .+ 1
    @test sort(KR.permutation(k, 100)) == 1:100
    @test KR.categorical(k, [0.1 0.2 0.3; 1.0 2.0 3.0]) == [0, 2] .+ 1
    @test KR.categorical(k, [0.1 1.0; 0.2 2.0; 0.3 3.0]; dims = 1) isa Vector{Int}
end

@testset "floats" begin
    @test KR.normal(k, (2, 2)) ≈ [1.0114813355590866 -1.6910609087906374; -0.7554662899926428 -1.5189653807511152] rtol = 1e-13
    @test KR.normal(k, (2,); T = Float32) ≈ [0.4512351453304291, 1.9534509181976318] rtol = 5.0f-7
    @test KR.exponential(k) ≈ 1.8585850522259963 rtol = 1e-13
    @test KR.gumbel(k) ≈ 1.7750434817033711 rtol = 1e-13
    @test KR.gamma(k, [0.3, 1.2, 2.0]) ≈ [2.0991715320635806e-06, 0.2599819263402049, 0.924288763293625] rtol = 1e-12
    @test KR.gamma(k, 2.0f0) isa Float32
    @test isnan(KR.gamma(k, -1.0))
    @test eltype(KR.normal(k, (2,); T = Float32)) === Float32
    @test size(KR.normal(k, (2, 0, 3))) == (2, 0, 3)
    many = KR.normal(k, (40_000,))
    @test abs(sum(many) / 40_000) < 0.02 && abs(sum(abs2, many) / 40_000 - 1) < 0.03
end

difference(f, x, h = 1e-6) = [(f(x .+ h .* (eachindex(x) .== i)) - f(x .- h .* (eachindex(x) .== i))) / 2h for i in eachindex(x)]

@testset "pathwise" begin
    f(x) = sum(abs2, KR.uniform(k, (5,); minval = x[1], maxval = x[2])) + sum(tanh, x[1] .+ x[2] .* KR.normal(k, (5,)))
    x = [0.3, 1.2]
    @test gradient(f, x)[1] ≈ difference(f, x) rtol = 1e-7
    @test hessian(f, x) ≈ reduce(hcat, [difference(y -> gradient(f, y)[1][i], x) for i in 1:2]) rtol = 1e-6
    written(x) = (b = Buffer(zeros(4)); for i in 1:4
        b[i] = x[1] + x[2] * KR.normal(KR.fold_in(k, i))
    end; sum(abs2, copy(b)))
    @test gradient(written, x)[1] ≈ difference(written, x) rtol = 1e-7
    @test gradient(x -> sum(KR.permutation(k, x) .* (1:3)), [1.0, 2.0, 3.0])[1] == invperm(KR.permutation(k, 3))
end

# Slopes and curvatures are those of Python's bridge.random, which its tests compare with quantiles.
@testset "gamma moves with its quantile" begin
    a = [0.3, 1.2, 2.0, 40.0]
    @test gradient(a -> sum(KR.gamma(k, a)), a)[1] ≈ [9.029795556188886e-05, 0.4757693309505575, 0.7180288700919979, 0.9964098712450266] rtol = 1e-10
    @test KR.gamma_slope.([0.2, 1.0, 9.0e4, 2.0e5], [0.2, 1.0, 9.0e4, 2.0e5]) ≈ [1.7217869334121227, 1.1735630272247255, 1.0000018518535296, 1.00000083333375] rtol = 1e-10
    @test KR.gamma_slope(0.5, 0.0) == 0 && isnan(KR.gamma_slope(-1.0, 1.0))
    @test gradient(a -> sum(KR.gamma(k, a)), Float32.(a))[1] isa Vector{Float32}
    curve = hessian(a -> sum(sin, KR.gamma(k, a)), a)
    @test [curve[i, i] for i in 1:4] ≈ [0.0032902128712162205, 0.19434318818550556, -0.35971787161920943, -0.986336483725213] rtol = 1e-8
end

@testset "frozen, refused" begin
    a = [0.3, 1.2, 2.0]
    @test gradient(a -> sum(KR.gamma(k, a; gradient = :frozen) .* a), a)[1] == KR.gamma(k, a)
    @test hessian(a -> sum(KR.gamma(k, a; gradient = :frozen) .* a), a) == zeros(3, 3)
    @test gradient(p -> sum(KR.bernoulli(k, p; gradient = :frozen) .* p), [0.3, 0.9])[1] == KR.bernoulli(k, [0.3, 0.9])
    @test gradient(x -> sum(KR.bernoulli(k; shape = (4,)) .* x), 2.0)[1] == sum(KR.bernoulli(k; shape = (4,)))
    @test_throws KR.RandomGradientError gradient(p -> sum(KR.bernoulli(k, p) .* p), [0.3, 0.9])
    @test_throws KR.RandomGradientError gradient(p -> p[KR.categorical(k, p)], [0.3, 0.9])
    @test_throws KR.RandomGradientError gradient(a -> sum(KR.gamma(k, a; gradient = :error)), a)
    @test_throws KR.RandomGradientError MutationBridge.ForwardDiff.gradient(p -> sum(KR.bernoulli(k, p) .* p), [0.3, 0.9])
    @test KR.gamma(k, a; gradient = :error) == KR.gamma(k, a)
    @test_throws ArgumentError KR.gamma(k, a; gradient = :zero)
end

end
