# Loops under the transform with typed stacks: right on every kind of control flow, typed where the loop is, and never out of date.

module TransformTests

using MutationBridge, Test
import ChainRulesCore, Zygote

include("finite_differences.jl")

const x0 = [0.7, -1.2, 0.4, 1.9, -0.3]

function branches_in_loop(x)
    b = Buffer(x)
    for i in 2:length(x)
        if x[i] > 0.5
            b[i] = b[i-1] * sin(b[i])
        elseif x[i] < -1
            b[i] = b[i] + 2 * b[i-1]
        end
    end
    return sum(abs2, copy(b))
end

function nested_loops(x)
    b = Buffer(x)
    for k in 1:3
        for i in 1:length(x)-k
            b[i+k] = b[i+k] + 0.1k * b[i]^2
        end
        b[k] = b[k] * 2
    end
    return sum(copy(b))
end

function broken_loop(x)
    b, i = Buffer(x), 0
    while true
        i += 1
        i == 2 && continue
        b[i] = b[i] * b[1]
        i >= 4 && break
    end
    return sum(copy(b))
end

function returns_from_loop(x)
    b = Buffer(x)
    for i in eachindex(x)
        b[1] = b[1] + b[i]^2
        b[1] > 1.5 && return b[1] * b[i]
    end
    return b[1]
end

function swaps(x)
    p, q = x[1], x[2]
    b = Buffer(x)
    for i in eachindex(x)
        p, q = q, p * b[i]
        b[i] = p + 2q
    end
    return p * sum(copy(b)) + q
end

function never_runs(x)
    b = Buffer(x)
    for i in 1:0
        b[i] = b[i] * 2
    end
    return b[1] * b[2]
end

function changes_type(x)
    b, total = Buffer(x), 0
    for i in 2:length(x)
        factor = isodd(i) ? b[i] : 3
        total += factor * b[i-1]
        b[i] = factor
    end
    return total
end

function guarded(x)
    b = Buffer(x)
    for i in 2:length(x)
        try
            b[i] = b[i] * b[i-1]
        finally
            b[1] = b[1] + 1
        end
    end
    return sum(copy(b))
end

function two_loops_in_turn(x)
    b = Buffer(x)
    for i in 2:length(x)
        b[i] = b[i-1] + b[i]^2
    end
    for v in (1.0, 2.0, 3.0), i in 1:2
        b[i] = b[i] * v
    end
    return sum(copy(b))
end

# More calls in one iteration than one row holds.
function long_body(x)
    b = Buffer(x)
    for i in 2:length(x)
        p = b[i] * b[i-1] + sin(b[i]) - cos(b[i-1])
        q = p * b[i] + tanh(p) - b[i-1] * 2 + atan(p)
        r = q / 3 + p * q / 5 - tanh(q) + atan(q) * b[i]
        b[i] = tanh(r) + tanh(q) * 0.1 - p * 0.2 + sin(r) * cos(q)
    end
    return sum(copy(b))
end

recursive!(b, i) = i > length(b) ? b[1] : (for j in 1:i; b[1] = b[1] + b[i] * b[j] / 10; end; recursive!(b, i + 1))
scaled(b, i; by = 2) = (for _ in 1:2; b[i] = b[i] * by; end; b[i])
added(b, xs...) = (for (i, v) in enumerate(xs); b[i] = b[i] * v; end; sum(copy(b)))

const PROGRAMS = [
    "branches" => branches_in_loop,
    "nested loops" => nested_loops,
    "break and continue" => broken_loop,
    "a return inside" => returns_from_loop,
    "two variables change places" => swaps,
    "a loop that never runs" => never_runs,
    "a variable that changes its type" => changes_type,
    "try and finally" => guarded,
    "two loops" => two_loops_in_turn,
    "a long body" => long_body,
    "recursion" => x -> recursive!(Buffer(x), 1),
    "keywords" => x -> (b = Buffer(x); scaled(b, 1; by = x[2]) + scaled(b, 2)),
    "any number of arguments" => x -> added(Buffer(x), x[2], x[3], x[1]),
    "a loop in a closure" => x -> (b = Buffer(x); f(k) = (for i in 1:2; b[i] = b[i] * k; end; b[k]); f(2) + f(1)),
    "a loop in a map" => x -> (b = Buffer(x); map(k -> (for i in 1:k; b[i] = b[i] * x[k]; end), 1:3); sum(copy(b))),
]

