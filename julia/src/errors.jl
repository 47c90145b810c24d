# The two errors of the package: a gradient that would be lost, and a wrong use of memory.

"""
    LostGradient(msg)

Some of a gradient would be lost: a mutating pullback did not run (a predicate, a catch block, an enclosing
pullback that dropped it), memory was changed behind the log, or sparse arithmetic left out an element that is zero (`dropped`).
`msg` says what, where, and the remedy. Raised by [`gradient`](@ref), [`withgradient`](@ref) and by the pull of [`pullback`](@ref).
"""
struct LostGradient <: Exception
    msg::String
    dropped::Bool
end
LostGradient(msg) = LostGradient(msg, false)

"""
    MutationError(msg)

A plain `Array` is mutated under differentiation, or a [`Buffer`](@ref) is used in a way that has no meaning.
`msg` says which operation, and the remedy.
"""
struct MutationError <: Exception
    msg::String
end

Base.showerror(io::IO, error::LostGradient) = print(io, "LostGradient: ", error.msg)
Base.showerror(io::IO, error::MutationError) = print(io, "MutationError: ", error.msg)

"""One line that names a Buffer in messages: its element type and size."""
describe(b) = string("Buffer{", eltype(b), "} of size ", size(b))
