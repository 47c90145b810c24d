# Sorting and distinct values.

# ChainRules gives each cotangent to the element that the algorithm moved. docs/conventions.md: equal values share.
@numpy np.sort(a; axis=-1) = axis === nothing ? ordered(vec(a), 1) : ordered(a, dim(a, axis))
ordered(x, d) = isempty(x) ? x : sort(x; dims=d, lt=before)
ordered(x::AbstractVector, d) = sort(x; lt=before)
before(x::Real, y::Real) = isless(x, y)
before(x, y) = isless((real(x), imag(x)), (real(y), imag(y)))
function ChainRulesCore.rrule(::typeof(ordered), x, d)
    value = ordered(x, d)
    function back(ct)
        found = zeros(eltype(unthunk(ct)), size(x))
        for cells in line_cells(size(x), (d,))
            ranked = cells[sortperm(x[cells]; lt=before)]
            foreach(run -> found[ranked[run]] .= sum(unthunk(ct)[cells[run]]) / length(run), runs_of_equals(x[ranked]))
        end
        return NoTangent(), found, NoTangent()
    end
    return value, back
end

ordered(x::MovingArray, d) = by_frule(ordered, x, d)
ordered(x::MovingArray{1}, d) = by_frule(ordered, x, d)
function ChainRulesCore.frule((_, along), ::typeof(ordered), x, d)
    value, moved = ordered(x, d), zero(along)
    for cells in line_cells(size(x), (d,))
        ranked = cells[sortperm(x[cells]; lt=before)]
        foreach(run -> moved[cells[run]] .= sum(along[ranked[run]]) / length(run), runs_of_equals(x[ranked]))
    end
    return value, moved
end
"The stretches of equal values in a sorted vector."
function runs_of_equals(values)
    starts = [k for k in eachindex(values) if k == 1 || values[k] != values[k-1]]
    return [a:b for (a, b) in zip(starts, [starts[2:end] .- 1; length(values)])]
end

# The order within the parts is NumPy's: the elements of its value, found among the sorted ones.
@numpy function np.partition(a, kth; axis=-1, out)
    x, d = axis === nothing ? (vec(a), 1) : (a, dim(a, axis))
    return ordered(x, d)[ranks(out, d)]
end
function ranks(values, d)
    places, linear = similar(values, Int), LinearIndices(values)
    for cells in line_cells(size(values), (d,))
        places[cells[sortperm(values[cells]; lt=before)]] = linear[cells]
    end
    return places
end
@non_differentiable ranks(::Any, ::Any)

# A distinct value is the mean of its duplicates, so that they share.
@numpy np.unique_values(x; out) = means_of_equals(vec(x), out)
@numpy np.unique(ar; return_index=false, return_inverse=false, return_counts=false, out) =
    out isa Tuple ? (means_of_equals(vec(ar), out[1]), map(nondifferentiable, Base.tail(out))...) : means_of_equals(vec(ar), out)
@numpy np.unique_all(x; out) = (means_of_equals(vec(x), out[1]), map(nondifferentiable, Base.tail(out))...)
@same np.unique_counts = np.unique_all
@same np.unique_inverse = np.unique_all
means_of_equals(x, values) = transpose(equals(x, values)) * x
equals(x, values) = (same = at_rest(x) .== permutedims(values); same ./ sum(same; dims=1))
@non_differentiable equals(::Any, ::Any)

# --- a table that is read between its places

@numpy function np.interp(x, xp, fp; left=nothing, right=nothing, period=nothing)
    places, values = vec(asarray(xp)), vec(asarray(fp))
    period === nothing && return between(real.(asarray(x)), places, values, left, right)
    order = sortperm(mod.(places, abs(period)))
    knots, there = mod.(places, abs(period))[order], values[order]
    knots = vcat(knots[end:end] .- abs(period), knots, knots[1:1] .+ abs(period))
    return between(mod.(real.(asarray(x)), abs(period)), knots, vcat(there[end:end], there, there[1:1]), nothing, nothing)
end
function between(x, places, values, left, right)
    n = length(places)
    before, after = left === nothing ? values[1] : left, right === nothing ? values[n] : right
    inner = if n == 1
        values[1] .+ zero.(x)
    else
        k = interval.(x, Ref(places), n)
        values[k] .+ (values[k .+ 1] .- values[k]) .* ((x .- places[k]) ./ (places[k .+ 1] .- places[k]))
    end
    return ifelse.(x .< places[1], before, ifelse.(x .> places[n], after, inner))
end
interval(x, places, n) = clamp(searchsortedlast(places, x), 1, n - 1)
@non_differentiable interval(::Any, ::Any, ::Any)
@non_differentiable sortperm(::Any)
