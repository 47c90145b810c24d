# Sizes of memory that code names: an engine that keeps tangents of it between calls may keep them in the sizes of then.

"Whether a call may change the size of memory that the code names, or put arrays of other sizes there."
changes_sizes(found::Outside) =
    found.writes && any(pair -> has_no_fixed_size(first(pair), found.resizes || found.sparse), memory_in(named(found)))

has_no_fixed_size(x::Elements, resizes::Bool) = !isbitstype(eltype(x)) || resizes && x isa Vector
has_no_fixed_size(::AbstractDict, ::Bool) = true
has_no_fixed_size(@nospecialize(x::Base.RefValue), ::Bool) = !isbitstype(eltype(x))
has_no_fixed_size(@nospecialize(x), resizes::Bool) = resizes
