# One element, or one matrix, at a time: the pull of a whole array is made of the pulls of its parts.

"`f` of each element, operands broadcast; its pull asks Zygote, and so ChainRules, for that of the scalar function."
each(f, xs...) = asarray(broadcast((x...) -> any(ismoving, x) ? moved_by(f, x...) : first(pullback_at(f, x...)), xs...))

"""
Value and pullback of a scalar function. Outside of its real domain Julia raises and NumPy gives NaN: so is it here.
"""
function pullback_at(f::F, xs...) where {F}
    try
        return Zygote.pullback(f, xs...)
    catch error
        error isa DomainError || rethrow()
        nan = convert(float(promote_type(map(typeof, xs)...)), NaN)
        return nan, _ -> map(x -> nan, xs)
    end
end

function ChainRulesCore.rrule(::typeof(each), f::F, xs...) where {F}
    pairs = broadcast((x...) -> pullback_at(f, x...), xs...)
    found = pairs isa Tuple ? fill(pairs) : pairs
    value = map(first, found)
    function back(ct)
        cts = unthunk(ct)
        cts isa AbstractZero && return map(_ -> ZeroTangent(), (1, 2, xs...))
        parts = map((pair, c) -> pair[2](c), found, asarray(cts))
        each_operand = map(1:length(xs)) do k
            xs[k] isa Number && return NoTangent()
            isempty(parts) && return zero(xs[k])
            fitted(map(p -> p === nothing || p[k] === nothing ? false : p[k], parts), xs[k])
        end
        return (NoTangent(), NoTangent(), each_operand...)
    end
    return value, back
end

"A scalar function of dual numbers: their tangents, times the slopes that its pull gives."
function moved_by(f, xs...)
    value, back = pullback_at(f, map(primal, xs)...)
    value isa Union{AbstractFloat,Complex} || return value
    along(unit) = (cts = back(unit); sum(inner(part(cts, k), tangent(x)) for (k, x) in enumerate(xs) if ismoving(x)))
    return dual(value, value isa Complex ? Complex(along(one(value)), along(im * one(value))) : along(one(value)))
end

"`f`, which maps a vector to a vector of its length, of each line along dimension `d`."
linewise(f, x, d) = mapslices(f, x; dims=d)
function ChainRulesCore.rrule(::typeof(linewise), f::F, x, d) where {F}
    lines = line_cells(size(x), (d,))
    found = map(cells -> Zygote.pullback(f, x[cells]), lines)
    value = similar(x)
    foreach((cells, pair) -> value[cells] = pair[1], lines, found)
    function back(ct)
        result = zero(x)
        foreach((cells, pair) -> result[cells] = only(pair[2](unthunk(ct)[cells])), lines, found)
        return NoTangent(), NoTangent(), result, NoTangent()
    end
    return value, back
end

"For each line along the dimensions `d`, the cells on it; in an array in which `d` have length one."
function line_cells(shape, d)
    outer = CartesianIndices(ntuple(k -> k in d ? 1 : shape[k], length(shape)))
    along_line(cell) = vec(collect(CartesianIndices(ntuple(k -> k in d ? (1:shape[k]) : (cell[k]:cell[k]), length(shape)))))
    return map(along_line, outer)
end

"""
`f` of each matrix of stacks of matrices, which broadcast; matrices reach `f` and leave it as NumPy's, not transposed.
`f` may return numbers, vectors, matrices, or a tuple of them.
"""
matrixwise(f, xs...; reference=nothing) =
    first(matrixwise_pullback(f, xs, reference, any(moves, xs) ? (g, ms...) -> (g(ms...), nothing) : Zygote.pullback))

function ChainRulesCore.rrule(::typeof(matrixwise), f::F, xs...; reference=nothing) where {F}
    value, back = matrixwise_pullback(f, xs, reference)
    return value, ct -> (NoTangent(), NoTangent(), back(unthunk(ct))...)
end

function matrixwise_pullback(f, xs, reference, run=Zygote.pullback)
    batch = Base.Broadcast.broadcast_shape((size(x)[3:end] for x in xs)...)
    cells = collect(CartesianIndices(batch))
    found = map(cells) do cell
        extra = reference === nothing ? () : (map(r -> own_part(r, cell, length(batch)), reference),)
        run((ms...) -> f(ms..., extra...), (permutedims(x[:, :, within(x, cell)...]) for x in xs)...)
    end
    several = !isempty(found) && first(found)[1] isa Tuple
    value = several ? ntuple(k -> piled([pair[1][k] for pair in found], batch), length(first(found)[1])) :
            piled(map(first, found), batch)
    function back(ct)
        cts = map(x -> zeros(float(eltype(x)), size(x)), xs)
        for cell in cells
            pair = found[cell]
            own = several ? map((c, v) -> cotangent_part(c, v, cell), Tuple(ct), pair[1]) : cotangent_part(ct, pair[1], cell)
            parts = pair[2](own)
            for (k, x) in enumerate(xs)
                (parts === nothing || parts[k] === nothing || parts[k] isa AbstractZero) && continue
                share = permutedims(Matrix(unthunk(parts[k])))
                eltype(x) <: Real && (share = real(share))
                view(cts[k], :, :, within(x, cell)...) .+= share
            end
        end
        return cts
    end
    return value, back
end

"The batch indices of a broadcast operand."
within(x, cell) = ntuple(k -> size(x, k + 2) == 1 ? 1 : cell[k], ndims(x) - 2)

"Results, one a matrix, as one array with the batch axes behind."
function piled(parts, batch)
    isempty(parts) && return zeros(batch)
    sample = first(parts)
    sample isa Number && return collect(parts)
    flat = reduce(hcat, [vec(as_stored(p)) for p in vec(parts)])
    return reshape(flat, size(as_stored(sample))..., batch...)
end
as_stored(p::AbstractMatrix) = permutedims(Matrix(p))
as_stored(p) = p

own_part(whole, cell, depth) =
    ndims(whole) == depth ? whole[cell] : (m = whole[ntuple(_ -> :, ndims(whole) - depth)..., cell]; ndims(m) == 2 ? permutedims(m) : m)

function cotangent_part(ct, value, cell)
    whole = unthunk(ct)
    (whole === nothing || whole isa AbstractZero) && return nothing
    value isa Number && return asarray(whole)[cell]
    return value isa AbstractVector ? whole[:, cell] : permutedims(whole[:, :, cell])
end
