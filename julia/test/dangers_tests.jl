# The three dangers of mutating rules under Zygote: wrong with a naive rule, right or refused by name with ours.
#
# Another pullback holds a reference to the array and sees its new values; a pullback whose result is unused is skipped;
# cotangents from before and from after a write are added up. The naive rules below are what one writes first.

module DangersTests

using MutationBridge, Test
using LinearAlgebra: dot
import ChainRulesCore, Zygote

const gradient = MutationBridge.gradient
const x0 = [1.0, 2.0, 3.0]

# With a rule that records nothing.
naive_addone!(x) = (x .+= 1; x)
naive_scale!(x, a) = (x .*= a; x)
ChainRulesCore.rrule(::typeof(naive_addone!), x) = naive_addone!(x), ct -> (ChainRulesCore.NoTangent(), ct)
ChainRulesCore.rrule(::typeof(naive_scale!), x, a) = naive_scale!(x, a), ct -> (ChainRulesCore.NoTangent(), a .* ct, ChainRulesCore.NoTangent())
# With one that undoes in its pullback, which does not run if the result is unused.
undoing_addone!(x) = (x .+= 1; x)
Zygote.@adjoint undoing_addone!(x) = undoing_addone!(x), ct -> (x .-= 1; (ct,))

# The same functions, declared.
addone!(x) = (x .+= 1; x)
scale!(x, a) = (x .*= a; x)
addto!(y, x) = (y .+= x; nothing)
@mutating_rule addone!(x) writes(x) pull = identity
@mutating_rule scale!(x, a) writes(x) pull(ct, x, a) = (conj(a) .* ct, dot(x, ct))
@mutating_rule addto!(y, x) writes(y) pull(ct, y, x) = (ct, ct)

message_of(f, args...) = try
    gradient(f, args...)
    "no error"
catch error
    sprint(showerror, error)
end

@testset "another pullback holds the old value, and the call's result is unused" begin
    program(add!) = x -> (y = dot(x, x); add!(x); y + x[1])
    over_buffer(add!) = x -> (b = Buffer(x); y = sum(b .* b); add!(b); y + b[1])
    @test Zygote.gradient(program(naive_addone!), copy(x0))[1] == [5.0, 6.0, 8.0]      # wrong
    @test Zygote.gradient(program(undoing_addone!), copy(x0))[1] == [5.0, 6.0, 8.0]    # wrong: it was skipped
    x = copy(x0)
    @test gradient(program(addone!), x)[1] == [3.0, 4.0, 6.0]
    @test x == x0
    @test gradient(over_buffer(addone!), x0)[1] == [3.0, 4.0, 6.0]
    @test gradient(over_buffer(b -> scale!(b, 2.0)), x0)[1] == [4.0, 4.0, 6.0]
    @test Zygote.gradient(program(addone!), copy(x0))[1] == [3.0, 4.0, 6.0]            # also under Zygote's own context
    @test MutationBridge.withgradient(program(addone!), copy(x0)).val == program(addone!)(copy(x0)) == 16.0
end

@testset "nobody reads after the call" begin
    program(add!) = x -> (y = dot(x, x); add!(x); y)
    @test Zygote.gradient(program(naive_addone!), copy(x0))[1] == 2 .* (x0 .+ 1)       # wrong
    @test gradient(program(addone!), copy(x0))[1] == 2x0
    @test gradient(x -> (b = Buffer(x); y = sum(b .* b); scale!(b, 5.0); y), x0)[1] == 2x0
end

@testset "contributions from before and after mix" begin
    program(scale!) = x -> (y = sum(x); scale!(x, 10.0); y + sum(x))
    @test Zygote.gradient(program(naive_scale!), copy(x0))[1] == [2.0, 2.0, 2.0]       # wrong: 1 + 10 each
    @test gradient(x -> (b = Buffer(x); y = sum(copy(b)); scale!(b, 10.0); y + sum(copy(b))), x0)[1] == [11.0, 11.0, 11.0]
    message = message_of(program(scale!), copy(x0))
    @test startswith(message, "MutationError: scale! writes its argument x, a plain Vector{Float64}.")
    @test occursin("cannot be told apart", message)
    @test occursin("b = Buffer(x)", message) && occursin("scale!(b, a)", message)
    @test occursin("Only a rule with `pull = identity`", message)
    x = copy(x0)
    @test_throws MutationError gradient(program(scale!), x)
    @test x == x0                                                                      # refused before it ran
    @test_throws MutationError gradient(x -> (addto!(x, x0); sum(x)), copy(x0))
end

