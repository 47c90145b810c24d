# Polynomials by their coefficients, the highest power first.

@numpy function np.polyval(p, x)
    coefficients, points = vec(asarray(p)), asarray(x)
    value = zero.(points)
    for k in eachindex(coefficients)
        value = value .* points .+ coefficients[k]
    end
    return value
end

"Coefficients with zeros before them."
lengthened(p, n) = vcat(zeros(eltype(p), n - length(p)), p)
function of_equal_length(p, q)
    n = max(length(p), length(q))
    return lengthened(vec(asarray(p)), n), lengthened(vec(asarray(q)), n)
end
@numpy np.polyadd(a1, a2) = (both = of_equal_length(a1, a2); both[1] .+ both[2])
@numpy np.polysub(a1, a2) = (both = of_equal_length(a1, a2); both[1] .- both[2])

# NumPy's polynomials lose their leading zeros before they are multiplied.
@numpy np.polymul(a1, a2) = convolved(without_leading_zeros(asarray(a1)), without_leading_zeros(asarray(a2)), "full", false)
without_leading_zeros(p) = vec(p)[leading(vec(p)):end]
leading(p) = something(findfirst(!iszero, at_rest(p)), max(length(p), 1))
@non_differentiable leading(::Any)

@numpy function np.polyder(p, m=1)
    for _ in 1:m
        p = p[1:end-1] .* (length(p)-1:-1:1)
    end
    return p
end

@numpy function np.poly(seq_of_zeros)
    ndims(seq_of_zeros) == 1 || notcovered("the entry is for a sequence of zeros, not for a matrix")
    coefficients = ones(eltype(seq_of_zeros), 1)
    for k in eachindex(seq_of_zeros)
        coefficients = vcat(coefficients, 0) .- seq_of_zeros[k] .* vcat(0, coefficients)
    end
    return coefficients
end

# The eigenvalues of the companion matrix, in the order in which NumPy gives them; zeros at the end of `p` are roots 0.
@numpy function np.roots(p; out)
    inner = p[inner_part(p)]
    length(inner) < 2 && return nondifferentiable(out)
    n = length(inner) - 1
    below = hcat(Matrix{eltype(inner)}(I, n - 1, n - 1), zeros(eltype(inner), n - 1))
    companion = vcat(reshape(-inner[2:end] ./ inner[1], 1, n), below)
    length(out) == n || notcovered("ChainRules has no slope for the roots at 0 of a polynomial that ends in zeros")
    return own_eigenvalues(companion, out)
end
inner_part(p) = (places = findall(!iszero, at_rest(p)); isempty(places) ? (1:0) : (first(places):last(places)))
@non_differentiable inner_part(::Any)

@numpy function np.vander(x; N=nothing, increasing=false)
    n = something(N, length(x))
    powers = increasing ? (0:n-1) : (n-1:-1:0)
    return reduce(vcat, [reshape(x .^ k, 1, :) for k in powers])
end
