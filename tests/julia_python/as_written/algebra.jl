# Linear algebra in place, and arrays of other kinds.
module Algebra

using LinearAlgebra, SparseArrays

function gemm_into(A, B)
    C = ones(size(A, 1), size(B, 2))
    mul!(C, A, B, 2.0, 0.5)
    mul!(C, A, B, 1.0, 1.0)
    return sum(C .^ 2)
end

function power_iteration(A)
    v = ones(size(A, 1))
    w = similar(v)
    for _ in 1:8
        mul!(w, A, v)
        w ./= norm(w)
        copyto!(v, w)
    end
    return dot(v, A, v)
end

function solve_in_place(A, b)
    F = lu!(copy(A) + 5I)
    x = copy(b)
    ldiv!(F, x)
    return sum(abs2, x)
end

function cholesky_logdet(A)
    S = A * A' + 2I
    C = cholesky!(Symmetric(S))
    return logdet(C) + sum(C.U)
end

function gauss_elimination(A, b)
    U, y = copy(A), copy(b)
    n = length(y)
    for k in 1:n-1, i in k+1:n
        m = U[i, k] / U[k, k]
        for j in k:n
            U[i, j] -= m * U[k, j]
        end
        y[i] -= m * y[k]
    end
    for i in n:-1:1
        for j in i+1:n
            y[i] -= U[i, j] * y[j]
        end
        y[i] /= U[i, i]
    end
    return sum(y .^ 2)
end

function gram_schmidt(A)
    Q = copy(A)
    for j in axes(Q, 2)
        for k in 1:j-1
            Q[:, j] .-= dot(Q[:, k], Q[:, j]) .* Q[:, k]
        end
        Q[:, j] ./= norm(Q[:, j])
    end
    return sum(Q .* [1.0 2 3; 4 5 6; 7 8 10])
end

function scaled_rows(A)
    B = copy(A)
    rmul!(B, 2.0)
    lmul!(Diagonal([1.0, 2.0, 3.0]), B)
    B[:, 1] .= 0
    axpy!(0.5, A, B)
    axpby!(2.0, A, 0.5, B)
    return sum(B .^ 3)
end

function triangular_solve(A, b)
    L = LowerTriangular(A + 4I)
    y = copy(b)
    ldiv!(L, y)
    lmul!(L', y)
    return sum(y .^ 2)
end

function conjugate_gradients(A, b)
    S = A' * A + 3I
    x, r = zero(b), copy(b)
    p, q = copy(r), similar(b)
    for _ in 1:3
        mul!(q, S, p)
        α = dot(r, r) / dot(p, q)
        before = dot(r, r)
        axpy!(α, p, x)
        axpy!(-α, q, r)
        p .= r .+ (dot(r, r) / before) .* p
    end
    return dot(x, b)
end

function newton_step(x)
    u, J = copy(x), zeros(4, 4)
    for _ in 1:3
        F = u .^ 3 .+ u .- x
        fill!(J, 0)
        for i in 1:4
            J[i, i] = 3u[i]^2 + 1
        end
        u .-= J \ F
    end
    return sum(u)
end

function sparse_assembly(k)
    I, J, V = Int[], Int[], Float64[]
    for e in eachindex(k)
        push!(I, e, e + 1, e, e + 1)
        push!(J, e, e + 1, e + 1, e)
        push!(V, k[e], k[e], -k[e], -k[e])
    end
    K = Matrix(sparse(I, J, V)) + Diagonal(fill(0.5, length(k) + 1))
    return sum(abs2, K \ collect(1.0:length(k)+1))
end

function sparse_written(x)
    A = spdiagm(0 => x)
    A[1, 2] = x[3]^2
    nonzeros(A) .*= 2
    return sum(A * ones(4))
end

diagonal_written(x) = (D = Diagonal(copy(x)); D[2, 2] = x[1]^2; D.diag[3] *= 2; sum(D * ones(4)))
symmetric_written(A) = (S = Symmetric(copy(A)); S.data[1, 2] *= 3; sum(S * S))
tridiagonal_written(x) = (T = Tridiagonal(x[1:3], copy(x), x[2:4]); T.d[1] = x[2]^2; T.du[1] += 1; sum(T \ ones(4)))

function kalman_filter(q, y)
    x, P = zeros(2), Matrix(1.0I, 2, 2)
    A, H, R = [1.0 0.1; 0.0 1.0], [1.0 0.0], 0.5
    ll = 0.0
    for z in y
        x .= A * x
        P .= A * P * A' .+ Diagonal(exp.(q))
        S = (H*P*H')[1] + R
        K = P * H' ./ S
        e = z - (H*x)[1]
        ll -= 0.5 * (log(S) + e^2 / S)
        x .+= vec(K) .* e
        P .-= K * H * P
    end
    return ll
end

in_place_svd(A) = sum(svd!(copy(A)).S .* [1.0, 2.0, 3.0])
in_place_qr(A) = sum(abs, diag(qr!(copy(A)).R))
in_place_eigen(A) = sum(eigen!(Symmetric(A + A')).values .* [1.0, 2.0, 3.0])
matrix_exponential(A) = (B = copy(A); B ./= 4; sum(exp(B)))
in_place_inverse(A) = (B = copy(A) + 3I; B .= inv(B); B[1, 1] *= 2; sum(B))

end
