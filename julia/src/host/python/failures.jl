# Exceptions on their way to Python: kept, described, and told apart.

"A Julia exception and where it was thrown."
struct Failure
    exception::Any
    backtrace::Any
end

"Run an entry; what it throws is kept, and Python raises the exception that asks for it."
@inline function guarded(run::F) where {F}
    try
        release_python()
        return run()
    catch exception
        return failed(exception, catch_backtrace())
    end
end

function failed(@nospecialize(exception), trace)
    exception_set() && return PyPtr(0)
    key = new_integer(keep!(Failure(exception, trace)))
    ccall(C.PyErr_SetObject, Cvoid, (PyPtr, PyPtr), OBJECTS.failed, key)
    release(key)
    return PyPtr(0)
end

"What the exception is to Python: which of its own exceptions stands for it."
kind(e) = is_of_python(e) ? "python $(keep!(e.v))" : "julia"
kind(::InterruptException) = "interrupt"
kind(e::LostGradient) = e.dropped ? "dropped" : "lost"
kind(::MutationError) = "mutation"
kind(::MethodError) = "method"
kind(::OtherLayout) = "layout"
kind(e::NotANumber) = "number"
kind(e::NotDifferentiable) = "argument"
kind(e::Undeclared) = "undeclared $(e.leaf - 1)"
kind(e::OtherValues) = "replay"
kind(::Disproved) = "disproved"
kind(::RecursiveType) = "recursive type"
kind(::SparseWritten) = "sparse written"
kind(::TooLarge) = "large"
kind(e::UndefVarError) = (package = package_of(e.var)) === nothing ? "julia" : "undefined $package"
kind(e::Passed) = "passed $(e.engine) $(kind(e.exception))"
kind(e::LoadError) = kind(e.error)
kind(::Meta.ParseError) = "syntax"
kind(e::TaskFailedException) = kind(e.task.exception)

"The package to load for a name: the one that is called so, or one of the standard library that exports it."
package_of(name::Symbol) = MutationBridge.Session.installed(String(name)) ? name : exporter_of(name)
function exporter_of(name::Symbol)
    found = findfirst(library -> name in names(library), STANDARD)
    return found === nothing ? nothing : nameof(STANDARD[found])
end
const STANDARD = (LinearAlgebra, Random, SparseArrays, Statistics)

"Whether it is PythonCall's wrapper of an exception that Python code raised, which Julia called."
is_of_python(e) = nameof(typeof(e)) === :PyException && nameof(Base.moduleroot(parentmodule(typeof(e)))) === :PythonCall

"Whether an exception of Python's is none of its `Exception`: KeyboardInterrupt, SystemExit."
ends_program(e) = OBJECTS.exception != C_NULL &&
    ccall(C.PyErr_GivenExceptionMatches, Cint, (PyPtr, PyPtr), getfield(e.v, :ptr), OBJECTS.exception) == 0

"Kind, message, short and full stack of a kept failure, which is given up."
function describe(key::Integer)
    failure = take!(key)
    message = sprint(showerror, failure.exception isa Passed ? failure.exception.exception : failure.exception; context=:limit => true)
    frames = filter(!is_ours, stacktrace(failure.backtrace))
    users = unique(filter(!isnothing, map(users_line, frames)))
    short = isempty(users) ? filter(!lies_in_package, frames) : users
    return (kind(failure.exception), message, lines(first(short, 8)), lines(frames))
end

lines(frames) = join((string("  [", k, "] ", frame) for (k, frame) in enumerate(frames)), "\n")

"A frame of the user's code as text: also where Zygote runs it under a name of its own; `nothing` for other frames."
function users_line(frame)
    is_machinery(frame) || return string(frame)
    instance = instance_of(frame.linfo)
    frame.func === :_pullback && instance !== nothing || return nothing
    parameters = instance.specTypes.parameters
    length(parameters) >= 3 && parameters[3] isa DataType || return nothing
    f = parameters[3]
    package = Base.moduleroot(parentmodule(f))
    package in (Base, Core, Zygote, ZygoteRules, ChainRulesCore, MutationBridge) && return nothing
    return string(Base.issingletontype(f) ? f.instance : f, ", differentiated")
end

instance_of(code) = nothing
instance_of(code::Core.MethodInstance) = code
instance_of(code::Core.CodeInstance) = instance_of(code.def)     # what frames have since Julia 1.12

"Frames between Python and the user's code."
is_ours(frame) = frame.from_c || lies_in(frame, HERE) || occursin("PythonCall", String(frame.file))

lies_in_package(frame) = lies_in(frame, (pkgdir(MutationBridge),)) || startswith(basename(String(frame.file)), "MutationBridge")

"Frames of the packages that differentiate, and of Julia itself."
is_machinery(frame) = lies_in(frame, MACHINERY) || startswith(String(frame.file), "./") || startswith(String(frame.file), "none")

# A module that no package file has made has no folder.
lies_in(frame, folders) = any(folder -> folder !== nothing && startswith(String(frame.file), folder), folders)
const HERE = (@__DIR__, realpath(@__DIR__))
const MACHINERY = (
    dirname(dirname(@__DIR__)), pkgdir(Zygote), pkgdir(ZygoteRules), pkgdir(ChainRulesCore), pkgdir(ForwardDiff), pkgdir(IRTools)
)
