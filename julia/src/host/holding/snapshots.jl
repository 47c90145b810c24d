# What memory held: so that a run more leaves no trace in it, and whether one wrote there.

"What a mutable object held, without what that holds in turn."
snapshot(x::Array) = copy(x)
snapshot(d::AbstractDict) = copy(d)
snapshot(b::Binding) = isdefined(b.owner, b.name) ? Some(getglobal(b.owner, b.name)) : nothing
snapshot(x) = Any[isdefined(x, k) ? Some(getfield(x, k)) : nothing for k in 1:fieldcount(typeof(x))]

"Whether it holds something else now."
is_changed(x::Array{T}, before::Array{T}) where {T} = size(x) != size(before) || (isbitstype(T) ? !isequal(x, before) :
    any(k -> isassigned(x, k) != isassigned(before, k) || isassigned(x, k) && x[k] !== before[k], eachindex(x)))
is_changed(d::AbstractDict, before) = length(d) != length(before) || any(pair -> get(before, first(pair), d) !== last(pair), d)
is_changed(x, before) = !all(Base.splat(===), zip(snapshot_parts(snapshot(x)), snapshot_parts(before)))
snapshot_parts(parts::Vector{Any}) = Any[part === nothing ? nothing : something(part) for part in parts]
snapshot_parts(part) = (part === nothing ? nothing : something(part),)

"Put back what it held."
function put_back!(x::Array, before)
    ndims(x) == 1 && resize!(x, length(before))
    copyto!(x, before)
end
put_back!(d::AbstractDict, before) = (empty!(d); merge!(d, before))
put_back!(b::Binding, before) = before === nothing || Core.eval(b.owner, Expr(:(=), b.name, QuoteNode(something(before))))
function put_back!(x, before)
    for (k, part) in enumerate(before)
        part === nothing || isconst(typeof(x), k) || getfield(x, k) === something(part) || setfield!(x, k, something(part))
    end
end

"""
    with_memory_put_back(run, memory) -> value, names

The value of `run(changed)`, where `changed()` gives the names of the memory that holds something else than before; afterwards all of
it holds what it held.
"""
function with_memory_put_back(run, memory)
    before = Any[snapshot(first(pair)) for pair in memory]
    changed() = unique!(String[name for ((x, name), old) in zip(memory, before) if is_changed(x, old)])
    try
        return run(changed)
    finally
        foreach((pair, old) -> put_back!(first(pair), old), memory, before)
    end
end
