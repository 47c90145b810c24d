# What cannot be right is refused by name: writes to plain arrays, cotangents that would be lost in a Buffer.

"""
Throw unless `ct`, which arrived at a Buffer itself, is no cotangent: gradients travel through the shadow, and
one that does not was made by a function that read the Buffer without a rule.
"""
refuse_cotangent(ct, what) = no_cotangent(ct) ? nothing : throw(LostGradient(
    "$what: a cotangent of type $(typeof(ct)) arrived at the Buffer itself. A function that has no rule for \
    Buffers took it apart; give that function copy(b)."))

no_cotangent(::Union{Nothing,AbstractZero}) = true
no_cotangent(ct::Union{Tuple,NamedTuple}) = all(no_cotangent, ct)
no_cotangent(ct::AbstractArray{T}) where {T} = T === Nothing || (!(T <: Number) && all(no_cotangent, ct))
no_cotangent(ct::Base.RefValue) = no_cotangent(ct[])
no_cotangent(ct) = false

# Zygote adds all cotangents of an array at the end, so before and after a write cannot be told apart.
@noinline refuse_plain_array(f, x) = throw(MutationError(
    "$f mutates a plain $(typeof(x)) under differentiation, and its gradient would be wrong: the cotangents from before \
    and from after the write cannot be told apart. Make it a MutationBridge.Buffer: b = Buffer(x); $f on b; copy(b) gives an Array."))

# A function, and the types of its arguments up to the one that it writes; `Vararg{Any}` where more may follow.
const PLAIN_ARRAY_WRITERS = (
    map(f -> (f, (AbstractArray, Vararg{Any})), (
        setindex!, copyto!, copy!, fill!, Base.materialize!, reverse!, sort!, permute!, invpermute!, cumsum!, cumprod!, sum!,
        prod!, permutedims!, circshift!, conj!, mul!, rmul!, rdiv!, normalize!, transpose!, adjoint!, triu!, tril!,
    ))...,
    map(f -> (f, (AbstractVector, Vararg{Any})), (
        push!, pop!, pushfirst!, popfirst!, append!, prepend!, insert!, deleteat!, resize!, empty!, splice!, keepat!,
    ))...,
    map(f -> (f, (Any, AbstractArray, Vararg{Any})), (map!, broadcast!, accumulate!))...,
    (lmul!, (Any, AbstractArray)), (ldiv!, (Any, AbstractArray)), (ldiv!, (AbstractArray, Any, Any)),
    (axpy!, (Any, Any, AbstractArray)), (axpby!, (Any, Any, Any, AbstractArray)),
)

spelled(f) = f === Base.materialize! ? ".=" : String(nameof(f))

for (f, types) in PLAIN_ARRAY_WRITERS
    names = [Symbol(:x, k) for k in eachindex(types)]
    typed = [:($name::$type) for (name, type) in zip(names, types)]
    written = names[findfirst(type -> type <: AbstractArray, types)]
    @eval begin
        ZygoteRules._pullback(cx::Context, ::typeof($f), $(typed...)) = refuse_plain_array($(spelled(f)), $written)
        ZygoteRules._pullback(cx::Context, ::typeof(Core.kwcall), keywords, ::typeof($f), $(typed...)) =
            refuse_plain_array($(spelled(f)), $written)
    end
end

# Zygote has rules for a list of tasks.
ZygoteRules._pullback(cx::Context, ::typeof(push!), tasks::Vector{Any}, t::Task) = refuse_plain_array("push!", tasks)
ZygoteRules._pullback(cx::Context, ::typeof(Core.kwcall), keywords, ::typeof(push!), tasks::Vector{Any}, t::Task) =
    refuse_plain_array("push!", tasks)

# Constants that Base makes by writing.
for f in (trues, falses)
    @eval ZygoteRules._pullback(cx::Context, ::typeof($f), dims...) = $f(dims...), _ -> nothing
end
