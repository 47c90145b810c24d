# Rules of ChainRules under our context: a rule that called back into differentiation runs also on no cotangent.

"""
    Enclosing(run, grew)

The pullback of a call inside which other calls were differentiated. `run(Δ)` pulls them, `Δ` may be `nothing`;
with nothing to pull it runs only if the log `grew` during the call.
"""
struct Enclosing{F} <: Function
    run::F
    grew::Bool
end
(e::Enclosing)(Δ) = e.run(unthunk_tangent(Δ))
(e::Enclosing)(::Union{Nothing,AbstractZero}) = e.grew ? e.run(nothing) : nothing

"""
    RuleBack(back, grew)

A pullback of ChainRules in Zygote's convention, where `nothing` stands for every zero.
"""
struct RuleBack{F} <: Function
    back::F
    grew::Bool
end
@inline (r::RuleBack)(Δ) = Zygote.wrap_chainrules_output(r.back(Zygote.wrap_chainrules_input(Δ)))
@inline (r::RuleBack)(::Nothing) = r.grew ? Zygote.wrap_chainrules_output(r.back(ZeroTangent())) : nothing

"""
    Prompt(context, back)

The pullback of a rule that computes its lazy cotangents at once if plain arrays are rewound: later, the arrays that
they hold would have their old contents.
"""
struct Prompt{C<:Context,F} <: Function
    context::C
    back::F
end
@inline function (p::Prompt)(Δ)
    cotangents = p.back(Δ)
    return p.context.writes_arrays ? Zygote.unthunk_tangent(cotangents) : cotangents
end

# A rule of ChainRules cannot say that it writes an argument: Zygote would add the cotangents from before and after.
@generated function writes_first_argument(::Type{F}, ::Type{A}) where {F,A}
    Base.issingletontype(F) && endswith(String(nameof(F.instance)), '!') && fieldcount(A) > 0 &&
        fieldtype(A, 1) <: AbstractArray && !(eltype(fieldtype(A, 1)) <: Integer)
end

@inline function refuse_mutating_rule(f::F, args...) where {F}
    writes_first_argument(F, typeof(args)) && throw(MutationError(string(nameof(f), " has a rule of ChainRules, which cannot tell ",
        "the gradient from before its write from that after it. Call ", nameof(f), " with a MutationBridge.Buffer, or declare ",
        "a @mutating_rule for it.")))
end

@inline function Zygote.chain_rrule(config::ZygoteRuleConfig{<:Context}, f, args...)
    refuse_mutating_rule(f, args...)
    if runs_no_user_code(f, args...)
        y, back = rrule(config, f, args...)
        return y, Prompt(config.context, Zygote.ZBack(back))
    end
    start = config.context.position
    y, back = rrule(config, f, args...)
    y, Prompt(config.context, RuleBack(back, config.context.position != start))
end

@inline function Zygote.chain_rrule_kw(config::ZygoteRuleConfig{<:Context}, kwf, kwargs, f, args...)
    refuse_mutating_rule(f, args...)
    start = config.context.position
    y, back = rrule(config, f, args...; kwargs...)
    y, KeywordBack(Prompt(config.context, RuleBack(back, config.context.position != start)))
end

"""
    KeywordBack(back)

The pullback of a call with keywords: `back`'s answer, preceded by nothing for the keywords and for their sorter.
"""
struct KeywordBack{F} <: Function
    back::F
end
@inline (k::KeywordBack)(Δ) = with_keywords(k.back(Δ), nothing)

with_keywords(::Nothing, keywords) = nothing
with_keywords(cotangents, keywords) = (nothing, keywords, cotangents...)

# Zygote's own method asks for a rule directly and thereby passes by the methods of this folder.
function ChainRulesCore.rrule_via_ad(config::ZygoteRuleConfig{<:Context}, f, args...; kwargs...)
    y, back = if isempty(kwargs)
        differentiated(config.context, f, args...)
    else
        differentiated(config.context, Core.kwcall, values(kwargs), f, args...)
    end
    skipped = isempty(kwargs) ? 0 : 2
    function pull_by_ad(Δ)
        cotangents = back(Zygote.wrap_chainrules_output(unthunk_tangent(Δ)))
        cotangents === nothing && return NoTangent()
        Zygote.zygote2differential(cotangents[skipped+1:end], (f, args...))
    end
    y, pull_by_ad
end