@testset "$name" for (name, program) in PROGRAMS
    @test right(program, x0)
end

sweep(pull) = (pull(1.0); nothing)
function bytes_back(f, x)
    _, pull = MutationBridge.pullback(f, x)
    pull(1.0)
    return minimum(@allocated(sweep(pull)) for _ in 1:3)
end

@testset "the way back of a typed loop allocates vectors of the gradient's size, and nothing for a call in the loop" begin
    recurrence(x) = (b = Buffer(x); for i in 2:length(x); b[i] = tanh(b[i] + b[i-1] / 2); end; b[end])
    few, many = bytes_back(recurrence, rand(1000)), bytes_back(recurrence, rand(3000))
    @test many - few <= 6 * 8 * 2000    # the shadow, and the gradient on its way out; ten times that with Zygote's stacks
end

@testset "a way back is compiled for typed rows or for any, whichever branches ran" begin
    types = Set{Any}()
    for signs in Iterators.product(fill((-2.0, 0.0, 2.0), 3)...)
        _, pull = MutationBridge.pullback(branches_in_loop, [1.0, signs...])
        push!(types, typeof(pull.back))
    end
    @test length(types) <= 2
    @test right(changes_type, x0) && right(x -> changes_type(x[1:2]), x0)
end

# What the code stands on: methods and rules that come later.
scale(x) = 2x
function loops_over_scale(x)
    b = Buffer(x)
    for i in eachindex(x)
        b[i] = scale(b[i])
    end
    return sum(copy(b))
end

@testset "what is defined later counts" begin
    @test gradient(loops_over_scale, [1.0, 2.0])[1] == [2.0, 2.0]
    @eval scale(x) = 5x
    @test gradient(loops_over_scale, [1.0, 2.0])[1] == [5.0, 5.0]
    @eval ChainRulesCore.rrule(::typeof(scale), x) = 5x, ct -> (ChainRulesCore.NoTangent(), 7ct)
    @test gradient(loops_over_scale, [1.0, 2.0])[1] == [7.0, 7.0]
    @eval Zygote.@adjoint scale(x) = 5x, ct -> (11ct,)
    @test gradient(loops_over_scale, [1.0, 2.0])[1] == [11.0, 11.0]
    @eval function loops_over_scale(x)
        b = Buffer(x)
        for i in eachindex(x)
            b[i] = 3 * b[i]
        end
        return sum(copy(b))
    end
    @test gradient(loops_over_scale, [1.0, 2.0])[1] == [3.0, 3.0]
end

@testset "a top-level function that gets a rule" begin
    @eval twice(x) = sum(2 .* x)
    @test Base.invokelatest(gradient, twice, [1.0])[1] == [2.0]
    @eval ChainRulesCore.rrule(::typeof(twice), x) = sum(2 .* x), ct -> (ChainRulesCore.NoTangent(), 9ct .* one.(x))
    @test Base.invokelatest(gradient, twice, [1.0])[1] == [9.0]
end

# Since Julia 1.12 the world says which names are constants, and Zygote's way back is of an earlier one than this package.
@testset "names that are defined after Zygote and before this package" begin
    program = """
        using Zygote
        twice(x) = 2x
        const NUMBERS = [3.0]
        polynomial(x) = (s = 0.0; for i in 1:3; s = s * twice(x) + NUMBERS[1]; end; s)
        using MutationBridge
        print(MutationBridge.gradient(polynomial, 0.5))
        """
    path = join(Base.load_path(), Sys.iswindows() ? ';' : ':')
    @test read(addenv(`$(Base.julia_cmd()) --startup-file=no -e $program`, "JULIA_LOAD_PATH" => path), String) == "(18.0,)"
end

@testset "what Zygote cannot read is refused in its words" begin
    in_catch(x) = (b = Buffer(x); for i in 1:1; try; error(); catch; b[i] = 2 * b[i]; end; end; sum(copy(b)))
    @test occursin("catch", message_of(() -> gradient(in_catch, x0), LostGradient))
end

end
