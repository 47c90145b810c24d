# LinearAlgebra's functions over Buffers: every rule is proved by `check_rule`, and in programs as users write them.

module LinearAlgebraTests

using MutationBridge, Test, LinearAlgebra, Random
using LinearAlgebra: BLAS
using SparseArrays: sparse

const gradient = MutationBridge.gradient
const rng = Random.Xoshiro(1)
const A = randn(rng, 3, 3) + 3I
const B = randn(rng, 3, 3)
const C = randn(rng, 3, 3)
const v = randn(rng, 3)
const w = randn(rng, 3)

# At these arguments, and at harder ones.
passes(f!, args...; options...) = isempty(check_rule(f!, args...; variants = false, options...).failures)
proved(f!, args...; options...) = isempty(check_rule(f!, args...; options...).failures)

@testset "products" begin
    @test proved(mul!, C, A, B)
    @test passes(mul!, v, A, w)
    @test passes(mul!, C, 2.5, B)
    @test passes(mul!, C, A, 2.5)
    @test passes(mul!, C, A, B, 0.7, -1.2)
    @test passes(mul!, v, A, w, 2.0, 0.0)
    @test passes(mul!, randn(rng, 3, 2), A, randn(rng, 3, 2), 1.5, true)
    @test passes(lmul!, 2.5, B)
    @test passes(rmul!, B, 2.5)
    @test passes(lmul!, UpperTriangular(A), B)
    @test passes(rmul!, B, LowerTriangular(A))
    @test passes(lmul!, Diagonal(v), B)
    @test passes(BLAS.scal!, 2.5, v)
    @test passes(BLAS.gemv!, 'T', 1.5, A, v, 0.5, w)
    @test passes(BLAS.gemm!, 'N', 'T', 1.5, A, B, 0.5, C)
    @test passes(BLAS.gemm!, 'T', 'N', 1.5, A, B, 0.5, C)
end

@testset "5-argument mul! does not read the output for beta = 0" begin
    f(A, beta) = (c = Buffer(fill(NaN, 2)); mul!(c, A, [1.0, 2.0], 1.0, beta); sum(abs2, copy(c)))
    g = gradient(f, [1.0 2.0; 3.0 4.0], 0.0)
    @test g[1] == [10.0 20.0; 22.0 44.0]
    @test g[2] == 0
end

