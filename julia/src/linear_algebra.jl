# Rules of LinearAlgebra's functions that write into a Buffer: products, solves, scaled sums, transposes, norms.

# --- products

"""Cotangents of the factors of `A * B`, given that of the product."""
product_cotangents(ct, A, B) = (left_cotangent(ct, A, B), right_cotangent(ct, A, B))
left_cotangent(ct, A, B) = A isa Number ? dot(B, ct) : B isa Number ? ct .* conj(B) : ct * B'
right_cotangent(ct, A, B) = A isa Number ? conj(A) .* ct : B isa Number ? dot(A, ct) : A' * ct

@mutating_rule mul!(C::Buffer, A, B) writes(C) pull(ct, C, A, B) = (nothing, product_cotangents(ct, A, B)...)

@mutating_rule mul!(C::Buffer, A, B, alpha::Number, beta::Number) writes(C) function pull(ct, C, A, B, alpha, beta)
    of_A, of_B = product_cotangents(ct, A, B)
    of_alpha = alpha isa Bool ? nothing : dot(B, of_B)
    return (conj(beta) .* ct, conj(alpha) .* of_A, conj(alpha) .* of_B, of_alpha, factor_cotangent(beta, C, ct))
end

# A factor zero means that the old contents are not read; they may be anything.
factor_cotangent(factor::Bool, x, ct) = nothing
factor_cotangent(factor, x, ct) = iszero(factor) ? dot(map(finite_or_zero, x), ct) : dot(x, ct)
finite_or_zero(v) = isfinite(v) ? v : zero(v)

@mutating_rule lmul!(A, B::Buffer) writes(B) pull(ct, A, B) = product_cotangents(ct, A, B)
@mutating_rule rmul!(A::Buffer, B) writes(A) pull(ct, A, B) = product_cotangents(ct, A, B)

# --- solves

@mutating_rule ldiv!(A, B::Buffer) writes(B) function pull(ct, A, B; after)
    of_B = adjoint_solve(A, ct)
    return (left_divisor_cotangent(A, of_B, after, ct), of_B)
end

@mutating_rule ldiv!(Y::Buffer, A, B) writes(Y) aliases = true function pull(ct, Y, A, B; after)
    of_B = adjoint_solve(A, ct)
    return (nothing, left_divisor_cotangent(A, of_B, after, ct), of_B)
end

@mutating_rule rdiv!(A::Buffer, B) writes(A) function pull(ct, A, B; after)
    of_A = B isa Number ? ct ./ conj(B) : ct / B'
    return (of_A, right_divisor_cotangent(B, of_A, after, ct))
end

adjoint_solve(A::Number, ct) = ct ./ conj(A)
adjoint_solve(A, ct) = A' \ ct

left_divisor_cotangent(A::Number, of_B, solution, ct) = -dot(solution, of_B)
left_divisor_cotangent(A::AbstractMatrix, of_B, solution, ct) = -of_B * solution'
right_divisor_cotangent(B::Number, of_A, quotient, ct) = -dot(quotient, of_A)
right_divisor_cotangent(B::AbstractMatrix, of_A, quotient, ct) = -quotient' * of_A

# ChainRules' rule wants to be told the pivoting, and since Julia 1.12 `lu(A)` does not tell it: its code writes into a copy.
for leading in ((), (:(::typeof(Core.kwcall)), :keywords))
    given = isempty(leading) ? () : (Core.kwcall, :keywords)
    @eval function ZygoteRules._pullback(cx::Context, $(leading...), ::typeof(lu), A::StridedMatrix)
        F, back = differentiated(cx, $(given...), lu, A, RowMaximum())
        return F, Δ -> (cts = back(Δ); cts === nothing ? nothing : Base.front(cts))
    end
end

