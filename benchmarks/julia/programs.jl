# The benchmark programs, each written as its peer's users would write it.
module Programs

using MutationBridge: Buffer
import Zygote

const STEPS, WIDTH = 1000, 100

offset(step, n) = (step * WIDTH) % (n - 2WIDTH)

# Slice reads and writes: 1,000 times, 100 elements are made from 300 and written.
function slice_writes(b, x, n)
    for step in 0:STEPS-1
        s = offset(step, n)
        b[s+WIDTH+1:s+2WIDTH] =
            sin.(x[s+1:s+WIDTH]) .* b[s+1:s+WIDTH] .+ x[s+WIDTH+1:s+2WIDTH]
    end
    return sum(copy(b))
end

writes_ours(x) = slice_writes(Buffer(zero(x)), Buffer(x), length(x))
writes_ours_plain(x) = slice_writes(Buffer(zero(x)), x, length(x))
function writes_zygote(x)
    b = Zygote.Buffer(x)
    b[:] = zero(x)
    return slice_writes(b, x, length(x))
end

function writes_loop(x)
    b = zero(x)
    for step in 0:STEPS-1
        s = offset(step, length(x))
        for j in 1:WIDTH
            b[s+WIDTH+j] = sin(x[s+j]) * b[s+j] + x[s+WIDTH+j]
        end
    end
    return sum(b)
end

# Writes alone: each slice is made from one short vector, so that no read of a long array is in the figure.
function write_only(b, v, n)
    for step in 0:STEPS-1
        s = offset(step, n)
        b[s+1:s+WIDTH] = sin.(v)
    end
    return sum(copy(b))
end

write_only_ours(n) = v -> write_only(Buffer(zeros(n)), v, n)
function write_only_zygote(n)
    function f(v)
        b = Zygote.Buffer(zeros(n))
        b[:] = zeros(n)
        return write_only(b, v, n)
    end
    return f
end

# A scalar recurrence: each element is made from the one before it.
function recurrence(y, x)
    y[1] = x[1]
    for i in 2:length(x)
        y[i] = tanh(x[i] + 0.5 * y[i-1])
    end
    return sum(copy(y))
end

recurrence_ours(x) = recurrence(Buffer(zero(x)), Buffer(x))
recurrence_zygote(x) = recurrence(Zygote.Buffer(x), x)
function recurrence_loop(x)
    y = copy(x)
    for i in 2:length(x)
        y[i] = tanh(y[i] + 0.5 * y[i-1])
    end
    return sum(y)
end

# ReverseDiff's tracked arrays cannot be written, arrays of its tracked numbers can.
recurrence_reversediff(x) = recurrence(Vector{eltype(x)}(undef, length(x)), x)

# An explicit heat equation, updated in place where the peer allows it.
function heat_ours(steps)
    function f(u0)
        u, n = Buffer(u0), length(u0)
        for _ in 1:steps
            u[2:n-1] = u[2:n-1] .+ 0.1 .* (u[3:n] .- 2 .* u[2:n-1] .+ u[1:n-2])
        end
        return sum(abs2, copy(u))
    end
    return f
end

function heat_zygote(steps)
    function f(u0)
        n, u = length(u0), u0
        for _ in 1:steps
            b = Zygote.Buffer(u)
            b[1], b[n] = u[1], u[n]
            b[2:n-1] = u[2:n-1] .+ 0.1 .* (u[3:n] .- 2 .* u[2:n-1] .+ u[1:n-2])
            u = copy(b)
        end
        return sum(abs2, u)
    end
    return f
end

# The same program over an array, for what differentiates writes into arrays.
function heat_arrays(steps)
    function f(u0)
        u, n = copy(u0), length(u0)
        for _ in 1:steps
            u[2:n-1] = u[2:n-1] .+ 0.1 .* (u[3:n] .- 2 .* u[2:n-1] .+ u[1:n-2])
        end
        return sum(abs2, u)
    end
    return f
end

# What Zygote's transform itself costs: the arithmetic of the recurrence, over a constant array that is only read.
const CONSTANT = rand(1000)
function floor_loop(y)
    total = y
    for i in 2:length(CONSTANT)
        y = tanh(CONSTANT[i] + 0.5 * y)
        total += y
    end
    return total
end

function heat_loop(steps)
    function f(u0)
        u, v, n = copy(u0), copy(u0), length(u0)
        for _ in 1:steps
            for i in 2:n-1
                v[i] = u[i] + 0.1 * (u[i+1] - 2u[i] + u[i-1])
            end
            copyto!(u, v)
        end
        return sum(abs2, u)
    end
    return f
end

end
