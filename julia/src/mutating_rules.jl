# Rules of functions that write into their arguments: authors say what is written and how cotangents go back.

using ChainRulesCore: AbstractThunk, AbstractZero, ProjectTo, Thunk, unthunk, @non_differentiable
using LinearAlgebra: BLAS
using Random: AbstractRNG
using Zygote: accum, wrap_chainrules_output

"""
    MutatingRule

What the author of a mutating rule states: the function, its parameters, which of them it writes, and the pull.
[`@mutating_rule`](@ref) makes it, `mutating_rule(f, args...)` finds it. Saving, undoing, aliasing and order are the log's.

`keywords` are the keyword arguments that the pull names (`nothing`: ask the function). `aliases` says that an
argument that is read may be the very array that is written.
"""
struct MutatingRule{F,P,W,K}
    f::F
    parameters::Tuple{Vararg{Symbol}}
    writes::NTuple{W,Int}
    pull::P
    keywords::K
    aliases::Bool
end

"""
    mutating_rule(f, args...) -> MutatingRule or nothing

The rule that a call of `f` with these arguments has.
"""
mutating_rule(f, args...) = nothing

Base.nameof(rule::MutatingRule) = rule.f isa Function ? nameof(rule.f) : nameof(typeof(rule.f))
is_identity(rule::MutatingRule) = rule.pull === identity
parameter(rule::MutatingRule, k) =
    k <= length(rule.parameters) ? rule.parameters[k] : Symbol(last(rule.parameters), " number ", k)
Base.show(io::IO, rule::MutatingRule) =
    print(io, "mutating rule of ", describe(rule), ", which writes ", join((parameter(rule, k) for k in rule.writes), ", "))
describe(rule::MutatingRule) = string(nameof(rule), "(", join(rule.parameters, ", "), ")")

value_of(x) = x
value_of(b::Buffer) = value(b)
version_of(x) = nothing
version_of(b::Buffer) = read_version(b)
own!(cx, x) = nothing
own!(cx, b::Buffer) = touch!(cx, b.r)

"""
    mutating_pullback(cx, rule, args, keywords) -> (result, pullback)

Run `rule.f` on the arguments' memory as one entry of the log. The pullback takes the cotangents of what was written,
puts the old contents back and only then asks the rule's pull; it runs whether or not anybody used the result.
It returns the cotangents of `args` and those of the keyword arguments.
"""
function mutating_pullback(cx::AContext, rule::MutatingRule, args::Tuple, keywords)
    what = describe(rule)
    values = map(value_of, args)
    foreach(arg -> own!(cx, arg), args)
    targets = map(k -> target(cx, rule, args[k], k), rule.writes)
    refuse_aliases(rule, values)
    versions = map(version_of, args)
    result = Ref{Any}()
    entries = record_all!(cx, targets, () -> (result[] = rule.f(values...; keywords...)), what)
    handed, position = handed_back(rule, result[], values, args)
    function mutating_call_pullback(Δ)
        after = wants_after(rule) ? alone(map(b -> copy(value(b)), targets)) : nothing
        cts = rewind_all!(cx, entries)
        foreach((b, v) -> v === nothing || check_version(b, v, what), args, versions)
        pulled = all(isnothing, cts) ? map(_ -> nothing, args) : pull_back(rule, cts, args, values, keywords, after)
        returned = position == 0 ? nothing : unthunk(Δ)
        cotangents = ntuple(length(args)) do k
            hand_over(args[k], k == position ? accum(pulled[k], returned) : pulled[k])
        end
        return cotangents, length(pulled) > length(args) ? last(pulled) : nothing
    end
    return handed, mutating_call_pullback
end

alone(x::Tuple) = length(x) == 1 ? only(x) : x

hand_over(b::Buffer, ct) = (accumulate!(b, ct); nothing)
hand_over(x, ct) = wrap_chainrules_output(ct)

# The last record runs the function; those before it only save.
record_all!(cx, targets::Tuple{Any}, run!, what) = (record!(cx, targets[1], run!, what),)
function record_all!(cx, targets::Tuple, run!, what)
    entry = record!(cx, targets[1], () -> nothing, what)
    return (entry, record_all!(cx, Base.tail(targets), run!, what)...)
