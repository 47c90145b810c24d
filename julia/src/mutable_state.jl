# Writes of fields, captured variables and entries of dictionaries, whose cotangents Zygote keeps: entries of the log as well, so that
# no rule skips them because a result was not used.

"What carries no gradient, whoever keeps it."
const Weightless = Union{Integer,AbstractString,AbstractChar,Symbol,Type,Nothing,Missing}

field_or_nothing(x, f) = isdefined(x, f) ? getfield(x, f) : nothing

function ZygoteRules._pullback(cx::Context, ::typeof(setfield!), x, f, value)
    weightless = value isa Weightless && field_or_nothing(x, f) isa Weightless
    y, back = invoke(ZygoteRules._pullback, Tuple{AContext,typeof(setfield!),Any,Any,Any}, cx, setfield!, x, f, value)
    return y, weightless ? back : Logged(cx, back, advance!(cx), "a write of a field or a captured variable")
end

function ZygoteRules._pullback(cx::Context, ::typeof(setindex!), d::AbstractDict, value, key)
    weightless = value isa Weightless && get(d, key, nothing) isa Weightless
    y, back = invoke(ZygoteRules._pullback, Tuple{AContext,typeof(setindex!),AbstractDict,Any,Any}, cx, setindex!, d, value, key)
    return y, weightless ? back : Logged(cx, back, advance!(cx), "a write into a dictionary")
end

# `global x = value`, which Julia writes as `setglobal!` since 1.12: Zygote has a rule for its own name of it.
function ZygoteRules._pullback(cx::Context, ::typeof(Zygote.global_set), ref::GlobalRef, value)
    weightless = value isa Weightless && (!isdefined(ref.mod, ref.name) || getglobal(ref.mod, ref.name) isa Weightless)
    y, back = invoke(ZygoteRules._pullback, Tuple{AContext,typeof(Zygote.global_set),Any,Any}, cx, Zygote.global_set, ref, value)
    return y, weightless ? back : Logged(cx, back, advance!(cx), "a write of a global variable")
end

function ZygoteRules._pullback(cx::Context, ::typeof(setglobal!), owner::Module, name::Symbol, value)
    y, back = ZygoteRules._pullback(cx, Zygote.global_set, GlobalRef(owner, name), value)
    return y, function (ct)
        cts = back(ct)      # nothing where nobody read the global since
        return cts === nothing ? nothing : (nothing, nothing, nothing, last(cts))
    end
end

"A pullback that takes back an entry of the log."
struct Logged{C<:Context,F} <: Function
    context::C
    back::F
    position::Int
    what::String
end
function (logged::Logged)(ct)
    retreat!(logged.context, logged.position, logged.what)
    return logged.back(ct)
end

"""
The pullback of the constructor of a mutable struct, whose cotangent Zygote keeps by its identity, in `kept`. It is pulled also where
nothing else arrives; what arrives beside it, from a container that copied it, cannot be told from a second contribution.
"""
struct Constructed{T,F} <: Function
    back::F
    kept::Base.RefValue
end
Constructed{T}(back::F, kept) where {T,F} = Constructed{T,F}(back, kept)
function (constructed::Constructed{T})(Δ) where {T}
    kept = constructed.kept
    Δ isa Base.RefValue && return constructed.back(Δ)
    ct = Zygote.unthunk_tangent(Δ)
    (kept[] === nothing || all(isnothing, values(kept[]))) && return constructed.back(ct)
    no_cotangent(ct) || throw(MutationError("a mutable $T is held in an array, a dictionary or another struct, and its gradient \
        would be counted twice. Make it immutable, or keep its numbers in a MutationBridge.Buffer."))
    return constructed.back(kept)
end

for (new, fields) in ((Zygote.__new__, Vararg{Any}), (Zygote.__splatnew__, Any))
    @eval function ZygoteRules._pullback(cx::Context, ::typeof($new), ::Type{T}, args...) where {T}
        y, back = invoke(ZygoteRules._pullback, Tuple{AContext,typeof($new),Any,$fields}, cx, $new, T, args...)
        kept = ismutabletype(T) && fieldcount(T) > 0 ? Zygote.grad_mut(cx, y) : nothing
        return y, kept isa Base.RefValue ? Constructed{T}(back, kept) : back
    end
end
