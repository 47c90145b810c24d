# Structs, dictionaries, closures, exceptions, tasks, output, and numbers of other kinds.
module State

using Printf, StaticArrays

mutable struct Account
    balance::Float64
    log::Vector{Float64}
end
deposit!(a::Account, v) = (a.balance += v; push!(a.log, a.balance); a)
function account(x)
    a = Account(1.0, Float64[])
    for v in x
        deposit!(a, v^2)
        a.balance *= 1.01
    end
    return a.balance + sum(a.log)
end

mutable struct Particle
    q::Vector{Float64}
    p::Vector{Float64}
    m::Float64
end
function two_particles(x)
    ps = [Particle(x[1:2], [0.0, 0.1], 1.0), Particle(x[3:4], [0.1, 0.0], 2.0)]
    for _ in 1:3, a in ps
        for b in ps
            a === b && continue
            a.p .-= 0.01 .* (a.q .- b.q)
        end
        a.q .+= 0.1 .* a.p ./ a.m
    end
    return sum(sum(abs2, a.q) for a in ps)
end

mutable struct Node
    value::Float64
    next::Union{Nothing,Node}
end
function linked_list(x)
    head = nothing
    for v in x
        head = Node(v, head)
    end
    s, n = 0.0, head
    while n !== nothing
        n.value *= 2
        s = s / 2 + n.value^2
        n = n.next
    end
    return s
end

function tree_sum(x)
    tree = Dict{Int,Vector{Int}}(1 => [2, 3], 2 => [4])
    total(n) = x[n] + sum(c -> 0.5 * total(c)^2, get(tree, n, Int[]); init=0.0)
    return total(1)
end

function recursion(x)
    function go(v, k)
        k == 0 && return sum(v)
        w = copy(v)
        w[k] *= v[1]
        return go(w, k - 1) + w[end]
    end
    return go(x, length(x))
end

function dictionary_of_layers(x)
    ps = Dict(:W => reshape(x, 2, 2), :b => [0.1, -0.1])
    ps[:W] = ps[:W] .* 2
    ps[:b] = ps[:b] .+ x[1:2]
    return sum(tanh.(ps[:W] * [1.0, 0.5] .+ ps[:b]))
end
function counted_words(x)
    d = Dict{String,Float64}()
    for (k, w) in enumerate(split("a b a c b a"))
        d[w] = get(d, w, 0.0) + x[mod1(k, 4)]^2
    end
    return d["a"] * d["b"] + d["c"]
end

named_parameters(p) = (y = copy(p.W); y[1, :] .+= p.b; y .*= p.scale; sum(abs2, y))
nested_parameters(p) = (q = merge(p, (b=p.b .* 2,)); w = copy(q.layers[1].W); w .+= q.b; sum(w .* q.layers[2].W))

function captured_in_comprehension(x)
    seen = Float64[]
    total = 0.0
    y = [(total += v; push!(seen, total); total * v) for v in x]
    return sum(y) + seen[end]^2
end
function captured_in_foreach(x)
    acc = zeros(2)
    foreach(enumerate(x)) do (i, v)
        acc[1+i%2] += v^2
    end
    return acc[1] * acc[2]
end
function boxed_variable(x)
    best = -Inf
    map(v -> (best = v > best ? v : best; nothing), x)
    return best^2
end

function caught_error(x)
    y = copy(x)
    try
        y[10] = 1.0
    catch e
        e isa BoundsError || rethrow()
        y[1] = y[2]^2
    end
    return sum(y .^ 2)
end
function guarded_log(x)
    s = zero(x)
    for i in eachindex(x)
        s[i] = try
            log(x[i])
        catch
            0.0
        end
    end
    return sum(s)
end
function finally_restores(x)
    y = copy(x)
    old = y[1]
    try
        y[1] *= 3
        return sum(y .^ 2)
    finally
        y[1] = old
    end
end

function early_return(x)
    y = copy(x)
    for i in eachindex(y)
        y[i] = y[i]^2 + 1
        y[i] > 2 && return y[i] * sum(y)
    end
    return sum(y)
