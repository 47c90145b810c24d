# Small programs around one call, run on plain arrays and on Buffers: result unused, called twice, read before and after.

# A program is written once in the operations below. On `Plain` they compute. On `Traced` each is a pullback of this
# package's, kept on a stack that runs from its end, as Zygote's code would run it, without compiling a program each.
mutable struct Plain
    loss::Float64
end

mutable struct Traced
    const context::Context{Union{}}
    const backs::Vector{Any}
    const gradient::Vector{Any}
    const memory::Vector{Any}       # (Buffer, its contents at birth)
    loss::Float64
end
Traced(n::Int) = Traced(Context(), [], fill!(Vector{Any}(undef, n), nothing), [], 0.0)

is_tracked(::Plain, x) = x isa StridedArray && is_active(x)
is_tracked(::Traced, x) = x isa Buffer

"""The `k`th argument as the program holds it: arrays become Buffers."""
input!(t::Plain, k, x) = deepcopy(x)
function input!(t::Traced, k, x)
    is_tracked(Plain(0.0), x) || return x isa AbstractArray ? deepcopy(x) : x
    b, back = Zygote._pullback(t.context, Buffer, x)
    push!(t.memory, (b, copy(value(b))))
    push!(t.backs, () -> add_gradient!(t, k, back(nothing)))
    return b
end
add_gradient!(t::Traced, k, ::Nothing) = nothing
add_gradient!(t::Traced, k, cts::Tuple) = add_gradient!(t, k, last(cts))
add_gradient!(t::Traced, k, ct) = (t.gradient[k] = accum(t.gradient[k], unthunk(ct)); nothing)

"""The loss gains the weighted sum of the elements."""
read!(t::Plain, x, weights) = (t.loss += inner(weights, Array(x)); nothing)
function read!(t::Traced, b, weights)
    contents, back = Zygote._pullback(t.context, copy, b)
    t.loss += inner(weights, contents)
    push!(t.backs, () -> back(weights))
    return nothing
end

"""The loss gains half the sum of squares; the pullback reads memory when it runs, like one that captured an operand."""
square!(t::Plain, x) = (t.loss += sum(abs2, Array(x); init = 0.0) / 2; nothing)
function square!(t::Traced, b)
    memory, back = Zygote._pullback(t.context, Base.Broadcast.broadcastable, b)
    t.loss += sum(abs2, Array(memory); init = 0.0) / 2
    push!(t.backs, () -> back(copy(memory)))
    return nothing
end

overwrite!(t::Plain, x) = (fill!(x, 0.5); nothing)
function overwrite!(t::Traced, b)
    _, back = Zygote._pullback(t.context, fill!, b, 0.5)
    push!(t.backs, () -> back(nothing))
    return nothing
end

"""Every second element (row) of new memory, holding what `x` holds."""
strided(t::Plain, x) = copyto!(every_second(zeros(eltype(x), spread_size(x)), x), x)
function strided(t::Traced, b)
    v = every_second(Buffer(zeros(eltype(b), spread_size(b))), b)
    _, back = Zygote._pullback(t.context, copyto!, v, b)
    push!(t.backs, () -> back(nothing))
    return v
end

spread_size(x) = (2 * size(x, 1), Base.tail(size(x))...)
every_second(space, x) = view(space, 2:2:2*size(x, 1), map(_ -> Colon(), Base.tail(size(x)))...)

"""The call; argument `j` is `xs[slots[j]]`."""
call!(t::Plain, call::Call, xs, slots = eachindex(xs)) = (call.f(xs[slots]...; call.keywords...); nothing)
function call!(t::Traced, call::Call, xs, slots = eachindex(xs))
    _, back = isempty(call.keywords) ? Zygote._pullback(t.context, call.f, xs[slots]...) :
        Zygote._pullback(t.context, Core.kwcall, call.keywords, call.f, xs[slots]...)
    skipped = isempty(call.keywords) ? 1 : 3
    push!(t.backs, function ()
        cts = back(nothing)
        cts isa Tuple && foreach((slot, ct) -> add_gradient!(t, slot, ct), slots, cts[skipped+1:end])
    end)
    return nothing
