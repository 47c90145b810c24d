# Steppers, games, walks, searches and models that overwrite their state.
module Simulations

function rk4(f!, u0, p, dt, steps)
    u, k1, k2, k3, k4, v = copy(u0), similar(u0), similar(u0), similar(u0), similar(u0), similar(u0)
    t = 0.0
    for _ in 1:steps
        f!(k1, u, p, t)
        @. v = u + dt / 2 * k1
        f!(k2, v, p, t + dt / 2)
        @. v = u + dt / 2 * k2
        f!(k3, v, p, t + dt / 2)
        @. v = u + dt * k3
        f!(k4, v, p, t + dt)
        @. u += dt / 6 * (k1 + 2k2 + 2k3 + k4)
        t += dt
    end
    return u
end

function lotka!(du, u, p, t)
    α, β, γ, δ = p
    du[1] = α * u[1] - β * u[1] * u[2]
    du[2] = δ * u[1] * u[2] - γ * u[2]
    return nothing
end
lotka(p) = sum(abs2, rk4(lotka!, [1.0, 1.0], p, 0.1, 10))
lotka_from(u0, p) = rk4(lotka!, u0, p, 0.1, 5)[2]

function brusselator!(du, u, p, t)
    n = size(u, 1)
    for i in 1:n
        l, r = mod1(i - 1, n), mod1(i + 1, n)
        du[i, 1] = p[1] + u[i, 1]^2 * u[i, 2] - (p[2] + 1) * u[i, 1] + p[3] * (u[l, 1] - 2u[i, 1] + u[r, 1])
        du[i, 2] = p[2] * u[i, 1] - u[i, 1]^2 * u[i, 2] + p[3] * (u[l, 2] - 2u[i, 2] + u[r, 2])
    end
end
brusselator(p) = sum(abs2, rk4(brusselator!, [1.0 2.0; 1.2 1.9; 0.8 2.1], p, 0.05, 4))

forced!(du, u, p, t) = (du .= -p[1] .* u .+ p[2] * sin(t); nothing)
function saved_steps(p)
    u, du = [1.0, 0.5], zeros(2)
    saved = Vector{Vector{Float64}}()
    for k in 1:6
        forced!(du, u, p, 0.1k)
        u .+= 0.1 .* du
        push!(saved, copy(u))
    end
    return sum(sum(abs2, s) for s in saved)
end
function aliased_steps(p)
    u, saved = [1.0, 0.5], Vector{Float64}[]
    for k in 1:4
        u .= u .* p[1] .+ p[2]
        push!(saved, u)
    end
    return sum(sum, saved)
end

function leapfrog(q0, mass)
    q, p = copy(q0), zero(q0)
    force = similar(q)
    energy = zeros(5)
    for k in 1:5
        @. force = -q - q^3
        @. p += 0.1 * force
        @. q += 0.1 * p / mass
        energy[k] = sum(@. p^2 / (2mass) + q^2 / 2)
    end
    return sum(energy)
end

function game_of_life(x)
    grid = [x[1] > 0 for i in 1:4, j in 1:4]
    grid[2, :] .= [true, false, true, true]
    weight = zeros(4, 4)
    for step in 1:2
        new = similar(grid)
        for i in 1:4, j in 1:4
            n = sum(grid[mod1(i + a, 4), mod1(j + b, 4)] for a in -1:1, b in -1:1) - grid[i, j]
            new[i, j] = n == 3 || (grid[i, j] && n == 2)
            weight[i, j] += new[i, j] ? x[mod1(i + j, 4)] : x[1]^2
        end
        grid .= new
    end
    return sum(weight .^ 2)
end

function smooth_automaton(c)
    state = copy(c)
    for _ in 1:3
        old = copy(state)
        for i in eachindex(state)
            state[i] = tanh(old[mod1(i - 1, end)] - 0.5old[i] + old[mod1(i + 1, end)])
        end
    end
    return sum(state .* (1:length(state)))
