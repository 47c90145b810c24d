# Sizes of memory that code names: an engine that keeps tangents of it between calls may keep them in the sizes of then.

"Whether a call may change the size of memory that the code names, or put arrays of other sizes there."
changes_sizes(found::Outside) =
    found.writes && any(pair -> has_no_fixed_size(first(pair), found.resizes), memory_in(named(found)))

has_no_fixed_size(x::Array, resizes::Bool) = !isbitstype(eltype(x)) || resizes && x isa Vector
has_no_fixed_size(::AbstractDict, ::Bool) = true
has_no_fixed_size(@nospecialize(x::Base.RefValue), ::Bool) = !isbitstype(eltype(x))
has_no_fixed_size(@nospecialize(x), resizes::Bool) = resizes

"A hash of the sizes of all that a value holds."
function sizes_of(@nospecialize(x))
    h = zero(UInt)
    visit(x, "", Base.IdSet{Any}()) do part, _
        h = hash(typeof(part), sized(part, h))
    end
    return h
end

sized(x::AbstractArray, h::UInt) = hash(size(x), h)
sized(d::AbstractDict, h::UInt) = foldl((h, key) -> hash(key, h), keys(d); init=h)
sized(@nospecialize(x), h::UInt) = h