# A = P'LU, L y = P b, U x = y; the rule of `lu` takes the cotangents of L and U in one matrix.
function left_divisor_cotangent(F::LU{<:Any,<:StridedMatrix}, of_B, solution, ct)
    of_L = tril(-of_B[F.p, :] * (F.U * solution)', -1)
    of_U = triu(-(F.U' \ ct) * solution')
    return (factors = of_L + of_U, ipiv = nothing, info = nothing)
end

# A = U'U, U'z = b, U x = z.
function left_divisor_cotangent(F::Cholesky, of_B, solution, ct)
    of_U = triu(-((F.U' \ ct) * solution' + (F.U * solution) * of_B'))
    return (factors = F.uplo === 'U' ? of_U : Matrix(of_U'), uplo = nothing, info = nothing)
end

# x A = b is A'x' = b', and A is its own adjoint.
right_divisor_cotangent(F::Cholesky, of_A, quotient, ct) = left_divisor_cotangent(F, of_A', quotient', ct')

# Constant factors are fine; only who differentiates through the factorization meets the error.
left_divisor_cotangent(F, of_B, solution, ct) = Thunk(() -> refuse_divisor(F, "ldiv!", "\\"))
right_divisor_cotangent(F, of_A, quotient, ct) = Thunk(() -> refuse_divisor(F, "rdiv!", "/"))
refuse_divisor(F, name, operator) = throw(MutationError(
    "$name has no rule for the cotangent of its divisor, a $(nameof(typeof(F))); divide by a matrix, an `lu` or a `cholesky`, or use `$operator`"))

# --- scaled sums

@mutating_rule axpy!(a, x, y::Buffer) writes(y) aliases = true pull(ct, a, x, y) = (dot(x, ct), conj(a) .* ct, ct)
@mutating_rule axpby!(a, x, b, y::Buffer) writes(y) aliases = true pull(ct, a, x, b, y) =
    (dot(x, ct), conj(a) .* ct, factor_cotangent(b, y, ct), conj(b) .* ct)
@mutating_rule BLAS.scal!(a::Number, x::Buffer) writes(x) pull(ct, a, x) = (dot(x, ct), conj(a) .* ct)
@mutating_rule BLAS.gemv!(trans::AbstractChar, alpha::Number, A, x, beta::Number, y::Buffer) writes(y) function pull(
    ct, trans, alpha, A, x, beta, y)
    of_op, of_x = product_cotangents(ct, operated(trans, A), x)
    return (nothing, dot(x, of_x), conj(alpha) .* operated_back(trans, of_op), conj(alpha) .* of_x, factor_cotangent(beta, y, ct), conj(beta) .* ct)
end
@mutating_rule BLAS.gemm!(ta::AbstractChar, tb::AbstractChar, alpha::Number, A, B, beta::Number, C::Buffer) writes(C) function pull(
    ct, ta, tb, alpha, A, B, beta, C)
    right = operated(tb, B)
    of_left, of_right = product_cotangents(ct, operated(ta, A), right)
    return (nothing, nothing, dot(right, of_right), conj(alpha) .* operated_back(ta, of_left), conj(alpha) .* operated_back(tb, of_right),
        factor_cotangent(beta, C, ct), conj(beta) .* ct)
end

operated(mode, A) = mode in "Nn" ? A : mode in "Tt" ? transpose(A) : A'
operated_back(mode, ct) = operated(mode, ct)

# Both vectors change: x, y = c x + s y, -s' x + c y, and its mirror image.
@mutating_rule rotate!(x::Buffer, y, c, s) writes(x, y) pull((of_x, of_y), x, y, c, s) = (
    conj(c) .* of_x .- s .* of_y, conj(s) .* of_x .+ conj(c) .* of_y,
    dot(x, of_x) + dot(y, of_y), dot(y, of_x) - conj(dot(x, of_y)))
@mutating_rule reflect!(x::Buffer, y, c, s) writes(x, y) pull((of_x, of_y), x, y, c, s) = (
    conj(c) .* of_x .+ s .* of_y, conj(s) .* of_x .- conj(c) .* of_y,
    dot(x, of_x) - dot(y, of_y), dot(y, of_x) + conj(dot(x, of_y)))

# --- the same elements elsewhere

@mutating_rule adjoint!(B::Buffer, A) writes(B) pull(ct, B, A) = (nothing, shaped_as(ct', A))
@mutating_rule transpose!(B::Buffer, A) writes(B) pull(ct, B, A) = (nothing, shaped_as(transpose(ct), A))
shaped_as(ct, x) = size(ct) == size(x) ? ct : reshape(ct, size(x))

@mutating_rule triu!(A::Buffer) writes(A) pull(ct, A) = triu(ct)
@mutating_rule triu!(A::Buffer, k::Integer) writes(A) pull(ct, A, k) = triu(ct, k)
@mutating_rule tril!(A::Buffer) writes(A) pull(ct, A) = tril(ct)
@mutating_rule tril!(A::Buffer, k::Integer) writes(A) pull(ct, A, k) = tril(ct, k)

# --- norms

@mutating_rule normalize!(a::Buffer) writes(a) pull(ct, a; after) = normalize_cotangent(ct, a, 2, after)
@mutating_rule normalize!(a::Buffer, p::Real) writes(a) pull(ct, a, p; after) = (normalize_cotangent(ct, a, p, after), norm_order_cotangent(ct, a, p, after))

function normalize_cotangent(ct, a, p, after)
    length_of_a = norm(a, p)
    of_norm = -real(dot(after, ct)) / length_of_a
    return ct ./ length_of_a .+ norm_cotangent(of_norm, a, p)
end

norm_cotangent(ct, a, p) = last_cotangent(norm, ct, a, p)[1]
norm_order_cotangent(ct, a, p::Integer, after) = nothing
norm_order_cotangent(ct, a, p, after) = last_cotangent(norm, -real(dot(after, ct)) / norm(a, p), a, p)[2]

"""Cotangents of the arguments of a function that writes nothing, from Zygote."""
last_cotangent(f, ct, args...) = Zygote.pullback(f, args...)[2](ct)

# --- what cannot be right

for name in (:lu!, :qr!, :cholesky!, :svd!, :eigen!, :schur!, :hessenberg!, :bunchkaufman!, :lq!, :svdvals!, :eigvals!)
    plain = Symbol(chop(String(name)))
    @eval LinearAlgebra.$name(b::Buffer, args...; keywords...) = throw(MutationError(
        $"$name(b): its result would share memory with the Buffer b; use $plain(copy(b)), which has a rule"))
end

foreach(refuse_plain!, (BLAS.scal!, BLAS.gemv!, BLAS.gemm!, rotate!, reflect!), (2, 6, 7, 1, 1))