@testset "solves" begin
    @test proved(ldiv!, UpperTriangular(A), v)
    @test passes(ldiv!, UpperTriangular(A), B)
    @test passes(ldiv!, 2.5, B)
    @test passes(ldiv!, Diagonal(v), w)
    @test passes(ldiv!, w, Diagonal(v), w .+ 1)
    @test passes(ldiv!, C, LowerTriangular(A), B)
    @test passes(ldiv!, lu(A), v)
    @test passes(rdiv!, B, 2.5)
    @test passes(rdiv!, B, LowerTriangular(A))
    @test passes(rdiv!, B, Diagonal(v))
    @test passes(rdiv!, B, cholesky(A * A'))
end

@testset "the gradient goes on through lu and cholesky" begin
    solve(A, b) = (x = Buffer(b); ldiv!(lu(A), x); sum(abs2, copy(x)))
    expected = MutationBridge.Zygote.gradient((A, b) -> sum(abs2, A \ b), A, v)
    @test all(gradient(solve, A, v) .≈ expected)
    unchecked(A, b) = (x = Buffer(b); ldiv!(lu(A; check = false), x); sum(abs2, copy(x)))
    @test all(gradient(unchecked, A, v) .≈ expected)
    P = A * A' + I
    positive(A, b) = (x = Buffer(b); ldiv!(cholesky(Symmetric(A)), x); sum(abs2, copy(x)))
    difference(i, j) = (E = zeros(3, 3); E[i, j] = E[j, i] = 1e-6; (sum(abs2, (P + E) \ v) - sum(abs2, (P - E) \ v)) / 2e-6)
    g = gradient(positive, P, v)
    @test g[2] ≈ P \ (2 * (P \ v))
    @test all(isapprox(i == j ? g[1][i, j] : g[1][i, j] + g[1][j, i], difference(i, j); rtol = 1e-5) for i in 1:3 for j in 1:i)
    right(A, B) = (X = Buffer(B); rdiv!(X, cholesky(Symmetric(A))); sum(abs2, copy(X)))
    expected = MutationBridge.Zygote.gradient((A, B) -> sum(abs2, B / cholesky(Symmetric(A))), P, B)
    @test gradient(right, P, B)[2] ≈ expected[2]
    @test gradient(right, P, B)[1] ≈ expected[1]
    constant = qr(A)
    @test gradient(b -> (x = Buffer(b); ldiv!(constant, x); sum(abs2, copy(x))), v)[1] ≈ A' \ (2 * (A \ v))
    message = try
        MutationBridge.unthunk(MutationBridge.left_divisor_cotangent(qr(A), v, v, v))
    catch error
        sprint(showerror, error)
    end
    @test occursin("ldiv! has no rule for the cotangent of its divisor, a QRCompactWY", message)
end

@testset "scaled sums, transposes, parts, norms" begin
    @test proved(axpy!, 2.5, v, w)
    @test passes(axpby!, 2.5, v, 0.5, w)
    @test passes(adjoint!, C, A)
    @test passes(transpose!, C, A)
    @test passes(triu!, A)
    @test passes(tril!, A)
    @test passes(triu!, A, 1)
    @test passes(tril!, A, -1)
    @test proved(normalize!, v)
    @test passes(normalize!, v, 3.0)
    @test passes(rotate!, v, w, 0.6, 0.8)
    @test passes(reflect!, v, w, 0.6, 0.8)
end

@testset "in programs" begin
    x = [1.0, 2.0]
    @test gradient(x -> (b = Buffer(x); c = Buffer(zeros(2)); mul!(c, [1.0 2.0; 3.0 4.0], b); sum(abs2, copy(c))), x)[1] == [76.0, 108.0]
    @test gradient(x -> (b = Buffer(x); axpy!(3.0, b, b); sum(abs2, copy(b))), x)[1] == 32x
    @test gradient(x -> (b = Buffer(zeros(2, 2)); mul!(view(b, :, 1), [1.0 2.0; 3.0 4.0], x); sum(copy(b))), x)[1] == [4.0, 6.0]
    @test gradient(x -> (b = Buffer(x); for _ in 1:3; rmul!(b, 2.0); end; sum(abs2, copy(b))), x)[1] == 128x
    @test gradient(x -> (b = Buffer(x); lmul!(x[1], b); b[2]), x)[1] == [2.0, 1.0]
    @test gradient(x -> (b = Buffer(zeros(2)); mul!(b, sparse([1.0 0.0; 2.0 3.0]), x); sum(copy(b))), x)[1] == [3.0, 3.0]
    @test gradient(a -> (b = Buffer(zeros(2)); mul!(b, sparse([1, 2], [1, 2], a), x); b[1] + 2b[2]), [1.0, 1.0])[1] == [1.0, 4.0]
    @test MutationBridge.hessian(x -> (b = Buffer(zeros(2)); mul!(b, [1.0 2.0; 3.0 4.0], x .^ 2); b[1] * b[2]), x) ≈
        MutationBridge.ForwardDiff.hessian(x -> prod([1.0 2.0; 3.0 4.0] * x .^ 2), x)
end

@testset "what cannot be right is refused by name" begin
    message_of(f) = try
        gradient(f, [1.0 2.0; 3.0 5.0])
        "no error"
    catch error
        @test error isa MutationError
        sprint(showerror, error)
    end
    @test occursin("mul! writes its argument C and reads its argument A, which share memory", message_of(x -> (b = Buffer(x); mul!(b, b, x); sum(copy(b)))))
    @test occursin("pass copy(A)", message_of(x -> (b = Buffer(x); mul!(b, b, x); sum(copy(b)))))
    @test occursin("lu!(b): its result would share memory with the Buffer b; use lu(copy(b))", message_of(x -> (b = Buffer(x); sum(lu!(b).U))))
    @test occursin("Buffer", message_of(x -> (c = zeros(2, 2); b = Buffer(x); mul!(c, b, x); sum(c))))
    @test occursin("rotate! writes its argument x and writes its argument y, which share memory",
        message_of(x -> (b = Buffer(vec(x)); rotate!(b, b, 0.6, 0.8); sum(copy(b)))))
end

@testset "outside of a gradient they compute" begin
    b = Buffer(zeros(2))
    @test mul!(b, [1.0 2.0; 3.0 4.0], Buffer([1.0, 1.0])) === b
    @test copy(b) == [3.0, 7.0]
    @test copy(rmul!(b, 2.0)) == [6.0, 14.0]
end

end
