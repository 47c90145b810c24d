# What memory held before a call: runs more begin with that and leave no trace, and it is seen whether one writes there.

"What a mutable object held, without what that holds in turn."
snapshot(@nospecialize(x::Elements)) = copy(x)
snapshot(@nospecialize(d::AbstractDict)) = copy(d)
snapshot(b::Binding) = isdefined(b.owner, b.name) ? Some(getglobal(b.owner, b.name)) : nothing
snapshot(@nospecialize(x)) = Any[isdefined(x, k) ? Some(field(x, k)) : nothing for k in 1:fieldcount(typeof(x))]

"Whether it holds something else now."
is_changed(x::Elements, before::Elements) = size(x) != size(before) || (isbitstype(eltype(x)) ? !isequal(x, before) :
    any(k -> isassigned(x, k) != isassigned(before, k) || isassigned(x, k) && x[k] !== before[k], eachindex(x)))
is_changed(@nospecialize(d::AbstractDict), @nospecialize(before)) =
    length(d) != length(before) || any(pair -> get(before, first(pair), d) !== last(pair), d)
is_changed(@nospecialize(x), @nospecialize(before)) = !all(Base.splat(===), zip(snapshot_parts(snapshot(x)), snapshot_parts(before)))
snapshot_parts(parts::Vector{Any}) = Any[part === nothing ? nothing : something(part) for part in parts]
snapshot_parts(part) = (part === nothing ? nothing : something(part),)

"Put back what it held."
function put_back!(@nospecialize(x::Elements), @nospecialize(before))
    x isa Vector && resize!(x, length(before))
    copyto!(x, before)
end
put_back!(@nospecialize(d::AbstractDict), @nospecialize(before)) = (empty!(d); merge!(d, before))
put_back!(b::Binding, before) = before === nothing || Core.eval(b.owner, Expr(:(=), b.name, QuoteNode(something(before))))
function put_back!(@nospecialize(x), @nospecialize(before))
    T = typeof(x)
    for (k, part) in enumerate(before)
        (part === nothing || isconst(T, k) || field(x, k) === something(part)) && continue
        Base.isfieldatomic(T, k) ? setfield!(x, k, something(part), :sequentially_consistent) : setfield!(x, k, something(part))
    end
end

"Memory that outlives a call, what to call it, and what it held before the call."
struct Remembered
    memory::Vector{Pair{Any,String}}
    before::Vector{Any}
end
Remembered(memory) = Remembered(memory, snapshots(memory))
Base.isempty(r::Remembered) = isempty(r.memory)

snapshots(memory) = Any[snapshot(first(pair)) for pair in memory]
put_back!(r::Remembered, held=r.before) = foreach((pair, old) -> put_back!(first(pair), old), r.memory, held)

"The names of the memory that holds something else than before the call."
changed(r::Remembered) = unique!(String[name for ((x, name), old) in zip(r.memory, r.before) if is_changed(x, old)])

"`run()` from memory as it was before the call; afterwards it holds what it holds now."
function again(run, r::Remembered)
    isempty(r) && return run()
    now = snapshots(r.memory)
    put_back!(r)
    try
        return run()
    finally
        put_back!(r, now)
    end
end
