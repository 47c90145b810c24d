# Array writes as users have them: loops, views, broadcasts, growing, copying, sorting.
module Writes

using Statistics: mean

function exponential_smoothing(x; α=0.3)
    s = similar(x)
    s[1] = x[1]
    for t in 2:length(x)
        s[t] = α * x[t] + (1 - α) * s[t-1]
    end
    return sum(abs2, s)
end

function finite_volume(u, dt, dx)
    n = length(u)
    flux = zeros(n + 1)
    new = copy(u)
    for step in 1:5
        for i in 2:n
            flux[i] = 0.5 * (new[i-1]^2 + new[i]^2) / 2 - 0.1 * (new[i] - new[i-1])
        end
        flux[1] = flux[2]
        flux[end] = flux[end-1]
        @. new = new - dt / dx * (flux[2:end] - flux[1:end-1])
    end
    return sum(new .* (1:n))
end

function pairwise_distances(X)
    n = size(X, 2)
    D = zeros(n, n)
    for j in 1:n, i in 1:j-1
        D[i, j] = D[j, i] = sqrt(sum(abs2, X[:, i] - X[:, j]))
    end
    return sum(D .^ 3)
end

function standardise_columns(A)
    B = copy(A)
    for c in eachcol(B)
        c .-= mean(c)
        c ./= sqrt(sum(abs2, c) + 1e-3)
    end
    return sum(B[1, :] .* B[end, :])
end

function running_products(x)
    out = Float64[]
    p = 1.0
    for v in x
        p *= 1 + v / 3
        push!(out, p)
    end
    return sum(out) / last(out)
end

function keep_positive(x)
    kept = empty(x)
    for v in x
        v > 0 && append!(kept, (v, v^2))
    end
    return isempty(kept) ? 0.0 : sum(kept .* (1:length(kept)))
end

function padded_convolution(x, w)
    p = zeros(length(x) + 2)
    p[2:end-1] .= x
    y = zero(x)
    for i in eachindex(y), k in eachindex(w)
        y[i] += w[k] * p[i+k-1]
    end
    return sum(y .^ 2)
end

function resized_workspace(x)
    work = [x[1]]
    resize!(work, 4)
    work[2:4] .= x[2:4] .* work[1]
    pop!(work)
    pushfirst!(work, x[3])
    deleteat!(work, 2)
    return sum(work .* [1.0, 2.0, 3.0])
end

function stencil_views(u)
    v = copy(u)
    @views v[2:end-1] .= (u[1:end-2] .+ 2 .* u[2:end-1] .+ u[3:end]) ./ 4
    @views v[1:2:end] .*= v[2:2:end]
    return sum(v .^ 2)
end

function relu_in_place(x)
    y = 2 .* x
    y[y .< 0] .= 0
    y .+= 0.1 .* x
    return sum(y .^ 2)
end

function cumulative(x)
    a, b = similar(x), similar(x)
    cumsum!(a, x)
    accumulate!((s, v) -> 0.5s + v, b, a)
    map!((p, q) -> p * q + 1, a, a, b)
    return sum(a)
end

function shifted(x)
    y, z = similar(x), zeros(length(x) + 2)
    circshift!(y, x, 1)
    copyto!(z, 2, y, 1, length(y))
    reverse!(z)
    fill!(view(z, 1:1), x[2])
    return sum(z[1:end-1] .* z[2:end])
end

function bubble_sort(x)
    y = copy(x)
    for i in length(y)-1:-1:1, j in 1:i
        if y[j] > y[j+1]
            y[j], y[j+1] = y[j+1], y[j]
        end
    end
    return sum(y .* (1:length(y)) .^ 2)
end

function rank_weighted(x)
    p = sortperm(x)
    y = x[p]
    permute!(y, [2, 1, 3, 4])
    sort!(view(y, 2:4); rev=true)
    return sum(y .* [1.0, 3.0, 5.0, 7.0])
end

function partial_quantiles(x)
    y = copy(x)
    partialsort!(y, 1:2)
    z = sort(x; by=abs)
    return y[1] * 3 + y[2] + z[end]^2
end

function histogram_counts(x)
    bins = zeros(Int, 3)
    weights = zeros(3)
    for v in x
        k = clamp(floor(Int, v + 2), 1, 3)
        bins[k] += 1
        weights[k] += v^2
    end
    return sum(weights ./ max.(bins, 1))
end

function sliding_maximum(x, w::Int)
    best = fill(-Inf, length(x) - w + 1)
    for i in eachindex(best)
        for k in 0:w-1
            best[i] = max(best[i], x[i+k])
        end
    end
    return sum(abs2, best)
end

function three_dimensional(A)
    B = zeros(size(A)..., 2)
    for k in 1:2
        B[:, :, k] = A .^ k
    end
    selectdim(B, 3, 2) .+= B[:, :, 1]
    return sum(B[:, 1, :] .* B[:, 2, :])
end

function triangular_fill(x)
    n = 3
    L = zeros(n, n)
    k = 0
    for j in 1:n, i in j:n
        k += 1
        L[i, j] = i == j ? exp(x[k]) : x[k]
    end
    return sum(L * L')
end

function reshaped_alias(x)
    y = copy(x)
    M = reshape(y, 2, 2)
    M[1, 2] = M[2, 1] * 3
    vec(M)[1] += 1
    return sum(y .^ 2)
end

function reinterpreted(x)
    y = copy(x)
    z = reinterpret(ComplexF64, y)
    z[1] *= 2im
    return sum(y .* [1.0, 2.0, 3.0, 4.0])
end

end
