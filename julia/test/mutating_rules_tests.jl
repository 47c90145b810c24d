# `@mutating_rule`: how it is declared, what a pull gets and returns, and the words of its errors.

module MutatingRulesTests

using MutationBridge, Test
using LinearAlgebra: dot
using MutationBridge: mutating_rule, value

const gradient = MutationBridge.gradient
const x0 = [1.0, 2.0, 3.0]

message_of(f, args...) = try
    gradient(f, args...)
    "no error"
catch error
    sprint(showerror, error)
end

# Every form of declaration.
exponential!(x) = (x .= exp.(x); nothing)
@mutating_rule exponential!(x) writes(x) pull(ct, x; after) = after .* ct

exchange!(x, y) = (for i in eachindex(x); x[i], y[i] = y[i], 2x[i]; end)
@mutating_rule exchange!(x, y) writes(x, y) function pull((of_x, of_y), x, y)
    return (2 .* of_y, of_x)
end

power!(x; exponent = 2) = (x .^= exponent; x)
@mutating_rule power!(x) writes(x) pull = (ct, x; exponent = 2) -> exponent .* x .^ (exponent - 1) .* ct

weighted!(x; weight) = (x .*= weight; x)
@mutating_rule weighted!(x) writes(x) pull((ct, x; weight) -> (weight .* ct, (; weight = dot(x, ct))))

double_pull(ct, x; after) = after ./ x .* ct
double!(x) = (x .*= 2; x)
@mutating_rule double!(x) writes(x) pull = double_pull

sum_into!(y, xs...) = (y .= +(xs...); y)
@mutating_rule sum_into!(y, xs...) writes(y) pull(ct, y, xs...) = (nothing, map(_ -> ct, xs)...)

counted!(n, x) = (n[1] += length(x); x .*= 3; nothing)
@mutating_rule counted!(n, x) writes(n, x) pull((_, ct), n, x) = (nothing, 3 .* ct)

returns_number!(x) = (x .+= 1; sum(x))
@mutating_rule returns_number!(x) writes(x) pull = identity

typed!(x::AbstractVector, k::Int) = (x .*= k; x)
@mutating_rule typed!(x::AbstractVector, k::Int) writes(x) pull(ct, x, k) = k .* ct

@testset "forms of declaration" begin
    @test gradient(x -> (b = Buffer(x); exponential!(b); sum(copy(b))), x0)[1] == exp.(x0)
    @test gradient((x, y) -> (a = Buffer(x); b = Buffer(y); exchange!(a, b); sum(copy(a)) + 5sum(copy(b))), x0, 2x0) == (fill(10.0, 3), fill(1.0, 3))
    @test gradient(x -> (b = Buffer(x); power!(b; exponent = 3); sum(copy(b))), x0)[1] == 3x0 .^ 2
    @test gradient(x -> (b = Buffer(x); power!(b); sum(copy(b))), x0)[1] == 2x0
    @test gradient((x, w) -> (b = Buffer(x); weighted!(b; weight = w); sum(copy(b))), x0, 4.0) == (fill(4.0, 3), 6.0)
    @test gradient(x -> (b = Buffer(x); double!(b); sum(copy(b))), x0)[1] == fill(2.0, 3)
    @test gradient((x, y) -> (b = Buffer(zeros(3)); sum_into!(b, x, y, x); sum(abs2, copy(b))), x0, x0)[1] == 12x0
    @test gradient(x -> (b = Buffer(x); typed!(b, 4); sum(copy(b))), x0)[1] == fill(4.0, 3)
    @test sprint(show, mutating_rule(exchange!, x0, x0)) == "mutating rule of exchange!(x, y), which writes x, y"
    @test mutating_rule(sin, 1.0) === nothing
end

@testset "what a pull sees" begin
    seen = Ref{Any}()
    observed!(x, y) = (x .= x .+ y; x)
    @mutating_rule observed!(x, y) writes(x) function pull(ct, x, y; after)
        seen[] = (copy(ct), copy(x), copy(y), copy(after))
        return (ct, ct)
    end
    function program(x)
        b, c = Buffer(x), Buffer(2x)
        observed!(b, c)
        b .*= 10
        c .= 0
        return b[1]
    end
    @test gradient(program, x0)[1] == [30.0, 0.0, 0.0]
    @test seen[] == ([10.0, 0.0, 0.0], x0, 2x0, 3x0)
end

