# Eigenvalues and eigenvectors of Hermitian matrices, singular values and singular vectors.
#
# Vectors are defined up to their phases: the entries bring Julia's to those that NumPy's have.

# Of the values alone ChainRules takes another way: it gives each of several equal values its own cotangent, and a
# singular value that is zero the slope of one side. docs/conventions.md: equal values share, and that slope is 0.
eigenvalues(m) = eigvals(Hermitian(m))
function ChainRulesCore.rrule(::typeof(eigenvalues), m::AbstractMatrix)
    w, v = eigen(Hermitian(m))
    return w, ct -> (NoTangent(), v * Diagonal(shared_by_equals(unthunk(ct), w)) * v')
end
singular_values(m) = svdvals(m)
function ChainRulesCore.rrule(::typeof(singular_values), m::AbstractMatrix)
    u, s, v = svd(m)
    back(ct) = (NoTangent(), u * Diagonal(ifelse.(2s .<= resolution(s), zero(eltype(s)), shared_by_equals(unthunk(ct), s))) * v')
    return s, back
end
eigenvalues(m::MovingArray) = by_frule(eigenvalues, m)
function ChainRulesCore.frule((_, along), ::typeof(eigenvalues), m)
    w, v = eigen(Hermitian(m))
    return w, shared_by_equals(real(diag(v' * along * v)), w)
end
singular_values(m::MovingArray) = by_frule(singular_values, m)
function ChainRulesCore.frule((_, along), ::typeof(singular_values), m)
    u, s, v = svd(m)
    return s, ifelse.(2s .<= resolution(s), zero(eltype(s)), shared_by_equals(real(diag(u' * along * v)), s))
end
"How far apart values must be to be told apart."
resolution(values) = 10 * length(values) * eps(eltype(values)) * maximum(abs, values; init=zero(eltype(values)))
function shared_by_equals(ct, values)
    return [(same = abs.(values .- x) .<= resolution(values); sum(ct[same]) / count(same)) for x in values]
end

@numpy np.linalg.eigvalsh(a; UPLO="L") = matrixwise(m -> eigenvalues(hermitian_of(m, UPLO)), a)
@numpy np.linalg.eigh(a; UPLO="L", out) =
    matrixwise((m, like) -> eigenpairs(hermitian_of(m, UPLO), like[2]), a; reference=out)
@numpy np.linalg.svdvals(x) = matrixwise(singular_values, x)
@numpy function np.linalg.svd(a; full_matrices=true, compute_uv=true, hermitian=false, out)
    source(m) = hermitian ? hermitian_of(m, "L") : m
    compute_uv || return matrixwise(m -> singular_values(source(m)), a)
    eltype(a) <: Complex && notcovered("ChainRules has no rule for the vectors of a complex matrix")
    size(out[1], 1) == size(out[2], 1) == size(out[3], 2) || size(out[1], 1) == size(out[3], 2) ||
        notcovered("ChainRules has no rule for full_matrices=True of a matrix that is not square")
    return matrixwise((m, like) -> singular_triples(source(m), like[1]), a; reference=out)
end

eigenpairs(m, like) = eigenpairs_of(m, like)
singular_triples(m, like) = singular_triples_of(m, like)
function eigenpairs_of(m, like)
    found = eigen(Hermitian(m))
    return found.values, found.vectors * phases(found.vectors, like)
end
function singular_triples_of(m, like)
    found = svd(m)
    turned = phases(found.U, like)
    return found.U * turned, found.S, turned' * found.Vt
end
for (decomposition, through_vectors, of_values, place) in
    ((:eigenpairs, :eigenpairs_of, :eigenvalues, 1), (:singular_triples, :singular_triples_of, :singular_values, 2))
    @eval function ChainRulesCore.rrule(::typeof($decomposition), m, like)
        value, back = Zygote.pullback(x -> $through_vectors(x, like), m)
        _, values_back = rrule($of_values, m)
        function both(ct)
            parts = Tuple(unthunk(ct))
            absent(k) = parts[k] === nothing || parts[k] isa AbstractZero
            all(absent(k) for k in eachindex(parts) if k != $place) && return (NoTangent(), values_back(parts[$place])[2], NoTangent())
            any(<(resolution(value[$place])), abs.(diff(value[$place]))) &&
                notcovered("ChainRules divides by the differences of values, two of which are equal")
            return NoTangent(), only(back(parts)), NoTangent()
        end
        return value, both
    end
end

eigenpairs(m::MovingArray, like) = by_frule(eigenpairs, m, like)
function ChainRulesCore.frule((_, along), ::typeof(eigenpairs), m, like)
    w, v = eigenpairs(m, like)
    turning = v' * along * v
    return (w, v), (real(diag(turning)), v * (turning .* off_diagonal(inv, w' .- w)))
end
singular_triples(m::MovingArray, like) = by_frule(singular_triples, m, like)
function ChainRulesCore.frule((_, along), ::typeof(singular_triples), m, like)
    u, s, vt = singular_triples(m, like)
    turning, gaps = u' * along * vt', off_diagonal(inv, s'.^2 .- s.^2)
    of_u = u * (gaps .* (turning .* s' .+ s .* turning')) + (along * vt' - u * turning) ./ s'
    of_v = vt' * (gaps .* (s .* turning .+ turning' .* s')) + (along' * u - vt' * turning') ./ s'
    return (u, s, vt), (of_u, diag(turning), Matrix(of_v'))
end
"`f` of each element beside the diagonal, and zeros on it."
off_diagonal(f, m) = [j == k ? zero(eltype(m)) : f(m[j, k]) for j in axes(m, 1), k in axes(m, 2)]

"The diagonal matrix that turns each column of `vectors` to the phase of the same column of `like`."
phases(vectors, like) = Diagonal([sign(sum(conj.(x) .* y)) for (x, y) in zip(eachcol(vectors), eachcol(like))])
@non_differentiable phases(::Any, ::Any)

# --- matrices that are not Hermitian

"The eigenvalues of `m` in the order of `like`; the pull is ChainRules'."
own_eigenvalues(m, like) = (found = eigvals(m); found[places_of(like, found)])
own_eigenvalues(m::MovingArray, like) = by_frule(own_eigenvalues, m, like)
function ChainRulesCore.frule((_, along), ::typeof(own_eigenvalues), m, like)
    found = eigen(m)
    order = places_of(like, found.values)
    return found.values[order], diag(found.vectors \ (along * found.vectors))[order]
end
"For each of `wanted` the place in `found` of the nearest that no other has taken."
function places_of(wanted, found)
    free = collect(eachindex(found))
    return map(vec(collect(wanted))) do x
        place = argmin([abs(found[k] - x) for k in free])
        popat!(free, place)
    end
end
@non_differentiable places_of(::Any, ::Any)

@numpy np.linalg.eigvals(a; out) = matrixwise((m, like) -> own_eigenvalues(m, like[1]), a; reference=(out,))
@numpy np.linalg.eig(a; out) = matrixwise((m, like) -> own_eigenpairs(m, like...), a; reference=out)
function own_eigenpairs(m, values, vectors)
    found = eigen(m)
    order = places_of(values, found.values)
    told_apart(found.values) || notcovered("ChainRules divides by the differences of values, two of which are equal")
    kept = found.vectors[:, order]
    return found.values[order], kept * phases(kept, vectors)
end
own_eigenpairs(m::MovingArray, like...) = by_frule(own_eigenpairs, m, like...)
function ChainRulesCore.frule((_, along), ::typeof(own_eigenpairs), m, values, vectors)
    found, moved = frule((NoTangent(), along), eigen!, copy(m))
    order = places_of(values, found.values)
    kept = found.vectors[:, order]
    turned = phases(kept, vectors)
    return (found.values[order], kept * turned), (moved.values[order], moved.vectors[:, order] * turned)
end
told_apart(w) = all(abs(w[j] - w[k]) > 10 * length(w) * eps(real(eltype(w))) * maximum(abs, w) for j in eachindex(w) for k in 1:j-1)
@non_differentiable told_apart(::Any)
