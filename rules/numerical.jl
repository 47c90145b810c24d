# Numerical tools: convolution, counting, and functions given by series.

@numpy np.convolve(a, v; mode="full") = convolved(asarray(a), asarray(v), mode, false)
@numpy np.correlate(a, v; mode="valid") = convolved(asarray(a), reverse(conj.(asarray(v))), mode, true)
function convolved(a, v, mode, correlates)
    n, m = length(a), length(v)
    whole = windows(n, m)' * vec(vec(a) .* transpose(vec(v)))
    longer, shorter = max(n, m), min(n, m)
    mode == "full" && return whole
    mode == "valid" && return whole[shorter:longer]
    half = correlates && n < m ? shorter ÷ 2 : (shorter - 1) ÷ 2
    return whole[half+1:half+longer]
end
"Which products of elements add up to each element of a convolution."
windows(n, m) = [i + j - 1 == k ? 1.0 : 0.0 for i in 1:n, j in 1:m, k in 1:n+m-1] |> w -> reshape(w, n * m, n + m - 1)
@non_differentiable windows(::Any, ::Any)

@numpy function np.bincount(x; weights, minlength=0)
    return bins(x, minlength) * weights
end
bins(x, minlength) = [place == k - 1 ? 1.0 : 0.0 for k in 1:max(maximum(x; init=-1) + 1, minlength), place in vec(collect(x))]
@non_differentiable bins(::Any, ::Any)

# The slope of sin(pi x) / (pi x) at 0 is 0, and near 0 its quotient cancels.
@numpy np.sinc(x) = each(cardinal_sine, x)
cardinal_sine(x) = sinc(x)
ChainRulesCore.rrule(::typeof(cardinal_sine), x::Number) = sinc(x), ct -> (NoTangent(), ct * conj(cosc(x)))

@numpy np.unwrap(p; axis=-1, period=2π, out) = p .+ nondifferentiable(out .- p)

@numpy np.nan_to_num(x; nan=0.0, posinf=nothing, neginf=nothing, out) =
    choose(nondifferentiable(isfinite.(x)), x, nondifferentiable(out))

# Weights alone have a derivative; edges that depend on the data, and densities, the entry leaves to the rule book.
@numpy function np.histogram(a, bins; weights, density=nothing, out)
    bins isa AbstractVector || notcovered("the entry is for edges that are given")
    density in (nothing, false) || notcovered("the entry is for counts, not for a density")
    return of_bins(a, out[2]) * vec(asarray(weights)), asarray(bins)
end
"Which elements each bin counts; the last one has its right edge."
function of_bins(a, edges)
    n = length(edges) - 1
    bin(x) = x == edges[end] ? n : searchsortedlast(edges, x)
    return [bin(x) == k ? 1.0 : 0.0 for k in 1:n, x in vec(collect(a))]
end
@non_differentiable of_bins(::Any, ::Any)