@testset "integer arrays may be written anywhere, and are undone" begin
    n = [0]
    program(x) = (b = Buffer(x); counted!(n, b); k = n[1]; counted!(n, b); x[k] + x[n[1] - 4] + b[1])
    @test gradient(program, x0)[1] == [9.0, 1.0, 1.0]
    @test n == [0]
end

@testset "no gradient comes: no pull runs" begin
    runs = Ref(0)
    silent!(x) = (x .= 1; x)
    @mutating_rule silent!(x) writes(x) pull(ct, x) = (runs[] += 1; zero(ct))
    @test gradient(x -> (b = Buffer(x); silent!(b); x[1]), x0)[1] == [1.0, 0.0, 0.0]
    @test runs[] == 0
    @test gradient(x -> (b = Buffer(x); silent!(b); b[2]), x0)[1] == zeros(3)
    @test runs[] == 1
end

@testset "complex and single precision" begin
    rotate!(z, a) = (z .*= a; z)
    @mutating_rule rotate!(z, a) writes(z) pull(ct, z, a) = (conj(a) .* ct, dot(z, ct))
    loss(z, a) = (b = Buffer(z); rotate!(b, a); sum(abs2 ∘ real, copy(b)))
    z, a = [1.0 + 2.0im, 0.5 - 1.0im], 0.3 + 0.7im
    @test all(gradient(loss, z, a) .≈ MutationBridge.Zygote.gradient((z, a) -> sum(abs2 ∘ real, a .* z), z, a))
    @test gradient(loss, z, 2.0)[2] isa Float64
    g = gradient((x, a) -> (b = Buffer(x); rotate!(b, a); sum(copy(b))), Float32[1, 2], 3.0f0)
    @test g == (Float32[3, 3], 3.0f0) && g[1] isa Vector{Float32} && g[2] isa Float32
end

@testset "outside of a gradient" begin
    b = Buffer(x0)
    @test double!(b) === b
    @test copy(b) == 2x0
    @test exponential!(view(b, 1:1)) === nothing
    @test copy(b) == [exp(2.0), 4.0, 6.0]
    @test weighted!(b; weight = 0.5) === b
    @test double!([1.0]) == [2.0]
end

@testset "errors of a call" begin
    @test occursin("returned a Float64 that is none of its arguments; a gradient through it would be lost", message_of(x -> (b = Buffer(x); returns_number!(b)), x0))
    @test occursin("counted! writes its argument x, a plain Vector{Float64}", message_of(x -> (counted!([0], x); sum(x)), x0))
    @test occursin("double! writes its argument x, which is a Float64 here", message_of(x -> (double!(x[1]); x[1]), x0))
    short!(x, y) = (x .+= y; x)
    @mutating_rule short!(x, y) writes(x) pull(ct, x, y) = (ct,)
    @test occursin("the pull of short! returned 1 cotangents for 2 arguments (x, y)", message_of(x -> (b = Buffer(x); short!(b, x); b[1]), x0))
    wide!(x, a) = (x .*= a; x)
    @mutating_rule wide!(x, a) writes(x) pull(ct, x, a) = (a .* ct, x .* ct)
    @test occursin("returned a cotangent of size (3,) for a, which has size ()", message_of(x -> (b = Buffer(x); wide!(b, x[1]); b[1]), x0))
    memory!(x) = (x .+= 1; x)
    @mutating_rule memory!(x) writes(x) pull = identity
    @test occursin("which is the memory of a Buffer; pass the Buffer itself", message_of(x -> (b = Buffer(x); memory!(value(b)); b[1]), x0))
end

@testset "errors of a declaration" begin
    declared(ex) = try
        macroexpand(MutatingRulesTests, ex)
        "no error"
    catch error
        sprint(showerror, error isa LoadError ? error.error : error)
    end
    @test occursin("begin with a call such as `scale!(x, a)`", declared(:(@mutating_rule f!)))
    @test occursin("say what it writes, as in `writes(x)`", declared(:(@mutating_rule f!(x) pull = identity)))
    @test occursin("say how cotangents go back", declared(:(@mutating_rule f!(x) writes(x))))
    @test occursin("`y` is none of its parameters", declared(:(@mutating_rule f!(x) writes(y) pull = identity)))
    @test occursin("cannot read `reads(x)`", declared(:(@mutating_rule f!(x) writes(x) reads(x) pull = identity)))
    @test occursin("cannot read the parameter", declared(:(@mutating_rule f!(x[1]) writes(x) pull = identity)))
end

end
