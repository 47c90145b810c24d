# sum(f, xs), mean(f, xs), foldl, foldr, accumulate and their relatives: every call is pulled, from the last to the first.

using Statistics: mean

function sum_of_calls(cx, total::S, f::F, xs::AbstractArray, dims) where {S,F}
    start = cx.position
    calls = collect(Base.Generator(x -> differentiated(cx, f, x), xs))
    y = total(first, calls; dims)
    share = length(xs) ÷ length(y)
    y, Enclosing(Δ -> pull_sum(S, F, calls, xs, spread(total, Δ, share, size(calls), dims)), cx.position != start)
end

function pull_sum(::Type{S}, ::Type{F}, calls, xs, δs) where {S,F}
    df, dx = pull_calls(F, calls, (axes(xs),), δs)
    (nothing, df, dx === nothing ? nothing : Zygote._project(xs, dx))
end

"""The cotangent of each of the terms of a sum or mean, of shape `size`, whose cotangent is `Δ`."""
spread(total, Δ, share, size, dims) = Δ === nothing ? nothing : spread_over(total === mean ? Δ / share : Δ, size, dims)
spread_over(Δ, size, ::Colon) = fill(Δ, size)
spread_over(Δ, size, dims) = broadcast((δ, _) -> δ, Δ, zeros(Bool, size))

# Whether ChainRules has the derivative of `f` without running it: then nothing else runs either.
has_scalar_rule(::Type{typeof(abs2)}, ::Type{<:Number}) = true  # it has a rule for sum(abs2, xs)
@generated function has_scalar_rule(::Type{F}, ::Type{T}) where {F,T}
    Base.issingletontype(F) && of_julia(F) && T <: Number && isconcretetype(T) && hasmethod(
        ChainRulesCore.derivatives_given_output, Tuple{Any,F,T})
end

for total in (:sum, :mean)
    @eval function Zygote.chain_rrule(config::ZygoteRuleConfig{<:Context}, ::typeof($total), f::F, xs::AbstractArray{T}) where {F,T}
        has_scalar_rule(F, T) || return sum_of_calls(config.context, $total, f, xs, :)
        y, back = rrule(config, $total, f, xs)
        y, Prompt(config.context, Zygote.ZBack(back))
    end

    @eval function Zygote.chain_rrule_kw(config::ZygoteRuleConfig{<:Context}, kwf, kwargs, ::typeof($total), f::F,
                                         xs::AbstractArray{T}) where {F,T}
        if keys(kwargs) == (:dims,) && !has_scalar_rule(F, T)
            y, back = sum_of_calls(config.context, $total, f, xs, kwargs.dims)
            return y, KeywordBack(back)
        end
        y, back = rrule(config, $total, f, xs; kwargs...)
        y, KeywordBack(Prompt(config.context, Zygote.ZBack(back)))
    end
end

# The default of a keyword that was not given.
struct NoInit end

"""
    fold_calls(cx, op, xs, init) -> calls

The `(value, pullback)` of each call of the left fold of `op` over `xs`.
"""
function fold_calls(cx, op::F, xs, init) where {F}
    step(so_far, x) = differentiated(cx, op, so_far[1], x)
    init isa NoInit ? accumulate(step, without_first(xs); init=(first(xs), nothing)) :
        accumulate(step, flat(xs); init=(init, nothing))
end

without_first(xs::Tuple) = Base.tail(xs)
without_first(xs::AbstractArray) = Iterators.drop(xs, 1)
flat(xs::Tuple) = xs
flat(xs::AbstractArray) = reshape(xs, :)

"""
    pull_fold(calls, dvalue, δs) -> (dop, dxs, dfirst)

Pull the calls of a fold from the last to the first. `dvalue` is the cotangent of the last value, `δs` those of each
value; `dfirst` is that of the value that the fold began with.
"""
function pull_fold(calls, dvalue, δs)
    step(later, (call, δ)) = cotangents_of_step(call[2](accum(later[2], δ)))
    steps = accumulate(step, pairwise(reverse(calls), δs === nothing ? nothing : reverse(δs)); init=(nothing, dvalue, nothing))
    isempty(steps) && return nothing, steps, dvalue
    reduce(accum, map(first, steps); init=nothing), reverse(map(last, steps)), last(steps)[2]
