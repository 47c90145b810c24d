# Memory that outlives a call: what a function captures, and the globals that its code names. An engine may take it for constant.

"A global variable that code assigns."
struct Binding
    owner::Module
    name::Symbol
end

"""
    Outside

What was found from a function without running it, in a `world`.

- `roots`: the function itself, which holds what it captures, and the globals that the code names which it may run, and what to call them.
- `writes`: whether some of that code writes: calls a function whose name ends with `!`, or assigns a global.
- `resizes`: whether what it calls may give a vector another length, or a field another value.
- `sparse`: whether that code names something of SparseArrays, or a value that outlives the call holds a sparse array.
- `seen`: what was looked at, among it all types that this code names, and those of the values that the function and its arguments hold.
"""
mutable struct Outside
    const world::UInt
    const roots::Vector{Pair{Any,String}}
    writes::Bool
    resizes::Bool
    sparse::Bool
    const seen::Base.IdSet{Any}
end

# More than this is not looked at, and taken to write.
const MOST = 20_000

function Outside(@nospecialize(f), @nospecialize(args::Tuple)=())
    found = Outside(Base.get_world_counter(), Pair{Any,String}[], false, false, false, Base.IdSet{Any}())
    root!(found, f, "what it captures")
    foreach(x -> look_into_argument!(found, x), args)
    return found
end

"The memory in reach that may hold floats and may be written, and what to call it."
memory_of(found::Outside) = found.writes ? memory_in(found.roots) : Pair{Any,String}[]

"The globals that the code names."
named(found::Outside) = @view found.roots[2:end]

"Whether the code names globals that hold arrays or other memory."
names_memory(found::Outside) = !isempty(memory_in(named(found)))

function memory_in(roots)
    memory, seen = Pair{Any,String}[], Base.IdSet{Any}()
    for (x, name) in roots
        visit(x, name, seen) do part, name
            ismutable(part) || part isa Binding || return
            part isa AbstractArray{<:Union{Integer,AbstractString,Symbol}} || push!(memory, Pair{Any,String}(part, name))
        end
    end
    return memory
end

const WITHOUT_FLOATS = Union{Number,AbstractString,AbstractChar,Symbol,Nothing,Missing,Regex,IO,Task,Ptr,Module,Type,Base.AbstractLock,
    Random.AbstractRNG,Expr,Method,Core.MethodInstance,Core.CodeInfo,LineNumberNode,Core.SimpleVector,Core.TypeName,GlobalRef}

"Call `what(x, name)` with a value, and with everything that it holds."
function visit(@nospecialize(what), @nospecialize(x), name::String, seen::Base.IdSet{Any})
    x isa WITHOUT_FLOATS && return
    length(seen) < MOST && (!ismutable(x) || x ∉ seen) || return
    ismutable(x) && push!(seen, x)
    what(x, name)
    visit_parts(what, x, name, seen)
    return
end

# Loops, and no generators: one of those has a type of its own for each value, whose code a first call would wait for.
function visit_parts(@nospecialize(what), @nospecialize(x::Elements), name::String, seen::Base.IdSet{Any})
    isbitstype(eltype(x)) && return
    for k in eachindex(x)
        isassigned(x, k) && visit(what, x[k], name, seen)
    end
end
function visit_parts(@nospecialize(what), @nospecialize(d::AbstractDict), name::String, seen::Base.IdSet{Any})
    for part in values(d)
        visit(what, part, name, seen)
    end
end
visit_parts(@nospecialize(what), ::Binding, name::String, seen::Base.IdSet{Any}) = nothing
function visit_parts(@nospecialize(what), @nospecialize(x), name::String, seen::Base.IdSet{Any})
    T = typeof(x)
    for k in 1:fieldcount(T)
        isdefined(x, k) || continue
        visit(what, field(x, k), x isa Function ? "the captured $(fieldname(T, k))" : name, seen)
    end
end

field(@nospecialize(x), k::Int) = Base.isfieldatomic(typeof(x), k) ? getfield(x, k, :sequentially_consistent) : getfield(x, k)

"Note a value that outlives the call, and look into the code of all functions that it holds."
function root!(found::Outside, @nospecialize(x), name)
    x in found.seen && return
    push!(found.seen, x)
    holds_nothing = x isa WITHOUT_FLOATS || Base.issingletontype(typeof(x))
    holds_nothing && !isempty(found.roots) || push!(found.roots, Pair{Any,String}(x, name))
    visit(x, name, Base.IdSet{Any}()) do part, _
        part isa AbstractSparseArray && (found.sparse = true)
        look_into_part!(found, part)
    end
end

"Look into the code of the functions that an argument holds. What memory it holds is the caller's, and copied."
function look_into_argument!(found::Outside, @nospecialize(x))
    x isa Type && return look_into!(found, x)
    visit(x, "", Base.IdSet{Any}()) do part, _
        look_into_part!(found, part)
    end
end

function look_into_part!(found::Outside, @nospecialize(x))
    x isa Function && note_name!(found, nameof(x), x)
    look_into!(found, typeof(x))
end

"The module of a function or a type; `nothing` for unions, which have none, and for what is neither."
owner_of(@nospecialize(x)) = nothing
owner_of(@nospecialize(f::Function)) = parentmodule(f)
owner_of(@nospecialize(T::DataType)) = parentmodule(T)
owner_of(@nospecialize(T::UnionAll)) = owner_of(Base.unwrap_unionall(T))

