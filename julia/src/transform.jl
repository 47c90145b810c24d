# Zygote's transform with typed stacks: what a loop keeps for the way back lies in vectors of one concrete type.
#
# Zygote keeps the pullbacks of a loop in a `Vector{Any}` for each call, and calls them by dynamic dispatch. Here each block of a
# loop pushes one row, the tuple of its pullbacks. Where all rows of a block are of one type, the type of the whole
# pullback says so, and Julia compiles the way back, whose code stays Zygote's, without dispatch and without allocations.
#
# The way back is a type of this package, not Zygote's `Pullback`: generated code is made in the world where the generated function was
# defined, and to Zygote's, what this package compiles ahead (precompile.jl) is of a later world. Each process would compile it again.

using Zygote: IRTools
using .IRTools: IR, Variable, blocks, branches, isreturn, prewalk!, xcall

"""
    differentiated(cx, f, args...) -> (value, pullback)

As `Zygote._pullback`, with typed stacks where the transform reads `f` itself; what has a rule goes to its rule.
"""
function differentiated end

const TRANSFORM = Tuple{typeof(ZygoteRules._pullback),AContext,Any,Vararg{Any}}

"""What the transform's code of `f` stands on, or `nothing` if a rule answers for `f`: a rule that is added later makes the code anew."""
function transformed_edges(world, cx, f, args)
    match = Base._which(Tuple{typeof(ZygoteRules._pullback),cx,f,args...}; world, raise = false)
    (match === nothing || match.method.sig != TRANSFORM || Zygote.ignore_sig(Tuple{f,args...})) && return nothing
    of_rule = Zygote.is_kwfunc(f, args...) ? args[2:end] : (f, args...)
    has_rule, edge = Zygote.has_chain_rrule(Tuple{Zygote.ZygoteRuleConfig{cx},of_rule...}, world)
    (has_rule || edge === nothing) && return nothing
    fallback = Base._which(Tuple{typeof(rrule),of_rule...}; world, raise = false)
    return Core.MethodInstance[map(Core.Compiler.specialize_method, filter(!isnothing, [match, fallback])); edge]
end

"""
Zygote's reading of `f`, with calls in the `places` where it keeps globals (by default where it does), or `nothing` where it has
none: then Zygote says why.
"""
function zygotes_adjoint(T, world, places = nothing)
    meta = IRTools.meta(T; world)
    meta === nothing && return nothing
    places === nothing && (places = kept_globals(meta.code, world))
    keep_globals!(meta.code, places)
    arity = Zygote.varargs(meta.method, length(T.parameters))
    try
        return meta, Zygote.Adjoint(IR(meta); varargs = arity, normalise = false), places
    catch
        return nothing      # the same call of Zygote's own fails with this error, and reports it
    end
end

"""
Raise what running `f` raises if it names a global that is not defined yet. Zygote's code for the way there and for the way back would be
made at different times, and fit no more once a name has become a constant: a gradient of zeros. Since Julia 1.12 both are made in one world.
"""
function check_defined(ir::IR)
    for (_, statement) in ir
        IRTools.prewalk(statement.expr) do x
            x isa GlobalRef && is_missing(x) && throw(UndefVarError(x.name))
            x
        end
    end
end

# Macros make names with `#`, which nobody defines later: `@spawn` asks for one in a branch that does not run.
is_missing(x::GlobalRef) = !isdefined(x.mod, x.name) && !occursin('#', String(x.name)) && Base.moduleroot(x.mod) ∉ (Base, Core)

function forward_code(world, cx, f, args)
    edges = transformed_edges(world, cx, f, args)
    edges === nothing && return nothing
    T = Tuple{f,args...}
    read = zygotes_adjoint(T, world)
    read === nothing && return nothing
    meta, adjoint, places = read
    VERSION < v"1.12-" && check_defined(adjoint.primal)
    Zygote.argnames!(meta, Symbol("#self#"), :cx, :f, :args)
    forward = Zygote.varargs!(meta, with_stacks!(adjoint, T, WayBack{T,Tuple(places)}), 3)
    forward = Zygote.slots!(Zygote.pis!(Zygote.inlineable!(forward)))
    code = Zygote.update!(meta.code, forward)
    foreach(edge -> Zygote.edge!(meta, edge), edges)    # after `update!`, which forgets those that are there
    return code
end

has_loop(ir::IR) = any(b -> any(br -> !isreturn(br) && br.block <= b.id, branches(b)), blocks(ir))

"""
The forward code: calls are differentiated by `differentiated`, rows are kept if there is a loop, and what is kept for the way back is
a `way_back`, a type of pullbacks.
"""
function with_stacks!(adjoint, T, way_back)
    forward = has_loop(adjoint.primal) ? typed_stacks!(adjoint, T, way_back) : first(Zygote.forward_stacks!(adjoint, T))
    zygotes, ours = GlobalRef(Zygote, :_pullback), GlobalRef(@__MODULE__, :differentiated)
    prewalk!(x -> x isa GlobalRef && x == zygotes ? ours : x, forward)
    return prewalk!(x -> x === Zygote.Pullback{T} ? way_back : x === Zygote.Pullback{T,Any} ? way_back{Any} : x, forward)
end