end

cotangents_of_step(::Nothing) = (nothing, nothing, nothing)
cotangents_of_step(cotangents) = cotangents
pairwise(calls::Tuple, ::Nothing) = map(call -> (call, nothing), calls)
pairwise(calls::Tuple, δs) = map(tuple, calls, δs)
pairwise(calls, ::Nothing) = [(call, nothing) for call in calls]
pairwise(calls, δs) = [(call, δ) for (call, δ) in zip(calls, δs)]

prepend(x, xs::Tuple) = (x, xs...)
prepend(x, xs::AbstractVector) = vcat([x], xs)

function pull_foldl(cx, op, xs, init)
    start = cx.position
    calls = fold_calls(cx, op, xs, init)
    y = isempty(calls) ? (init isa NoInit ? first(xs) : init) : last(calls)[1]
    function run(Δ)
        dop, dxs, dfirst = pull_fold(calls, Δ, nothing)
        init isa NoInit || return (nothing, dop, restore(dxs, Zygote._tryaxes(xs)), dfirst)
        (nothing, dop, restore(prepend(dfirst, dxs), Zygote._tryaxes(xs)), nothing)
    end
    y, Enclosing(run, cx.position != start)
end

function pull_accumulate(cx, op, xs, init)
    start = cx.position
    calls = fold_calls(cx, op, xs, init)
    values = map(first, calls)
    ys = init isa NoInit ? prepend(first(xs), values) : values
    function run(Δ)
        δs = Δ === nothing ? nothing : Δ isa Tuple ? Δ : vec(collect(Δ))
        init isa NoInit || return run_given(δs)
        dop, dxs, dfirst = pull_fold(calls, nothing, δs === nothing ? nothing : δs[2:end])
        dfirst = accum(dfirst, δs === nothing ? nothing : δs[1])
        (nothing, dop, restore(prepend(dfirst, dxs), Zygote._tryaxes(xs)), nothing)
    end
    function run_given(δs)
        dop, dxs, dfirst = pull_fold(calls, nothing, δs)
        (nothing, dop, restore(dxs, Zygote._tryaxes(xs)), dfirst)
    end
    xs isa Tuple ? ys : reshape(ys, size(xs)), Enclosing(run, cx.position != start)
end

# Rules of ChainRules drop the cotangent of `init`; these give it.
for (f, pull_f) in ((:foldl, :pull_foldl), (:accumulate, :pull_accumulate))
    @eval function Zygote.chain_rrule(config::ZygoteRuleConfig{<:Context}, ::typeof($f), op, xs::Union{AbstractArray,Tuple})
        y, back = $pull_f(config.context, op, xs, NoInit())
        y, Δ -> (d = back(Δ); d === nothing ? nothing : d[1:3])
    end

    @eval function Zygote.chain_rrule_kw(config::ZygoteRuleConfig{<:Context}, kwf, kwargs, ::typeof($f), op,
                                         xs::Union{AbstractArray,Tuple})
        Set(keys(kwargs)) ⊆ Set((:init, :dims)) || throw(ArgumentError("$($f): keywords $(keys(kwargs)) are not known"))
        get(kwargs, :dims, 1) == 1 && (ndims_of(xs) == 1 || !haskey(kwargs, :dims)) ||
            throw(ArgumentError("$($f) with dims is differentiated for vectors only"))
        y, back = $pull_f(config.context, op, xs, get(kwargs, :init, NoInit()))
        y, Δ -> (d = back(Δ); d === nothing ? nothing : with_keywords(d[1:3], keyword_cotangents(kwargs, d[4])))
    end
end

ndims_of(::Tuple) = 1
ndims_of(xs::AbstractArray) = ndims(xs)
keyword_cotangents(kwargs, dinit) = haskey(kwargs, :init) ? merge(map(_ -> nothing, kwargs), (init=dinit,)) : nothing