@testset "addone! then squared" begin
    @test gradient(x -> (addone!(x); sum(abs2, x)), copy(x0))[1] == 2 .* (x0 .+ 1)
    @test gradient(x -> sum(abs2, addone!(x)), copy(x0))[1] == 2 .* (x0 .+ 1)
    @test gradient(x -> (b = Buffer(x); addone!(b); sum(abs2, copy(b))), x0)[1] == 2 .* (x0 .+ 1)
    @test gradient(x -> (b = Buffer(x); addone!(b); addone!(view(b, 1:2)); sum(abs2, copy(b))), x0)[1] == [6.0, 8.0, 8.0]
    @test gradient(x -> (addone!(addone!(x)); dot(x, x)), copy(x0))[1] == 2 .* (x0 .+ 2)
    @test gradient(x -> (y = dot(x, x); addone!(x); z = dot(x, x); addone!(x); y + z + dot(x, x)), copy(x0))[1] == 6x0 .+ 6
    @test gradient(x -> (y = view(x, 2:3); s = dot(x, x); addone!(y); s + y[1] * x[3]), copy(x0))[1] == [2.0, 8.0, 9.0]
end

@testset "called twice on one preallocated cache" begin
    square_into!(cache, x) = (cache .= x .^ 2; cache)
    @mutating_rule square_into!(cache, x) writes(cache) pull(ct, cache, x) = (nothing, 2 .* x .* ct)
    function twice(x)
        cache = Buffer(zeros(3))
        first_time = sum(square_into!(cache, x) .* x)
        second_time = sum(square_into!(cache, 2 .* x) .* x)
        return first_time + second_time
    end
    @test gradient(twice, x0)[1] == 15 .* x0 .^ 2
    cache = Buffer(zeros(3))
    once(x) = sum(square_into!(cache, x) .* x)
    @test gradient(x -> once(x) + once(2 .* x), x0)[1] == 3 .* x0 .^ 2 .* 9            # a cache made outside
    @test gradient(once, x0)[1] == 3 .* x0 .^ 2
    @test gradient(once, 2 .* x0)[1] == 12 .* x0 .^ 2
end

@testset "pullback called twice" begin
    for program in (x -> (y = dot(x, x); addone!(x); y + x[1] * x[2]),
                    x -> (b = Buffer(x); y = sum(b .* b); addone!(b); addone!(b); scale!(b, 3.0); y + b[1] * b[2]))
        x = copy(x0)
        value, pull = MutationBridge.pullback(program, x)
        once = pull(1.0)[1]
        @test x == x0
        @test pull(1.0)[1] == once
        @test pull(2.0)[1] == 2once
        @test x == x0
    end
end

@testset "deep inside, unused, in loops and branches" begin
    helper!(b, n) = (for k in 1:n; isodd(k) ? scale!(b, 2.0) : addone!(b); end; nothing)
    @test gradient(x -> (b = Buffer(x); y = b[1]^2; helper!(b, 4); y + b[1]), x0)[1] == [6.0, 0.0, 0.0]
    @test gradient(x -> (b = Buffer(x); foreach(_ -> scale!(b, 2.0), 1:3); sum(copy(b))), x0)[1] == [8.0, 8.0, 8.0]
    @test gradient(x -> (b = Buffer(x); map(k -> (scale!(b, 2.0); k), 1:3); sum(copy(b))), x0)[1] == [8.0, 8.0, 8.0]
    @test gradient(x -> (b = Buffer(x); y = b[1]; any(v -> (scale!(b, 2.0); false), 1:2); y), x0)[1] == [1.0, 0.0, 0.0] ||
        occursin("LostGradient", message_of(x -> (b = Buffer(x); y = b[1]; any(v -> (scale!(b, 2.0); false), 1:2); y), x0))
end

@testset "one array as two arguments" begin
    @test occursin("addto! writes its argument y and reads its argument x, which share memory", message_of(x -> (b = Buffer(x); addto!(b, b); b[1]), x0))
    doubled(x) = (b = Buffer(x); addto!(b, copy(b)); sum(copy(b)))
    @test gradient(doubled, x0)[1] == [2.0, 2.0, 2.0]
    parts(x) = (b = Buffer(x); addto!(view(b, 1:1), view(b, 3:3)); sum(abs2, copy(b)))
    @test gradient(parts, x0)[1] == [8.0, 4.0, 14.0]
    same_cache!(y, x) = (y .+= x; y)
    @mutating_rule same_cache!(y, x) writes(y) pull(ct, y, x) = (ct, ct) aliases = true
    @test gradient(x -> (b = Buffer(x); same_cache!(b, b); b[1]), x0)[1] == [2.0, 0.0, 0.0]
    @test_throws MutationError gradient(x -> (b = Buffer(x); same_cache!(view(b, 1:2), view(b, 2:3)); b[1]), x0)
end

end