"""
    WayBack{T}(parts)

The pullback of a function with the signature `T`: what Zygote's `Pullback` is. The globals that the function reads at `places` have values
that it keeps. That they are no constants is known from the way there, and could be answered otherwise later.
"""
struct WayBack{T,places,P}
    t::P    # `Zygote.stacks!` asks for this name
end
WayBack{T,places}(parts::P) where {T,places,P} = WayBack{T,places,P}(parts)
Base.show(io::IO, ::WayBack{T}) where {T} = print(io, "∂(", Zygote.funcname(first(T.parameters)), ")")

const ROW = 24     # pullbacks in one row, at most: the compiler's time grows with the length of tuples

# As Zygote.forward_stacks!, which says what the way back reads, and in which order.
function typed_stacks!(adjoint, T, way_back)
    here = @__MODULE__
    _, kept = Zygote.forward_stacks!(Zygote.Adjoint(copy(adjoint.primal), adjoint.adjoint), T)
    forward = adjoint.primal::IR
    places = Dict{Any,Any}((block, alpha) => Variable(alpha) for (block, alpha, once) in kept if once)
    slots = IRTools.Slot[]
    for b in blocks(forward), alphas in Iterators.partition([alpha for (block, alpha, once) in kept if block == b.id && !once], ROW)
        slot = IRTools.Slot(Symbol(:rows_, length(slots) + 1))
        row = push!(b, Zygote.xtuple(map(Variable, alphas)...))
        push!(b, :($slot = $(xcall(here, :pushed, slot, row))))
        push!(slots, slot)
        for (k, alpha) in enumerate(alphas)
            places[(b.id, alpha)] = xcall(here, :Column, Val(k), slot)
        end
    end
    foreach(slot -> pushfirst!(forward, Expr(:(=), slot, nothing)), slots)
    parts = map(kept) do (block, alpha, _)
        place = places[(block, alpha)]
        place isa Variable ? place : push!(forward, place)
    end
    pull = push!(forward, xcall(here, :sealed, way_back, push!(forward, Zygote.xtuple(parts...))))
    last_branch = branches(blocks(forward)[end])[end]
    last_branch.args[1] = push!(forward, Zygote.xtuple(last_branch.args[1], pull))
    return forward
end

"""Rows with one more: of one concrete type as long as all are of it."""
@inline pushed(::Nothing, row::T) where {T<:Tuple} = T[row]
@inline pushed(rows::Vector{T}, row::T) where {T<:Tuple} = push!(rows, row)
@inline pushed(rows::Vector{Any}, row::Tuple) = push!(rows, row)
@noinline pushed(rows::Vector, row::Tuple) = push!(Vector{Any}(rows), row)

"""The `K`th entries of rows, which the way back takes from the last to the first."""
struct Column{K,R<:Vector}
    rows::R
end
@inline Column(::Val{K}, rows::R) where {K,R<:Vector} = Column{K,R}(rows)
@inline Column(::Val{K}, ::Nothing) where {K} = Column{K,Vector{Any}}(Any[])

mutable struct Cursor{K,R<:Vector}
    const rows::R
    left::Int
end
@inline Zygote.Stack(column::Column{K,R}) where {K,R} = Cursor{K,R}(column.rows, length(column.rows))
@inline function Base.pop!(cursor::Cursor{K}) where {K}
    row = cursor.rows[cursor.left]
    cursor.left -= 1
    return getfield(row, K)
end

"""The pullback of a whole function. Its type tells its parts' types only if all rows are typed, so that there are two at most for each kind of loop."""
@inline sealed(::Type{W}, parts::P) where {W,P} = all_typed(parts) ? W{P}(parts) : W{Any}(parts)

is_typed(part) = true
is_typed(::Column{K,Vector{Any}}) where {K} = false
@inline all_typed(parts::Tuple) = is_typed(first(parts)) && all_typed(Base.tail(parts))
all_typed(::Tuple{}) = true

function forward_generator(world::UInt, source, self, cx, f, args)
    code = forward_code(world, cx, f, args)
    if code === nothing
        stub = Core.GeneratedFunctionStub(identity, Core.svec(:self, :cx, :f, :args), Core.svec())
        return stub(world, source, Expr(:block, Expr(:meta, :inline), :($(GlobalRef(@__MODULE__, :noted))(cx, f, args, ZygoteRules._pullback(cx, f, args...)))))
    end
    if hasfield(Core.CodeInfo, :nargs)     # Julia 1.12
        code.nargs, code.isva = 4, true
    end
    return code
end

@eval function differentiated(cx::Context, f, args...)
    $(Expr(:meta, :generated, forward_generator))
    $(Expr(:meta, :generated_only))
end

# As Zygote's, of the code that `keep_globals!` has rewritten. It is compiled once, not for each type of pullbacks.
function backward_generator(world::UInt, source, @nospecialize(self), Δ)
    T, places = Base.unwrap_unionall(self).parameters
    meta, adjoint, _ = zygotes_adjoint(T, world, places)
    _, backward = Zygote.stacks!(adjoint, T)
    Zygote.argnames!(meta, Symbol("#self#"), :Δ)
    code = Zygote.update!(meta.code, Zygote.slots!(Zygote.inlineable!(backward)))
    if hasfield(Core.CodeInfo, :nargs)     # Julia 1.12
        code.nargs, code.isva = 2, false
    end
    return code
end

@eval function (pull::WayBack)(Δ)
    $(Expr(:meta, :generated, backward_generator))
    $(Expr(:meta, :generated_only))
end