end

function metropolis(θ, uniforms)
    x = [0.5, -0.5]
    proposal = similar(x)
    total = 0.0
    logp(z) = -θ[1] * z[1]^2 - θ[2] * (z[2] - θ[3])^2
    for u in uniforms
        @. proposal = x + θ[4] * (u - 0.5)
        if log(u) < logp(proposal) - logp(x)
            x .= proposal
        end
        total += logp(x)
    end
    return total
end

function newton_sqrt(x)
    y = copy(x) .^ 2 .+ 1
    r = copy(y)
    n = 0
    while maximum(abs, r .^ 2 .- y) > 1e-14 && n < 50
        r .= (r .+ y ./ r) ./ 2
        n += 1
    end
    return sum(r .* x)
end

function fixed_point(a)
    x, err = 0.5, 1.0
    while err > 1e-13
        new = cos(a[1] * x) * a[2]
        err = abs(new - x)
        x = new
    end
    return x * a[3]
end

function edit_costs(w)
    a, b = "kitten", "sitting"
    D = zeros(length(a) + 1, length(b) + 1)
    for i in 1:length(a)
        D[i+1, 1] = i * w[1]
    end
    for j in 1:length(b)
        D[1, j+1] = j * w[2]
    end
    for j in 1:length(b), i in 1:length(a)
        same = a[i] == b[j]
        D[i+1, j+1] = min(D[i, j+1] + w[1], D[i+1, j] + w[2], D[i, j] + (same ? 0.0 : w[3]))
    end
    return D[end, end] * w[4]
end

function viterbi(logits)
    T, K = size(logits)
    δ, back = zeros(T, K), zeros(Int, T, K)
    δ[1, :] = logits[1, :]
    for t in 2:T, k in 1:K
        scores = δ[t-1, :] .- 0.3 .* abs.((1:K) .- k)
        back[t, k] = argmax(scores)
        δ[t, k] = scores[back[t, k]] + logits[t, k]
    end
    return maximum(δ[end, :])
end

function forward_algorithm(logits)
    α = exp.(logits[1, :])
    for t in 2:size(logits, 1)
        new = zero(α)
        for j in eachindex(new), i in eachindex(α)
            new[j] += α[i] * exp(logits[t, j] - abs(i - j))
        end
        α .= new
    end
    return log(sum(α))
end

function particles!(a, x, k)
    fill!(a, 0)
    for i in eachindex(x), j in i+1:length(x)
        f = k / (x[i] - x[j])^2 * sign(x[i] - x[j])
        a[i] += f
        a[j] -= f
    end
end
function charged_line(x0, k)
    x, v, a = copy(x0), zero(x0), zero(x0)
    for _ in 1:4
        particles!(a, x, k)
        v .+= 0.05 .* a
        x .+= 0.05 .* v
    end
    return sum(abs2, x)
end

function gradient_descent(θ)
    target, x = [1.0, 2.0, -1.0, 0.5], zeros(4)
    for k in 1:10
        g = 2 .* (x .- target) .* θ
        x .-= 0.1 .* g
    end
    return sum(abs2, x .- target)
end

function chebyshev(x)
    a, H = [0.99, 0.18, 0.008, 0.0002], [0.5 0.2; 0.2 -0.3]
    v0 = x[1:2]
    ϕ = a[1] * v0
    v1 = H * v0
    ϕ = ϕ + a[2] * v1
    for i in 3:length(a)
        v2 = 2 * (H * v1) - v0
        ϕ = ϕ + a[i] * v2
        v0, v1, v2 = v1, v2, v0
    end
    return sum(abs2, ϕ) * x[3]
end

function beam(x)
    frontier = [(x[1], 1)]
    while first(last(frontier)) < 5 && length(frontier) < 20
        s, k = popfirst!(frontier)
        push!(frontier, (s * 1.1 + x[mod1(k, 4)]^2, k + 1))
    end
    return first(last(frontier))
end

end
