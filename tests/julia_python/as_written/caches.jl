# Memory that was there before the call: in structs, closures, globals, a Ref, a dictionary by type.
module Caches

using LinearAlgebra: mul!

struct Workspace
    hidden::Vector{Float64}
    out::Vector{Float64}
end
struct Layer
    W::Matrix{Float64}
    b::Vector{Float64}
    work::Workspace
end
layer() = Layer([0.5 -1.0 0.2 0.1; 1.0 0.3 -0.7 0.4], [0.1, -0.2], Workspace(zeros(2), zeros(2)))
function (l::Layer)(x)
    mul!(l.work.hidden, l.W, x)
    l.work.hidden .+= l.b
    l.work.out .= tanh.(l.work.hidden)
    return l.work.out
end
const LAYER = layer()

with_new_workspace(x) = sum(abs2, layer()(x))
with_global_workspace(x) = sum(abs2, LAYER(x))
with_captured_workspace = let l = layer()
    x -> sum(abs2, l(x)) * x[1]
end

const SCRATCH = zeros(4)
global_scratch(x) = (SCRATCH .= x .^ 2; sum(SCRATCH) * x[1])
late_global_scratch(x) = begin
    y = copy(x)
    y[1] *= 2
    y[1] > 0 || return sum(y .^ 2)
    SCRATCH .= y .^ 2
    return sum(SCRATCH)
end
filled_before(x) = (y = copy(x); y[1] = SCRATCH[1] * 0 + x[2]; sum(y .^ 2))

function global_scratch_inside(x)
    work = SCRATCH
    for i in eachindex(x)
        work[i] = x[i]^3
    end
    y = zero(x)
    for i in eachindex(x)
        y[i] += work[i] * x[i]
    end
    return sum(y)
end

untyped_scratch = zeros(4)
untyped_global(x) = (untyped_scratch[1] = x[1]^2; untyped_scratch[1] * x[2])

const TOTAL = Ref(0.0)
function global_ref(x)
    TOTAL[] = 0.0
    for v in x
        TOTAL[] += v^2
    end
    return TOTAL[]
end

running_total = 0.0
function global_number(x)
    global running_total = 0.0
    for v in x
        running_total += v^2
    end
    return running_total
end

struct LazyCache
    made::Dict{Any,Any}
end
LazyCache() = LazyCache(Dict{Any,Any}())
Base.getindex(c::LazyCache, u) = get!(() -> similar(u), c.made, (typeof(u), length(u)))
const LAZY = LazyCache()
function lazy_cache(x)
    t = LAZY[x]
    t .= sin.(x)
    return sum(t .* x)
end

struct TwoCaches{A,B}
    plain::A
    dual::B
end
get_tmp(c::TwoCaches, u::AbstractArray{Float64}) = c.plain
get_tmp(c::TwoCaches, u) = similar(u)
const DIFF_CACHE = TwoCaches(zeros(4), nothing)
function diff_cache(x)
    t = get_tmp(DIFF_CACHE, x)
    @. t = exp(x) * x
    return sum(t)
end

const MEMO = Dict{Int,Float64}()
memoised_constant(x) = sum(x .^ 2) * get!(() -> 1.5, MEMO, length(x))
const MEMO_OF_X = Dict{UInt,Any}()
memoised_result(x) = (y = get!(() -> x .^ 2, MEMO_OF_X, hash(x)); sum(y .* x))
const MEMO_OF_WRITTEN = Dict{Vector{Float64},Vector{Float64}}()
function memoised_by_hand(x)
    haskey(MEMO_OF_WRITTEN, x) && return sum(MEMO_OF_WRITTEN[x]) * x[1]
    y = similar(x)
    for i in eachindex(x)
        y[i] = x[i]^2
    end
    MEMO_OF_WRITTEN[copy(x)] = y
    return sum(y) * x[1]
end

const HISTORY = Float64[]
function keeps_history(x)
    y = copy(x)
    y[2] *= y[1]
    push!(HISTORY, sum(y))
    return sum(abs2, y)
end

const LOSSES = Float64[]
const NORMS = Float64[]
function keeps_two_histories(x)
    y = copy(x)
    y[2] *= y[1]
    push!(LOSSES, sum(y))
    push!(NORMS, sum(abs2, y))
    return sum(abs2, y)
end

function history_of_steps(x)
    y = copy(x)
    push!(LOSSES, y[1])
    for i in 2:length(y)
        y[i] *= y[i-1]
        push!(LOSSES, y[i])
    end
    return sum(abs2, y)
end

const GROWN = Float64[]
function grown_workspace(x)
    length(GROWN) < 2length(x) && resize!(GROWN, 2length(x))
    for i in eachindex(x)
        GROWN[2i-1] = x[i]
        GROWN[2i] = x[i]^2
    end
    return sum(@view GROWN[1:2length(x)])
end

const LOOKED_UP = [0.5]
function reads_a_list_that_others_extend(x)
    y = similar(x)
    for i in eachindex(x)
        y[i] = x[i] * sum(LOOKED_UP)
    end
    return sum(abs2, y)
end

const SEEN = Dict{Int,Float64}()
function counts_in_a_dictionary(x)
    y = copy(x)
    y[1] *= y[2]
    SEEN[length(SEEN)] = sum(y)
    return sum(abs2, y)
end

const CALLS = Ref(0)
counted(x) = (CALLS[] += 1; y = copy(x); y[1] = 3y[2]; sum(y .^ 2))
const WEIGHTS = [1.0, -2.0, 0.5, 3.0]
constant_weights(x) = (y = copy(x); y .*= WEIGHTS; y[1] += WEIGHTS[2]; sum(abs2, y))
const B = [1.0, 2.0]
branch_on_constant(p, flag) = sum(abs2, ([p[1] 0.0; p[2] p[1]] + [1.0 0.0; 0.0 1.0]) \ (flag ? p : B))

const STORE = Any[nothing]
stored_in_any(x) = (STORE[1] = x .^ 2; sum(STORE[1]) * x[2])

mutable struct Momentum
    v::Vector{Float64}
    steps::Int
end
const OPTIMISER = Momentum(zeros(4), 0)
function global_optimiser_state(x)
    OPTIMISER.v .= 0
    θ = copy(x)
    for _ in 1:3
        @. OPTIMISER.v = 0.9 * OPTIMISER.v - 0.1 * 2 * θ
        θ .+= OPTIMISER.v
    end
    return sum(abs2, θ)
end
function own_optimiser_state(x)
    m = Momentum(zero(x), 0)
    θ = copy(x)
    for _ in 1:3
        @. m.v = 0.9 * m.v - 0.1 * 2 * θ
        θ .+= m.v
        m.steps += 1
    end
    return sum(abs2, θ) * m.steps
end

function passed_scratch(x, scratch)
    s = copy(scratch)
    s .+= x .^ 2
    return sum(s .* x)
end

make_counter(step) = (n = 0.0; () -> (n += step))
function counting_closure(x)
    next = make_counter(x[1])
    next()
    next()
    return next() * x[2]
end

end
