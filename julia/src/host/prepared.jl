# What engines prepare for a program, kept for its next call.

"By program, sizes and world. Taken out while it is used, since it holds an engine's scratch."
const PREPARED = Dict{Any,Vector{Any}}()
const PREPARED_LOCK = ReentrantLock()
const MOST_PREPARED = 64

"`use(prepare())`, kept for nobody if there is no `key`."
prepared(use, prepare, ::Nothing) = use(prepare())

"`use(preparation)`, with one that `prepare()` has made before for the same `key` if there is one; it is kept if no error comes."
function prepared(use, prepare, key)
    preparation = @lock PREPARED_LOCK begin
        there = get(PREPARED, key, nothing)
        there === nothing || isempty(there) ? nothing : pop!(there)
    end
    preparation = @something preparation prepare()
    found = use(preparation)
    @lock PREPARED_LOCK begin
        length(PREPARED) >= MOST_PREPARED && !haskey(PREPARED, key) && empty!(PREPARED)
        push!(get!(Vector{Any}, PREPARED, key), preparation)
    end
    return found
end

forget_prepared!() = @lock PREPARED_LOCK empty!(PREPARED)

"`run(backend)`, or with a backend that does right by memory which outlives the call. The package extension for Mooncake adds a method."
function by_memory(run, backend, found::Outside)
    writes_out_of_bounds(backend) && throw(ArgumentError("the extension of MutationBridge for Mooncake is not \
        loaded, without which Mooncake may write into memory that is not its own: the project's manifest is older than MutationBridge. \
        Run `using Pkg; Pkg.resolve()` in it, and start Julia again"))
    return run(backend)
end

"Whether an engine needs a method of [`by_memory`](@ref) of its own."
writes_out_of_bounds(backend) = false
