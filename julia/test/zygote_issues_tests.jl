# What issues of Zygote.jl report of its Buffer and of mutable state, in our words: right here, or refused by name.

module ZygoteIssuesTests

using MutationBridge: MutationBridge, Buffer, LostGradient, MutationError
using Test
import ForwardDiff

include("finite_differences.jl")

const X4 = [0.7, -0.4, 1.3, 0.2]

mutable struct Scored
    store::Dict{Symbol,Float64}
    score::Float64
end

"Whether the gradient is right, or refused by name."
right_or_refused(f) = try
    right(f, X4)
catch error
    error isa Union{MutationError,LostGradient}
end

@testset "#854: broadcasts into a part of a Buffer are not lost" begin
    f(x) = (b = Buffer(zeros(2, 2)); b[[1, 2]] .+= x[1:2] .^ 2; b[:, 2] .= x[3]; b[1, :] .*= x[4]; sum(copy(b) .* [1 2; 3 4]))
    @test f(X4) ≈ X4[1]^2 * X4[4] + 3X4[2]^2 + 2X4[3] * X4[4] + 4X4[3]
    @test right(f, X4)
    b = Buffer([1.0 2.0; 3.0 4.0])
    b[:, 1] .= 8
    @test copy(b) == [8 2; 8 4]
end

@testset "#254: a Buffer is cleared and scaled by broadcasts" begin
    @test right(x -> (b = Buffer(x); y = sum(b .* b); b .= 0; b .+= x[1]; b .*= x; y + sum(copy(b))), X4)
end

@testset "#563: setindex! is broadcast over a Buffer" begin
    f(x) = (b = Buffer(zeros(2, 3)); setindex!.((b,), [x[1:2] .* k for k in 1:3], (Colon(),), 1:3); sum(abs2, copy(b)))
    @test f(X4) ≈ 14 * sum(abs2, X4[1:2])
    @test right(f, X4)
end

@testset "#177: a Buffer is a result without copy" begin
    @test right(x -> sum((b = Buffer(x); b[:] = x[:] .^ 2; b)), X4)
    value, pull = MutationBridge.pullback(x -> (b = Buffer(x); b[1] = x[2]^2; b), X4)
    @test value == [X4[2]^2; X4[2:4]] && only(pull([1.0, 0, 0, 2])) == [0, 2X4[2], 0, 2]
end

@testset "#1488: numbers are broadcast into Buffers of one element, and of integers" begin
    @test right(x -> (b = Buffer(zeros(1)); b .= x[1]^2; b[1] * x[2]), X4)
    message = message_of(() -> MutationBridge.gradient(p -> (b = Buffer([1, 2, 3]); b .= p; sum(copy(b))), 1.5), Exception)
    @test occursin("Int64", message)
end

@testset "#1497: second derivatives through a Buffer" begin
    through(x) = (b = Buffer([x]); b[1] = x; sum(copy(b)))
    cube(x) = through(only(x))^3
    @test only(MutationBridge.hessian(cube, [2.0])) ≈ 12
    @test ForwardDiff.derivative(x -> only(only(MutationBridge.gradient(cube, [x]))), 2.0) ≈ 12
end

@testset "#1191: a Buffer of an array holds what the array holds" begin
    @test all(iszero(copy(Buffer(zeros(3, 3)))) for _ in 1:100)
end

@testset "#717: a dictionary in a closure, and in a mutable struct" begin
    f(x) = (d = Dict(:y => x[1]); read() = d[:y]^2; d[:y] *= x[2]; read())
    @test right(f, X4)
    scored(x) = (s = Scored(Dict(:a => x[1]), 0.0); s.score += s.store[:a]^2; s.store[:a] = s.score * x[2]; s.store[:a])
    @test right(scored, X4)
end

@testset "#1111 and #1243: references in references, and in tuples" begin
    @test right_or_refused(x -> (r = Ref(Ref(x[1])); r[][]^2 + 7 * r[][]))
    @test right_or_refused(x -> (r = (Ref(x[1]),); r[1][] * x[2]))
    @test right_or_refused(x -> (r = [Ref(x[1])]; r[1][]^2 + 7 * r[1][]))
end

@testset "#1198: names are swapped in a loop" begin
    function chebyshev(x)
        v0, v1 = x[1:2], x[3:4]
        total = sum(v0)
        for k in 1:3
            v2 = k .* v1 .- v0
            total += sum(v2 .* x[1:2])
            v0, v1, v2 = v1, v2, v0
        end
        return total
    end
    @test right(chebyshev, X4)
end

@testset "SciMLSensitivity #549: a right-hand side in a Buffer, many steps" begin
    rhs!(du, u, p) = (du[1] = p[1] * u[1] - p[2] * u[1] * u[2]; du[2] = -p[3] * u[2] + p[4] * u[1] * u[2]; nothing)
    function steps(p)
        u, du = Buffer([1.0, 0.5]), Buffer(zeros(2))
        for _ in 1:20
            rhs!(du, u, p)
            u .+= 0.05 .* du
        end
        return sum(abs2, copy(u))
    end
    @test right(steps, X4)
end

end
