# In-place Fourier transforms over Buffers: functions, plans, strided views, real transforms.

module FourierTests

using MutationBridge, Test
using FFTW, LinearAlgebra

const gradient = MutationBridge.gradient
const Zygote = MutationBridge.Zygote
const z = [1.0 + 2.0im, 0.5 - 1.0im, -0.3 + 0.1im, 2.0]
const Z = [1.0+0.5im 2.0 0.3im; 0.1 -1.0im 0.7]
const w = [1.0, -2.0, 3.0im, 0.5]

loss(y) = real(sum(w .* y)) + sum(abs2, y)
reference(f, x) = Zygote.gradient(x -> loss(f(x)), x)[1]
over_buffer(f!, x) = gradient(x -> (b = Buffer(x); f!(b); loss(copy(b))), x)[1]

@testset "functions" begin
    @test over_buffer(fft!, z) ≈ reference(fft, z)
    @test over_buffer(ifft!, z) ≈ reference(ifft, z)
    @test over_buffer(bfft!, z) ≈ reference(bfft, z)
    for (in_place!, plain) in ((fft!, fft), (ifft!, ifft))
        @test gradient(x -> (b = Buffer(x); in_place!(b, 2); sum(abs2 ∘ real, copy(b))), Z)[1] ≈ Zygote.gradient(x -> sum(abs2 ∘ real, plain(x, 2)), Z)[1]
    end
    @test isempty(check_rule(fft!, z; variants = false).failures)
    @test gradient(x -> (b = Buffer(x); y = sum(abs2, copy(b)); fft!(b); y), z)[1] ≈ 2z      # result unused
    @test gradient(x -> (b = Buffer(x); fft!(b); ifft!(b); sum(abs2, copy(b))), z)[1] ≈ 2z
end

@testset "plans" begin
    forward!, backward = plan_fft!(copy(z)), plan_fft(z)
    @test over_buffer(b -> forward! * b, z) ≈ reference(fft, z)
    @test over_buffer(b -> (forward! * b; forward! * b), z) ≈ reference(fft ∘ fft, z)
    @test over_buffer(b -> (inv(forward!) * b), z) ≈ reference(ifft, z)
    @test gradient(x -> (b = Buffer(x); y = backward * b; b .= 0; loss(y)), z)[1] ≈ reference(fft, z)
    @test gradient(x -> (b = Buffer(zeros(ComplexF64, 4)); mul!(b, backward, x); loss(copy(b))), z)[1] ≈ reference(fft, z)
    @test gradient(x -> (b = Buffer(x); c = Buffer(zero(x)); mul!(c, backward, b); b .= 0; loss(copy(c))), z)[1] ≈ reference(fft, z)
    @test gradient(x -> (b = Buffer(zeros(ComplexF64, 4)); ldiv!(b, backward, x); loss(copy(b))), z)[1] ≈ reference(ifft, z)
    value, pull = MutationBridge.pullback(x -> (b = Buffer(x); forward! * b; loss(copy(b))), z)
    @test pull(1.0)[1] == pull(1.0)[1] ≈ reference(fft, z)
    b = Buffer(z)
    @test forward! * b === b && copy(b) ≈ fft(z)
    @test backward * Buffer(z) ≈ fft(z)
end

@testset "plans that a program makes" begin
    @test gradient(x -> loss(plan_fft(x) * x), z)[1] ≈ reference(fft, z)
    @test gradient(x -> loss(plan_ifft(x, 1; flags = FFTW.ESTIMATE) * x), z)[1] ≈ reference(ifft, z)
    @test gradient(x -> sum(abs2, plan_rfft(abs2.(x)) * abs2.(x)), z)[1] ≈ Zygote.gradient(x -> sum(abs2, rfft(abs2.(x))), z)[1]
    @test gradient(x -> (b = Buffer(x); plan_fft!(b) * b; loss(copy(b))), z)[1] ≈ reference(fft, z)
    x = copy(z)
    @test_throws r"works in place writes a plain Vector.*Buffer.*plan_fft\(x\)"s gradient(x -> loss(plan_fft!(x) * x), x)
    @test_throws r"works in place writes a plain Vector" gradient(x -> (fft!(x); loss(x)), x)
    @test_throws r"works in place writes a plain SubArray" gradient(x -> (fft!(view(x, 1:2)); loss(x)), x)
    @test_throws MutationError gradient(x -> loss(mul!(similar(x), plan_fft(x), x)), x)
    @test_throws r"plan_fft measures on the array.*overwrites it.*outside of the function.*without flags"s gradient(
        x -> loss(plan_fft(x; flags = FFTW.PATIENT) * x), x)
    b = Buffer(z)
    @test_throws r"plan_fft! measures on the array" plan_fft!(b; flags = FFTW.PATIENT)
    @test plan_fft!(b) * copy(z) ≈ fft(z) && copy(b) == z
    @test x == z
end

@testset "real transforms" begin
    x = [1.0, -2.0, 0.5, 3.0]
    forward = plan_rfft(x)
    half = forward * x
    to_half(x) = (b = Buffer(zeros(ComplexF64, 3)); mul!(b, forward, x); sum(abs2, copy(b)) + real(b[2]))
    @test gradient(to_half, x)[1] ≈ Zygote.gradient(x -> (y = rfft(x); sum(abs2, y) + real(y[2])), x)[1]
    back = plan_irfft(half, 4)
    from_half(h) = (c = Buffer(h); b = Buffer(zeros(4)); mul!(b, back, c); sum(x .* copy(b)) + sum(abs2, copy(c)))
    @test gradient(from_half, half)[1] ≈ Zygote.gradient(h -> sum(x .* irfft(h, 4)) + sum(abs2, h), half)[1]
end

@testset "strided views" begin
    plan! = plan_fft!(view(zeros(ComplexF64, 8), 1:2:8))
    program(x) = (b = Buffer(zeros(ComplexF64, 8)); v = view(b, 1:2:8); v .= x; plan! * v; sum(abs2 ∘ real, copy(b)))
    @test gradient(program, z)[1] ≈ Zygote.gradient(x -> sum(abs2 ∘ real, fft(x)), z)[1]
end

end