end

"""A program: its code if it goes wrong, its name, its body and the remedy."""
struct Program
    code::Symbol
    name::String
    body::Function
    remedy::String
end

tracked(t, xs) = [k for k in eachindex(xs) if is_tracked(t, xs[k])]
written(t, call, xs) = [k for k in call.writes if is_tracked(t, xs[k])]

const PROGRAMS = (
    Program(:wrong_in_context, "called once", function (t, call, xs, weights)
        call!(t, call, xs)
        foreach(k -> read!(t, xs[k], weights[k]), written(t, call, xs))
    end, "the pull holds by itself: look for state that the function or its pull keeps"),
    Program(:unused_result, "its result unused", function (t, call, xs, weights)
        foreach(k -> square!(t, xs[k]), tracked(t, xs))
        call!(t, call, xs)
    end, "the function writes more than its rule declares, or the pull invents a cotangent"),
    Program(:called_twice, "called twice on the same arrays", function (t, call, xs, weights)
        call!(t, call, xs)
        call!(t, call, xs)
        foreach(k -> read!(t, xs[k], weights[k]), written(t, call, xs))
    end, "keep no state between calls: compute from the pull's parameters"),
    Program(:stale_input, "its arguments read before, overwritten after", function (t, call, xs, weights)
        foreach(k -> square!(t, xs[k]), tracked(t, xs))
        call!(t, call, xs)
        foreach(k -> read!(t, xs[k], weights[k]), written(t, call, xs))
        foreach(k -> (square!(t, xs[k]); overwrite!(t, xs[k]); read!(t, xs[k], weights[k])), tracked(t, xs))
    end, "compute from the pull's parameters, which hold the values from before the call; keep no references to arrays"),
    Program(:wrong_in_view, "on strided views", function (t, call, xs, weights)
        views = Any[is_tracked(t, x) ? strided(t, x) : x for x in xs]
        call!(t, call, views)
        foreach(k -> read!(t, views[k], weights[k]), written(t, call, xs))
    end, "write the argument, not a copy of it"),
)

"""
Whether the plain function does the same on strided views as on arrays and leaves their neighbours alone; some of
LAPACK's wrappers do not.
"""
function handles_strides(call::Call)
    t = Plain(0.0)
    views = Any[is_tracked(t, x) ? strided(t, x) : deepcopy(x) for x in call.args]
    call.f(views...; call.keywords...)
    after = run_plain(call)
    return all(eachindex(views)) do k
        v = views[k]
        v isa SubArray || return true
        neighbours = view(parent(v), 1:2:size(parent(v), 1), map(_ -> Colon(), Base.tail(size(v)))...)
        return all(iszero, neighbours) && isapprox(v, after[k]; nans = true)
    end
end

"""Arguments that can be one array: for each written one, those that are read and look like it."""
function aliases(call::Call)
    twins = Tuple{Int,Int}[]
    for k in call.writes, j in eachindex(call.args)
        x, y = call.args[k], call.args[j]
        j in call.writes || !(x isa Array && is_active(x) && typeof(x) === typeof(y) && size(x) == size(y)) || push!(twins, (k, j))
    end
    return twins
end

function alias_program(k, j)
    Program(:ignores_alias, "argument $k and argument $j the same array", function (t, call, xs, weights)
        slots = [i == j ? k : i for i in eachindex(xs)]
        call!(t, call, xs, slots)
        read!(t, xs[k], weights[k])
    end, "the function treats one array as two arguments otherwise than its pull does: leave `aliases = true` out")
end

run_program(t, program::Program, call::Call, points, weights) =
    (xs = Any[input!(t, k, points[k]) for k in eachindex(points)]; program.body(t, call, xs, weights); t)

function sweep!(t::Traced)
    foreach(back -> back(), Iterators.reverse(t.backs))
    return t
end
