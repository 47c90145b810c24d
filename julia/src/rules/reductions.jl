# Rules of cumulative sums and products, of reductions into a Buffer, and of clamp!.

@mutating_rule cumsum!(B::Buffer, A) writes(B) aliases = true pull(ct, B, A; dims = 1) = (nothing, cumsum_cotangent(ct, dims))
@mutating_rule cumprod!(B::Buffer, A) writes(B) aliases = true pull(ct, B, A; dims = 1) = (nothing, cumprod_cotangent(ct, A, dims))

cumsum_cotangent(ct, dims) = dims > ndims(ct) ? ct : reverse(cumsum(reverse(ct; dims); dims); dims)

function cumprod_cotangent(ct, x, dims)
    dims > ndims(x) && return ct
    made = similar(ct, promote_type(eltype(ct), eltype(x)))
    for fiber in fibers(size(x), dims)
        cumprod_cotangent!(view(made, fiber...), view(ct, fiber...), view(x, fiber...))
    end
    return made
end

"""The product up to j has the slope of the product of the others; nothing is divided, so zeros are as good as other numbers."""
function cumprod_cotangent!(made, ct, x)
    later = zero(eltype(made))                   # sum over j >= k of ct[j] times the product of x between k and j
    for k in reverse(eachindex(x))
        later = ct[k] + (k == lastindex(x) ? later : conj(x[k+1]) * later)
        made[k] = later
    end
    before = one(eltype(made))
    for k in eachindex(x)
        made[k] *= before
        before *= conj(x[k])
    end
    return made
end

@mutating_rule sum!(r::Buffer, A) writes(r) pull(ct, r, A; init = true) = (init ? nothing : ct, spread(ct, A))
spread(ct, A) = broadcast((c, _) -> c, ct, A)
collapsed(r, A) = sum!(similar(A, eltype(A), size(r)), A)

@mutating_rule prod!(r::Buffer, A) writes(r) function pull(ct, r, A; init = true)
    zeros_in = collapsed(r, map(iszero, A) .+ 0)
    others = prod!(similar(r), map(x -> iszero(x) ? one(x) : x, A))
    slopes = broadcast(A, zeros_in, others) do x, n, rest
        n == 0 ? rest / x : n == 1 && iszero(x) ? rest : zero(rest)
    end
    factor = init ? one.(r) : r
    return (init ? nothing : ct .* conj.(prod!(similar(r), A)), conj.(slopes .* factor) .* ct)
end

@mutating_rule maximum!(r::Buffer, A) writes(r) pull(ct, r, A; init = true, after) = extremum_cotangents(ct, r, A, init, after)
@mutating_rule minimum!(r::Buffer, A) writes(r) pull(ct, r, A; init = true, after) = extremum_cotangents(ct, r, A, init, after)

# Values that tie share equally.
function extremum_cotangents(ct, r, A, init, after)
    same(x, best) = isequal(x, best) || x == best
    in_A = same.(A, after)
    in_r = init ? falses(size(r)) : same.(r, after)
    share = ct ./ (collapsed(r, in_A .+ 0) .+ in_r)
    return (init ? nothing : share .* in_r, broadcast((c, chosen) -> chosen ? c : zero(c), share, in_A))
end

for name in (:sum!, :prod!, :maximum!, :minimum!)
    @eval Base.$name(f, r::Buffer, A; keywords...) = $name(r, f.(A); keywords...)
end

@mutating_rule clamp!(x::Buffer, lo, hi) writes(x) function pull(ct, x, lo, hi)
    lo == hi && return (zero(ct), zero(lo), sum(ct))
    at_lo, at_hi = side.(lo, x), side.(x, hi)
    return (ct .* (1 .- at_lo) .* (1 .- at_hi), sum(ct .* at_lo), sum(ct .* at_hi))
end

"""1 if the first is the larger, 1/2 at a tie."""
side(a, b) = a > b ? one(b) : a == b ? one(b) / 2 : zero(b)