"Note what the name of something that is called, or may be, says about it."
function note_name!(found::Outside, name::Symbol, @nospecialize(x))
    endswith(String(name), '!') || return
    found.writes = true
    owner = owner_of(x)
    owner !== nothing && (is_looked_into(owner) || name in KEEPS_SIZES) || (found.resizes = true)
end

# The code of these writes nothing that a user's function keeps, but for functions whose name says so.
const NOT_LOOKED_INTO = Set{Module}((Core, Base, Zygote, ZygoteRules, ChainRulesCore, ForwardDiff))
function is_looked_into(owner::Module)
    root = Base.moduleroot(owner)
    (root in NOT_LOOKED_INTO || root === MutationBridge) && return false
    path = pathof(root)
    return path === nothing || !startswith(path, Sys.STDLIB)
end

"Look into the code that a call of a `T`, or the construction of one, may run."
function look_into!(found::Outside, @nospecialize(T))
    T in found.seen && return
    push!(found.seen, T)
    owner = owner_of(T)
    owner !== nothing && is_looked_into(owner) || return
    for called in (T, Type{T}), match in something(Base._methods_by_ftype(Tuple{called,Vararg{Any}}, -1, found.world), ())
        look_into_method!(found, match.method)
    end
end

function look_into_method!(found::Outside, method::Method)
    is_looked_into(method.module) && isdefined(method, :source) && method ∉ found.seen || return
    push!(found.seen, method)
    length(found.seen) < MOST ? look_into!(found, Base.uncompressed_ast(method)) : (found.writes = found.resizes = true)
    return
end

function look_into!(found::Outside, code::Core.CodeInfo)
    modules = IdDict{Any,Any}()     # the statements whose value is a module, or `setglobal!`
    for (k, statement) in enumerate(code.code)
        named = look_at!(found, statement, modules)
        named === nothing || (modules[Core.SSAValue(k)] = named)
    end
end

"Look at what a part of lowered code names; returns the module that it is, if it is one, or `setglobal!`."
look_at!(found::Outside, @nospecialize(x), modules) = (ismutable(x) && root!(found, x, "a constant of its code"); nothing)
look_at!(found::Outside, x::QuoteNode, modules) = (x.value isa Symbol || root!(found, x.value, "a constant of its code"); nothing)
look_at!(found::Outside, x::Core.SSAValue, modules) = get(modules, x, nothing)
look_at!(found::Outside, x::Core.ReturnNode, modules) = isdefined(x, :val) ? look_at!(found, x.val, modules) : nothing
look_at!(found::Outside, x::Core.GotoIfNot, modules) = look_at!(found, x.cond, modules)
look_at!(found::Outside, x::GlobalRef, modules) = look_at_global!(found, x.mod, x.name)

function look_at!(found::Outside, x::Expr, modules)
    x.head in (:meta, :inbounds, :boundscheck, :loopinfo, :line) && return nothing
    x.head === :(=) && first(x.args) isa GlobalRef && assigned!(found, first(x.args).mod, first(x.args).name)
    parts = Any[look_at!(found, part, modules) for part in x.args]
    x.head === :call && length(x.args) >= 3 && x.args[3] isa QuoteNode && x.args[3].value isa Symbol || return nothing
    owner, name = x.args[2] isa Module ? x.args[2] : parts[2], x.args[3].value
    owner isa Module || return nothing
    parts[1] === setglobal! && assigned!(found, owner, name)     # as Julia 1.12 assigns
    return length(x.args) == 3 && parts[2] === owner ? look_at_global!(found, owner, name) : nothing    # Module.name
end

function assigned!(found::Outside, owner::Module, name::Symbol)
    found.writes = true
    push!(found.roots, Pair{Any,String}(Binding(owner, name), "$owner.$name"))
end

# Functions of Base and the standard libraries that write, and leave arrays the sizes that they had.
const KEEPS_SIZES = Set{Symbol}((
    :setindex!, :materialize!, :broadcast!, :map!, :copyto!, :unsafe_copyto!, :fill!, :reverse!, :sort!, :partialsort!, :sortperm!, :permute!,
    :invpermute!, :permutedims!, :circshift!, :replace!, :clamp!, :conj!, :transpose!, :adjoint!, :accumulate!, :cumsum!, :cumprod!, :sum!,
    :prod!, :maximum!, :minimum!, :mul!, :ldiv!, :rdiv!, :lmul!, :rmul!, :axpy!, :axpby!, :rotate!, :reflect!, :normalize!, :rand!, :randn!,
    :randexp!, :shuffle!, :seed!,
))

function look_at_global!(found::Outside, owner::Module, name::Symbol)
    x = isdefined(owner, name) ? getglobal(owner, name) : nothing
    note_name!(found, name, x)
    x === nothing && return nothing
    (x isa Module || x === setglobal!) && return x
    owned_by = owner_of(x)
    owned_by !== nothing && Base.moduleroot(owned_by) === SparseArrays && (found.sparse = true)
    x isa Type ? look_into!(found, x) : root!(found, x, "$owner.$name")
    is_itself = x === first(first(found.roots)) && !Base.issingletontype(typeof(x))     # a callable that names itself
    is_itself && !any(pair -> first(pair) === x, named(found)) && push!(found.roots, Pair{Any,String}(x, "$owner.$name"))
    return nothing
end