end
function several_values(x)
    lo, hi = extremes(x)
    y = copy(x)
    y .= (y .- lo) ./ (hi - lo)
    return sum(y .^ 2)
end
extremes(x) = minimum(x), maximum(x)

varargs(x, more...) = (y = copy(x); for m in more; y .+= m .* x; end; sum(y .^ 2))
keyword_scale(x; scale=2.0, shift=zero(x)) = (y = x .* scale; y .+= shift; y[1] = 0; sum(y .^ 2))
splatted(x) = (y = copy(x); y[2] = max(x...); sum((y..., x[1]) .* (1, 2, 3, 4, 5)))

function printing(x)
    io = IOBuffer()
    y = copy(x)
    for i in eachindex(y)
        y[i] *= i
        @printf(io, "%6.3f ", y[i])
    end
    return length(String(take!(io))) > 0 ? sum(abs2, y) : 0.0
end
function logging(x)
    y = copy(x)
    y[1] = y[2] * y[3]
    @debug "state" y
    msg = string("norm ", sum(abs2, y))
    return sum(y) * length(split(msg))
end

function threaded(x)
    y = similar(x)
    Threads.@threads for i in eachindex(x)
        y[i] = x[i]^2
    end
    return sum(y)
end
function spawned(x)
    t = Threads.@spawn sum(v -> v^2, x)
    return fetch(t) * x[1]
end
function channelled(x)
    c = Channel{Float64}(4)
    foreach(v -> put!(c, v^2), x)
    close(c)
    return sum(collect(c))
end
function atomic_sum(x)
    total = Threads.Atomic{Float64}(0.0)
    for v in x
        Threads.atomic_add!(total, v^2)
    end
    return total[]
end

complex_phase(z) = (w = copy(z); w .*= cis.(real.(z)); w[1] += conj(w[2]); sum(abs2, w .+ 1))
function mandelbrot(c)
    z, n = copy(c), 0
    while n < 3
        z .= z .^ 2 .+ c
        n += 1
    end
    return sum(abs2, z)
end
single_precision(x) = (y = similar(x); for i in eachindex(x); y[i] = x[i]^2 + (i > 1 ? y[i-1] : 0f0); end; sum(y))
mixed_precision(x) = (y = Float32.(x); y[1] *= 2; sum(Float64.(y) .^ 2))
integers_between(x) = (n = round.(Int, x); y = x .* n; y[1] += n[2]; sum(y))

function static_vectors(x)
    u = SVector{2}(x[1], x[2])
    m = MVector{2}(x[3], x[4])
    for _ in 1:3
        m[1] += u[1] * m[2]
        u = u .+ 0.1 .* SVector{2}(m)
    end
    return sum(u) * m[1]
end
function static_matrices(x)
    A = @SMatrix [x[1] x[2]; x[3] x[4]]
    B = MMatrix{2,2}(A)
    B[1, 2] *= 2
    return sum(A * B)
end
function vector_of_statics(x)
    ps = [SVector(v, v^2) for v in x]
    ps[2] = ps[1] + ps[3]
    return sum(p -> p[1] * p[2], ps)
end

written_subarray(v) = (w = copy(v); w[2] *= w[1]; sum(w .* (1:length(w))))
subarray_argument(x) = (y = copy(x); v = view(y, 2:3); v .= v .^ 2; written_subarray(v) + sum(y))
offset_loop(x) = (y = zero(x); for (i, v) in pairs(x); y[end+1-i] = v^i; end; y[1] * y[end] + sum(y))
let_block(x) = (f = let k = x[1]; y -> (y[1] *= k; sum(y)); end; f(copy(x)))
generated_tuple(x) = (t = ntuple(i -> x[i]^2, 4); u = Base.setindex(t, t[1] * t[2], 3); sum(u))
callable_table(x) = (fs = Function[sin, cos, v -> v^2]; s = 0.0; for (f, v) in zip(fs, x); s += f(v); end; s)

end