end

rewind_all!(cx, ::Tuple{}) = ()
function rewind_all!(cx, entries::Tuple)
    later = rewind_all!(cx, Base.tail(entries))
    return (rewind!(cx, first(entries)), later...)
end

# --- what a call may write

"""The Buffer whose memory a written argument is: itself, or a stand-in for a plain array that may be written."""
target(cx, rule::MutatingRule, b::Buffer, k) = b
target(cx, rule::MutatingRule, x, k) = throw(MutationError(
    "$(nameof(rule)) writes its argument $(parameter(rule, k)), which is a $(typeof(x)) here; pass a Buffer."))
function target(cx, rule::MutatingRule, x::AbstractArray, k)
    is_identity(rule) || !carries_gradient(eltype(x)) || refuse_array(rule, x, k)
    (is_stand_in(cx, x) || any(r -> Base.mightalias(r.data, x), roots_of(cx))) && throw(MutationError(
        "$(nameof(rule)) writes its argument $(parameter(rule, k)), which is the memory of a Buffer; pass the Buffer itself."))
    note_plain_write!(cx)
    return Buffer(x, Root(similar(Array{eltype(x)}, map(zero, size(x)))))
end

# Cotangents that are computed late must not see memory that was rewound meanwhile.
note_plain_write!(cx) = nothing
note_plain_write!(cx::Context) = (cx.writes_arrays = true; nothing)

roots_of(cx) = ()
roots_of(cx::Context) = cx.roots

