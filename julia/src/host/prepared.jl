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
