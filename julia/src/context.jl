# One differentiation: Zygote's transform with a context of ours, which owns the log and its roots.

"""
    Context{W}

One differentiation. `position` is the length of the log: every write and every birth of a Buffer advances it
on the way forward, and its pullback, which checks it, takes it back. `roots` are the roots that the log touches.
`W` is the `ForwardDiff.Dual` type that Buffers are widened to, or `Union{}`.
"""
mutable struct Context{W} <: AContext
    cache::Union{Nothing,IdDict{Any,Any}}
    position::Int
    const redo::Vector{Any}     # closures of rules that keep their own memory, run before a second sweep
    const roots::Vector{Any}
    writes_arrays::Bool         # a rule wrote a plain array: lazy cotangents are computed before it is undone
    const began::Int            # what the clock of writes outside of differentiation showed
    dropped::Union{Nothing,String}      # the call that left elements out of a sparse array
end

Context() = Context{Union{}}()
Context{W}() where {W} = Context{W}(nothing, 0, Any[], Any[], false, UNTRACKED[], nothing)

# Counts the writes to Buffers where nothing is differentiated, in all of them.
const UNTRACKED = Ref(0)

# What Zygote asks of a context. Specialised on our own type.
function Zygote.cache(cx::Context)
    cache = cx.cache
    return cache === nothing ? (cx.cache = IdDict{Any,Any}()) : cache
end
Zygote.accum_param(::Context, _, ct) = ct
Zygote.grad_mut(cx::Context, x) = get!(() -> Zygote.grad_mut(x), Zygote.cache(cx), x)
Zygote.grad_mut(cx::Context, b::Zygote.Buffer, ::Type=Union{}) =
    get!(() -> fill!(similar(b.data, Any), nothing), Zygote.cache(cx), b)
Zygote.grad_mut(cx::Context, b::Zygote.Buffer{T}, ::Type{S}=Union{}) where {T<:Number,S<:Number} =
    get!(() -> fill!(similar(b.data, float(promote_type(T, S))), 0), Zygote.cache(cx), b)
function Zygote.accum_global(cx::Context, ref, ct)
    (ct === nothing || isconst(ref.mod, ref.name)) && return nothing
    cache = Zygote.cache(cx)
    cache[ref] = Zygote.accum(get(cache, ref, nothing), ct)
    return nothing
end

"""
    touch!(cx, r::Root)

Make `cx` the owner of a root that was born outside of it. Under a context that is not ours nobody owns a root.
"""
touch!(cx, r::Root) = nothing
@inline touch!(cx::Context, r::Root) = r.owner === cx ? nothing : adopt!(cx, r)

@noinline function adopt!(cx::Context, r::Root)
    r.owner, r.guest, r.shadow = cx, true, nothing
    forget!(r)
    push!(cx.roots, r)
    return nothing
end

"""Note the birth of a root in `cx`: an entry of the log, which its constructor's pullback takes back."""
born!(cx, r::Root) = 0
function born!(cx::Context, r::Root)
    r.owner, r.guest = cx, false
    push!(cx.roots, r)
    return advance!(cx)
end

advance!(cx) = 0
@inline advance!(cx::Context) = cx.position += 1

retreat!(cx, position, what) = nothing
@inline function retreat!(cx::Context, position::Int, what)
    cx.position == position || skipped(what, cx.position - position)
    cx.position = position - 1
    return nothing
end

@noinline skipped(what, n) = throw(LostGradient("$what: the log is $(abs(n)) entr$(abs(n) == 1 ? "y" : "ies") \
    $(n > 0 ? "ahead of" : "behind") this pullback: pullbacks of writes that came $(n > 0 ? "after" : "before") it \
    were $(n > 0 ? "skipped" : "run too early"). Do not write Buffers in catch blocks, in sort(by = ...), in \
    code that is excluded from differentiation, or in functions whose rule runs pullbacks in another order; write them in a plain loop."))

# Ctrl-C: a host (Python) may set a C function that says whether to stop.
const POLL = Ref{Ptr{Cvoid}}(C_NULL)

"""
    set_poll!(f::UInt)

Let every write, undo and call boundary ask the C function `int f(void)` at this address (0: none) whether to stop.
"""
set_poll!(f::Integer) = (POLL[] = Ptr{Cvoid}(UInt(f)); nothing)

"""Throw `InterruptException` if the host asks to stop."""
@inline poll() = POLL[] == C_NULL ? nothing : ask_host()
@noinline ask_host() = ccall(POLL[], Cint, ()) == 0 ? nothing : throw(InterruptException())