@noinline function refuse_array(rule, x, k)
    call = join((j == k ? :b : name for (j, name) in enumerate(rule.parameters)), ", ")
    throw(MutationError("$(nameof(rule)) writes its argument $(parameter(rule, k)), a plain $(typeof(x)). Zygote adds all \
        cotangents of an array at the end, so those from before and after the write cannot be told apart. Use a Buffer:\n
            b = Buffer($(parameter(rule, k)))
            $(nameof(rule))($call)\n
        Only a rule with `pull = identity` may write a plain array."))
end

carries_gradient(::Type{<:Union{Integer,AbstractChar,AbstractString,Symbol,Nothing}}) = false
carries_gradient(::Type) = true

function refuse_aliases(rule::MutatingRule, values::Tuple)
    for k in rule.writes, j in eachindex(values)
        (j == k || !overlap(values[k], values[j])) && continue
        rule.aliases && !(j in rule.writes) && same_memory(values[k], values[j]) && continue
        verb = j in rule.writes ? "writes" : "reads"
        throw(MutationError("$(nameof(rule)) writes its argument $(parameter(rule, k)) and $verb its argument \
            $(parameter(rule, j)), which share memory. Its rule is for separate arrays: pass copy($(parameter(rule, j)))."))
    end
end

overlap(x, y) = false
overlap(x::AbstractArray, y::AbstractArray) = !isempty(x) && Base.mightalias(x, y)
same_memory(x, y) = x === y || (x isa StridedArray && y isa StridedArray && pointer(x) == pointer(y) &&
    eltype(x) == eltype(y) && size(x) == size(y) && strides(x) == strides(y))

"""The result as the program sees it (an argument for that argument's memory), and the position of the argument or 0."""
function handed_back(rule::MutatingRule, result, values::Tuple, args::Tuple)
    for k in eachindex(values)
        result isa AbstractArray && result === values[k] && return args[k], k
    end
    is_harmless(result) && return result, 0
    if result isa Tuple
        positions = map(part -> findfirst(v -> v === part, values), result)
        all(k -> k !== nothing && args[k] isa Buffer, positions) && return map(k -> args[k], positions), 0
    end
    throw(MutationError("$(nameof(rule)) returned a $(typeof(result)) that is none of its arguments; a gradient through \
        it would be lost. Return nothing or an argument, and compute the rest in a function of its own."))
end

is_harmless(::Union{Nothing,Missing,Integer,Symbol,AbstractString,AbstractChar,Type}) = true
is_harmless(x::Tuple) = all(is_harmless, x)
is_harmless(::AbstractArray{T}) where {T} = !carries_gradient(T)
is_harmless(x) = false

# --- the pull

function pull_keywords(rule::MutatingRule)
    rule.keywords === nothing || return rule.keywords
    return Tuple(unique!(reduce(vcat, (Base.kwarg_decl(m) for m in methods(rule.pull)); init = Symbol[])))
end

takes_all(names) = any(name -> endswith(String(name), "..."), names)
wants_after(rule::MutatingRule) = !is_identity(rule) && :after in pull_keywords(rule)

"""Cotangents of all arguments from before the call, fit to them, and those of the keyword arguments if the pull gives any."""
function pull_back(rule::MutatingRule, cts::Tuple, args::Tuple, values::Tuple, keywords, after)
    is_identity(rule) && return ntuple(k -> k in rule.writes ? cts[findfirst(==(k), rule.writes)] : nothing, length(args))
    raw = raw_cotangents(rule, cts, values, keywords, after)
    fit = ntuple(k -> fitted(rule, args[k], raw[k], k), length(args))
    return length(raw) > length(args) ? (fit..., last(raw)) : fit
end

function raw_cotangents(rule::MutatingRule, cts::Tuple, values::Tuple, keywords, after)
    filled = map(cts, rule.writes) do ct, k
        ct === nothing && carries_gradient(eltype(values[k])) ? zeros(float(eltype(values[k])), size(values[k])) : ct
    end
    names = pull_keywords(rule)
    given = takes_all(names) ? (; keywords...) : (; (name => v for (name, v) in pairs(keywords) if name in names)...)
    raw = rule.pull(alone(filled), values...; given..., (:after in names ? (; after) : (;))...)
    raw isa Tuple && (length(raw) == length(values) || length(raw) == length(values) + 1 && last(raw) isa NamedTuple) && return raw
    raw === nothing && return map(_ -> nothing, values)
    raw isa Tuple || length(rule.writes) > 1 || return ntuple(k -> k in rule.writes ? raw : nothing, length(values))
    throw(MutationError("the pull of $(nameof(rule)) returned $(raw isa Tuple ? length(raw) : 1) cotangents for \
        $(length(values)) arguments ($(join(rule.parameters, ", "))). Return a tuple with one for each argument, `nothing` \
        where there is none; those of what is written are the ones from before the call."))
end

fitted(rule, arg, ct, k) = ct isa AbstractZero ? nothing : ct
function fitted(rule, arg::Union{Number,AbstractArray{<:Number},Buffer}, ct, k)
    (ct === nothing || ct isa AbstractZero) && return nothing
    ct = unthunk(ct)
    ct isa Union{Number,AbstractArray} && size(ct) != size(arg) && throw(MutationError(
        "the pull of $(nameof(rule)) returned a cotangent of size $(size(ct)) for $(parameter(rule, k)), which has size \
        $(size(arg)). Return one of the argument's size."))
    arg isa Buffer && return ct
    ct = ProjectTo(arg)(ct)
    return ct isa AbstractZero ? nothing : ct
end

"""
Let `f`, a function of another package, refuse a plain array as its `k`th argument, which it writes, in our contexts.
`leads` is the type of the arguments before it.
"""
function refuse_plain!(f, k, leads = Any)
    before = [:($(Symbol(:x, j))::$leads) for j in 1:k-1]
    for leading in ((), (:(::typeof(Core.kwcall)), :keywords))
        @eval ZygoteRules._pullback(cx::Context, $(leading...), ::typeof($f), $(before...), x::AbstractArray, rest...) =
            refuse_plain_array($(String(nameof(f))), x)
    end
end

# --- calls outside of a gradient

"""Run `f` on the arguments' memory without a log; a pullback that comes later finds that the Buffer has changed."""
function call_on_memory(f, rule::MutatingRule, args::Tuple, keywords)
    values = map(value_of, args)
    refuse_aliases(rule, values)
    foreach(k -> args[k] isa Buffer && untracked!(args[k]), rule.writes)
    return first(handed_back(rule, f(values...; keywords...), values, args))
end

include("rules/declaring.jl")
