# Julia objects that Python holds by number, and Python objects that Julia holds.

const KEPT = Dict{Int,Any}()
const LAST_KEY = Ref(0)

"Keep `x` alive for Python; returns its number."
function keep!(@nospecialize x)
    key = LAST_KEY[] += 1
    KEPT[key] = x
    return key
end

"The object with this number, which Python gives up."
take!(key::Integer) = pop!(KEPT, Int(key))

"The object with this number, which Python goes on holding."
kept(key::Integer) = KEPT[Int(key)]

"Python gives up the object with this number."
forget!(key::Integer) = (delete!(KEPT, Int(key)); nothing)

# Finalizers may not touch Python: they run in the middle of anything. What they release waits here.
const RELEASED = PyPtr[]

"What lives as long as the memory of an array is in use: a reshaped array refers to the array, and since Julia 1.11 to its memory only."
memory_below(x::Array) = isdefined(Core, :GenericMemory) ? x.ref.mem : x

"Keep the Python object alive as long as the memory of `x` is in use."
function hold_python!(x::Array, p::PyPtr)
    retain(p)
    finalizer(_ -> (push!(RELEASED, p); nothing), memory_below(x))
    return x
end

"Release the Python objects whose Julia holders are gone."
function release_python()
    isempty(RELEASED) && return
    GC.enable_finalizers(false)
    gone = try
        splice!(RELEASED, eachindex(RELEASED))
    finally
        GC.enable_finalizers(true)
    end
    foreach(release, gone)
end
