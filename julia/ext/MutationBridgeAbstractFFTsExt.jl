# Fourier transforms into a Buffer: fft!, ifft!, bfft!, in-place plans `p * b`, `mul!(y, p, x)`, `ldiv!(y, p, x)`.
module MutationBridgeAbstractFFTsExt

using AbstractFFTs: AbstractFFTs, Plan, bfft, bfft!, fft, fft!, ifft!, normalization
using AbstractFFTs: plan_bfft, plan_bfft!, plan_brfft, plan_fft, plan_fft!, plan_ifft, plan_ifft!, plan_irfft, plan_rfft
using LinearAlgebra: LinearAlgebra, mul!, ldiv!
using MutationBridge: MutationBridge, Buffer, Context, MutationError, @mutating_rule, accumulate!, record!, rewind!, touch!, untracked!, value
using MutationBridge.Zygote: Zygote, ZygoteRuleConfig
using MutationBridge.ZygoteRules: ZygoteRules, AContext

# The adjoint of a transform is the unnormalised transform the other way.
@mutating_rule fft!(x::Buffer) writes(x) pull(ct, x) = bfft(ct)
@mutating_rule fft!(x::Buffer, region) writes(x) pull(ct, x, region) = bfft(ct, region)
@mutating_rule bfft!(x::Buffer) writes(x) pull(ct, x) = fft(ct)
@mutating_rule bfft!(x::Buffer, region) writes(x) pull(ct, x, region) = fft(ct, region)
@mutating_rule ifft!(x::Buffer) writes(x) pull(ct, x) = fft(ct) ./ length(ct)
@mutating_rule ifft!(x::Buffer, region) writes(x) pull(ct, x, region) = fft(ct, region) .* normalization(ct, region)

# Whether a plan works in place is seen when it runs: it then returns the memory that it was given.
function ZygoteRules._pullback(cx::AContext, ::typeof(*), p::Plan, b::Buffer)
    touch!(cx, b.r)
    result = Ref{Any}()
    entry = record!(cx, b, () -> (result[] = p * value(b)), "plan * Buffer")
    in_place = result[] === value(b)
    function plan_pullback(ct)
        of_memory = rewind!(cx, entry)
        in_place || accumulate!(b, of_memory)
        of_result = in_place ? of_memory : MutationBridge.unthunk(ct)
        of_result === nothing || accumulate!(b, adjoint_transform(p, of_result))
        return nothing
    end
    return in_place ? b : result[], plan_pullback
end

function Base.:*(p::Plan, b::Buffer)
    untracked!(b)
    result = p * value(b)
    return result === value(b) ? b : result
end

adjoint_transform(p, ct) = p' * ct

# A plan carries no gradient, but its inverse is kept in a field of it, which Zygote would follow.
ZygoteRules._pullback(cx::Context, ::typeof(inv), p::Plan) = inv(p), _ -> nothing

# Nor does the array that it is made for, of which only the layout counts.
for make in (plan_fft, plan_fft!, plan_ifft, plan_ifft!, plan_bfft, plan_bfft!, plan_rfft, plan_irfft, plan_brfft)
    @eval AbstractFFTs.$(nameof(make))(b::Buffer, more...; keywords...) = planned($make, b, more, keywords)
    @eval ZygoteRules._pullback(cx::Context, ::typeof($make), x::Union{AbstractArray,Buffer}, more...) =
        planned($make, x, more, (;)), _ -> nothing
    @eval ZygoteRules._pullback(cx::Context, ::typeof(Core.kwcall), keywords, ::typeof($make), x::Union{AbstractArray,Buffer}, more...) =
        planned($make, x, more, keywords), _ -> nothing
end

function planned(make, x, more, keywords)
    array = x isa Buffer ? value(x) : x
    before = copy(array)
    plan = make(array, more...; keywords...)
    isequal(array, before) && return plan
    copyto!(array, before)
    throw(MutationError("$(nameof(make)) measures on the array that it is given, and overwrites it. Make the plan outside of the function \
        that is differentiated, or without flags."))
end

# Plans that work in place are known by what they did.
function ZygoteRules._pullback(cx::Context, ::typeof(*), p::Plan, x::AbstractArray)
    before = copy(x)
    try
        return Zygote.chain_rrule(ZygoteRuleConfig(cx), *, p, x)
    catch error
        error isa ArgumentError && occursin("in-place plans", error.msg) || rethrow()
        copyto!(x, before)
        throw(MutationError("a plan that works in place writes a plain $(typeof(x)) under differentiation. Make it a MutationBridge.Buffer: \
            b = Buffer(x); plan * b; use copy(b), or make a plan that returns its result, plan_fft(x)."))
    end
end

# Transforms from complex to real use their input as scratch memory: they get a copy.
into!(y, p, x) = mul!(y, p, keep_input(y, x))
back_into!(y, p, x) = ldiv!(y, p, keep_input(y, x))
keep_input(y::AbstractArray{<:Real}, x::AbstractArray{<:Complex}) = copy(x)
keep_input(y, x) = x

@mutating_rule into!(y::Buffer, p, x) writes(y) pull(ct, y, p, x) = (nothing, nothing, adjoint_transform(p, ct))
@mutating_rule back_into!(y::Buffer, p, x) writes(y) pull(ct, y, p, x) = (nothing, nothing, adjoint_transform(inv(p), ct))

for (f, of_plan) in ((:mul!, :into!), (:ldiv!, :back_into!))
    @eval LinearAlgebra.$f(y::Buffer, p::Plan, x) = $of_plan(y, p, x)
    @eval MutationBridge.mutating_rule(::typeof($f), y::Buffer, p::Plan, x) = MutationBridge.mutating_rule($of_plan, y, p, x)
    @eval ZygoteRules._pullback(cx::AContext, ::typeof($f), y::Buffer, p::Plan, x) = ZygoteRules._pullback(cx, $of_plan, y, p, x)
end

end
