# Sizes of memory that code names: an engine that keeps tangents of it between calls may keep them in the sizes of then.

"Whether a call may change the size of memory that the code names, or put arrays of other sizes there."
changes_sizes(found::Outside) =
    found.writes && any(pair -> has_no_fixed_size(first(pair), found.resizes || found.sparse), memory_in(named(found)))

has_no_fixed_size(x::Elements, resizes::Bool) = !isbitstype(eltype(x)) || resizes && x isa Vector
has_no_fixed_size(::AbstractDict, ::Bool) = true
has_no_fixed_size(@nospecialize(x::Base.RefValue), ::Bool) = !isbitstype(eltype(x))
has_no_fixed_size(@nospecialize(x), resizes::Bool) = resizes

"`run(backend)`, or with a backend that does right by memory which outlives the call. The package extension for Mooncake adds a method."
function by_memory(run, backend, found::Outside)
    writes_out_of_bounds(backend) && throw(ArgumentError("the extension of MutationBridge for Mooncake is not \
        loaded, without which Mooncake may write into memory that is not its own: the project's manifest is older than MutationBridge. \
        Run `using Pkg; Pkg.resolve()` in it, and start Julia again"))
    return run(backend)
end

"Whether an engine needs a method of [`by_memory`](@ref) of its own."
writes_out_of_bounds(backend) = false
