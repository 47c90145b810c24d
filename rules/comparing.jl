# Functions that choose between values by comparing them: maxima, minima, clipping, steps, carried signs.
#
# Zygote and ChainRules give all of a tie to one side. docs/conventions.md: equal values share, and a NaN that
# decides the value takes all. So the functions here are ours, with their rules.

@elementwise np.maximum(x, y) = chosen(larger, x, y, true)
@elementwise np.minimum(x, y) = chosen(smaller, x, y, true)
@elementwise np.fmax(x, y) = chosen(larger, x, y, false)
@elementwise np.fmin(x, y) = chosen(smaller, x, y, false)

larger(x::Real, y::Real) = x > y
smaller(x::Real, y::Real) = x < y
larger(x, y) = (real(x), imag(x)) > (real(y), imag(y))
smaller(x, y) = (real(x), imag(x)) < (real(y), imag(y))

"How much of the choice between `x` and `y` is `x`: 1, 1/2 in a tie, 0; `nan_wins` says what a NaN does."
function share_of_first(beats, x, y, nan_wins)
    isnan(x) && return nan_wins || isnan(y) ? 1.0 : 0.0
    isnan(y) && return nan_wins ? 0.0 : 1.0
    return x == y ? 0.5 : beats(x, y) ? 1.0 : 0.0
end

function chosen(beats, x, y, nan_wins)
    a, b = promote(x, y)
    return share_of_first(beats, a, b, nan_wins) > 0 ? a : b
end
function ChainRulesCore.rrule(::typeof(chosen), beats, x, y, nan_wins)
    share = share_of_first(beats, x, y, nan_wins)
    of(part, ct) = iszero(part) ? zero(ct) : oftype(ct, part * ct)
    return chosen(beats, x, y, nan_wins), ct -> (NoTangent(), NoTangent(), of(share, ct), of(1 - share, ct), NoTangent())
end

@numpy function np.clip(a; a_min=nothing, a_max=nothing, min=nothing, max=nothing)
    low, high = something(a_min, min, Some(nothing)), something(a_max, max, Some(nothing))
    low === nothing && high === nothing && return a
    low === nothing && return each((x, h) -> chosen(smaller, x, h, true), a, high)
    high === nothing && return each((x, l) -> chosen(larger, x, l, true), a, low)
    return each(clipped, a, low, high)
end
clipped(x, low, high) = chosen(smaller, chosen(larger, x, low, true), high, true)
function ChainRulesCore.rrule(::typeof(clipped), x, low, high)
    raised = share_of_first(larger, x, low, true)
    # Where all three are equal neither `x` nor `low` moves the value.
    kept = x == low == high ? 0.0 : share_of_first(smaller, chosen(larger, x, low, true), high, true)
    of(part, ct) = iszero(part) ? zero(ct) : oftype(ct, part * ct)
    back(ct) = (NoTangent(), of(raised * kept, ct), of((1 - raised) * kept, ct), of(1 - kept, ct))
    return clipped(x, low, high), back
end

@elementwise np.copysign(x, y) = abs(x) * (signbit(y) ? -1 : 1)
@elementwise np.heaviside(x, at_zero) = isnan(x) ? oftype(at_zero, NaN) : iszero(x) ? at_zero : oftype(at_zero, x > 0)
