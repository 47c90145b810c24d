# What a Python process asks of its Julia besides gradients: code by a C call, packages by name, Ctrl-C.
module Session

using ..MutationBridge: set_poll!

"What [`evaluate`](@ref) answered last; kept here while Python copies it."
const ANSWER = Ref("")

"""
Evaluate code in Main and answer with a pointer to text: `=` and the value's, or `!` and the error's.

A C function, since first calls by way of PythonCall take seconds to compile.
"""
function evaluate(code::Cstring)::Ptr{UInt8}
    ANSWER[] = try
        "=" * string(include_string(Main, unsafe_string(code), "bridge"))
    catch exception
        "!" * sprint(showerror, exception)
    end
    return pointer(ANSWER[])
end

"Whether `using name` in Main would find a package."
function installed(name::String)
    found = Base.identify_package(name)
    return found !== nothing && Base.locate_package(found) !== nothing
end

is_interrupt(exception) = exception isa InterruptException

# Addresses of Python's PyErr_CheckSignals and PyErr_Fetch, and the exception (type, value, traceback) last fetched.
const CHECK_SIGNALS = Ref{Ptr{Cvoid}}(C_NULL)
const FETCH = Ref{Ptr{Cvoid}}(C_NULL)
const FETCHED = Ref{NTuple{3,Ptr{Cvoid}}}((C_NULL, C_NULL, C_NULL))

"""
Non-zero after a signal whose handler in Python raised. The exception is taken out of Python's error indicator, because
Julia runs Python code on its way back; Python raises it there, by [`taken`](@ref).
"""
function signalled()::Cint
    status = ccall(CHECK_SIGNALS[], Cint, ())
    status == 0 && return status
    kind, value, trace = Ref{Ptr{Cvoid}}(C_NULL), Ref{Ptr{Cvoid}}(C_NULL), Ref{Ptr{Cvoid}}(C_NULL)
    ccall(FETCH[], Cvoid, (Ref{Ptr{Cvoid}}, Ref{Ptr{Cvoid}}, Ref{Ptr{Cvoid}}), kind, value, trace)
    FETCHED[] = (kind[], value[], trace[])
    return status
end

"""
Let `poll` ask Python for signals, by the addresses of these two functions; returns the addresses of `evaluate`, and of
Julia's functions that mark a thread as outside and inside of Julia.
"""
function start!(check_signals::Integer, fetch::Integer)
    CHECK_SIGNALS[], FETCH[] = Ptr{Cvoid}(UInt(check_signals)), Ptr{Cvoid}(UInt(fetch))
    set_poll!(UInt(@cfunction(signalled, Cint, ())))
    addresses = (@cfunction(evaluate, Ptr{UInt8}, (Cstring,)), cglobal(:jl_gc_safe_enter), cglobal(:jl_gc_unsafe_enter))
    return join(UInt.(addresses), ' ')
end

"The addresses of the exception that a signal's handler raised, whose references the caller takes over; zeros if none."
function taken()
    addresses = FETCHED[]
    FETCHED[] = (C_NULL, C_NULL, C_NULL)
    return join(UInt.(addresses), ' ')
end

end
