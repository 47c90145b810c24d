# Reductions: sums, means, products, extrema, variances.

@numpy function np.sum(a; axis=nothing, keepdims=false, initial=nothing, where=true)
    total = along((x, d) -> sum(x; dims=d), masked(a, where, zero(eltype(a))), axis, keepdims)
    return initial === nothing ? total : total .+ initial
end

@numpy np.mean(a; axis=nothing, keepdims=false, where=true) =
    along((x, d) -> sum(masked(x, where, zero(eltype(x))); dims=d) ./ max.(counted(x, d, where), 1), a, axis, keepdims)

@numpy function np.prod(a; axis=nothing, keepdims=false, initial=nothing, where=true)
    product = along((x, d) -> product_along(x, d), masked(a, where, one(eltype(a))), axis, keepdims)
    return initial === nothing ? product : product .* initial
end
product_along(x, d) = isempty(d) ? x : prod(x; dims=d)

"`x` with a neutral element where a mask leaves it out."
masked(x, mask, neutral) = mask === true ? x : choose(mask, x, fill_like(x, neutral))
fill_like(x, value) = fill(value, size(x))
@non_differentiable fill_like(::Any, ::Any)

"How many elements are reduced into each result."
counted(x, d, mask) = mask === true ? extent(x, d) : sum(broadcast((m, _) -> m ? 1 : 0, mask, x); dims=d)
@non_differentiable counted(::Any, ::Any, ::Any)

# ChainRules gives the cotangent of an extremum to one element. docs/conventions.md: those that reach it share.
@numpy np.max(a; axis=nothing, keepdims=false, initial=nothing, where=true) =
    along((x, d) -> extremum(larger, true, x, d, initial, where), a, axis, keepdims)
@numpy np.min(a; axis=nothing, keepdims=false, initial=nothing, where=true) =
    along((x, d) -> extremum(smaller, true, x, d, initial, where), a, axis, keepdims)
@numpy np.nanmax(a; axis=nothing, keepdims=false, initial=nothing, where=true) =
    along((x, d) -> extremum(larger, false, x, d, initial, where), a, axis, keepdims)
@numpy np.nanmin(a; axis=nothing, keepdims=false, initial=nothing, where=true) =
    along((x, d) -> extremum(smaller, false, x, d, initial, where), a, axis, keepdims)
@same np.amax = np.max
@same np.amin = np.min

function extremum(beats, nan_wins, x, d, initial, mask)
    best(a, b) = chosen(beats, a, b, nan_wins)
    first_of(cells) = foldl(best, (v for v in cells); init=initial === nothing ? popfirst!(cells) : eltype(x)(only(initial)))
    taken = taken_cells(mask, x)
    lines = line_cells(size(x), d)
    return map(cells -> first_of([x[c] for c in cells if taken[c]]), lines)
end

function ChainRulesCore.rrule(::typeof(extremum), beats, nan_wins, x, d, initial, mask)
    value = extremum(beats, nan_wins, x, d, initial, mask)
    taken = taken_cells(mask, x)
    function back(ct)
        shares, of_initial = zeros(eltype(unthunk(ct)), size(x)), zero(eltype(unthunk(ct)))
        for (cells, best, c) in zip(line_cells(size(x), d), value, unthunk(ct))
            winners, initial_wins = winners_of(cells, x, best, nan_wins, initial, taken)
            share = c / max(length(winners) + initial_wins, 1)
            foreach(cell -> shares[cell] = share, winners)
            initial_wins && (of_initial += share)
        end
        by_initial = initial isa AbstractArray ? fill(of_initial) : NoTangent()
        return NoTangent(), NoTangent(), NoTangent(), shares, NoTangent(), by_initial, NoTangent()
    end
    return value, back
end

taken_cells(mask, x) = mask === true ? trues(size(x)) : broadcast((m, _) -> m, mask, x)
"The cells of a line that reach its extremum, and whether the initial value does."
function winners_of(cells, x, best, nan_wins, initial, taken)
    wins(v) = v == best || (nan_wins && isnan(v))
    return [cell for cell in cells if taken[cell] && wins(x[cell])], initial !== nothing && only(initial) == best
end

function extremum(beats, nan_wins, x::MovingArray, d, initial, mask)
    values, along, bound = at_rest(x), along_of(x), initial === nothing ? nothing : at_rest(initial)
    best, taken = extremum(beats, nan_wins, values, d, bound, mask), taken_cells(mask, x)
    moved = map(line_cells(size(x), d), best) do cells, value
        winners, initial_wins = winners_of(cells, values, value, nan_wins, bound, taken)
        total = sum(along[winners]; init=zero(eltype(along))) + (initial_wins ? only(along_of(initial)) : false)
        total / max(length(winners) + initial_wins, 1)
    end
    return joined_with(best, moved)
end

@numpy np.var(a; axis=nothing, ddof=0, keepdims=false, where=true, mean=nothing, correction=nothing) =
    variance(a, axis, something(correction, ddof), keepdims, where, mean)
@numpy np.std(a; axis=nothing, ddof=0, keepdims=false, where=true, mean=nothing, correction=nothing) =
    each(root, variance(a, axis, something(correction, ddof), keepdims, where, mean))

function variance(a, axis, removed, keepdims, mask, mean)
    d = dims(a, axis)
    center = mean === nothing ? sum(masked(a, mask, zero(eltype(a))); dims=d) ./ counted(a, d, mask) : mean
    deviation = masked(a .- center, mask, zero(eltype(a)))
    squares = eltype(a) <: Complex ? abs2.(deviation) : deviation .* deviation
    freedom = each(remaining, counted(a, d, mask), removed)
    return kept(sum(squares; dims=d) ./ freedom, d, keepdims)
end
remaining(count, removed) = count > removed ? count - removed : zero(count - removed)

# docs/conventions.md: the standard deviation and norms have derivative zero where they are zero.
root(x) = sqrt(x)
function ChainRulesCore.rrule(::typeof(root), x::Number)
    value = sqrt(x)
    return value, ct -> (NoTangent(), iszero(value) ? zero(ct) : ct / (2 * conj(value)))
end
